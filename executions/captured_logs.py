"""The captured log of one attempt of a handler or a command, opened from its sealed form."""

from __future__ import annotations

import base64
from dataclasses import dataclass

from executions.attempts import attempts_of
from executions.models import Attempt, Execution
from shared import payload_sight
from shared.encryption import open_json
from shared.exceptions import NotFound
from shared.sealing_contexts import response_context
from tasks.definition import PULL_PREFIX, WEBHOOK_POOL


@dataclass(frozen=True, slots=True)
class CapturedLog:
    """Output of an attempt; where ``truncated``, a line in its middle gives the missing size."""

    attempt: int
    output: bytes
    truncated: bool
    exit_code: int | None


def log_url(execution: Execution) -> str | None:
    """Return the URL of the execution's log; None for kinds that write none.

    None also before the first attempt has started.
    """
    writes = execution.pool != WEBHOOK_POOL and not execution.pool.startswith(PULL_PREFIX)
    return f"/v1/executions/{execution.id}/log" if writes and execution.attempt else None


def captured_log(execution: Execution, number: int | None = None) -> CapturedLog:
    """Return the log of an attempt, by default the latest that has one.

    Raise NotFound, or PayloadsHidden without the right to see payloads.
    """
    payload_sight.require()
    for attempt in reversed(attempts_of([execution.id])[execution.id]):
        if number in (None, attempt.number) and (found := _open(attempt)) is not None:
            return found
    raise NotFound("There is no captured log.")


def _open(attempt: Attempt) -> CapturedLog | None:
    if attempt.sealed_response is None:
        return None
    context = response_context(attempt.tenant_id, attempt.execution_id)
    found = open_json(bytes(attempt.sealed_response), context)
    if "log" not in found:
        return None
    return CapturedLog(
        attempt=attempt.number,
        output=base64.b64decode(found["log"]),
        truncated=bool(found["truncated"]),
        exit_code=found["exit_code"],
    )
