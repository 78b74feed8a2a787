"""Turns the end of a run in a process of its own into a row of the outcome stream.

For handlers, commands, and webhooks that run alone. Pure; knows no database.
"""

from __future__ import annotations

import random
from dataclasses import dataclass
from datetime import UTC, datetime
from enum import Enum
from typing import Any

import orjson

from shared.encryption import seal
from shared.sealing_contexts import result_context
from wire import outcomes
from wire.costs import cost_of_result
from wire.messages import Entry
from wire.outcomes import Decision, Outcome
from wire.poison import refusal_after_loss
from wire.retry import Ended, Known, judge
from wire.sealing import sealed_log
from worker.head_tail import HeadTail, Mask
from worker.interruption import Why

#: The largest result and log that are kept.
RESULT_BYTES = 64 * 1024
LOG_BYTES = 64 * 1024
#: What a result holds that may report a cost; others are not parsed.
_COST = b'"cost"'


class Kind(Enum):
    """How a run ended. The retry policy decides about FAILED; REFUSED is never retried."""

    SUCCEEDED = "succeeded"
    FAILED = "failed"
    REFUSED = "refused"
    TIMED_OUT = "timed out"
    CANCELLED = "cancelled"
    STOPPED = "stopped"
    LOST = "lost"


_OUTCOMES = {
    Kind.SUCCEEDED: "SUCCEEDED",
    Kind.FAILED: "FAILED",
    Kind.REFUSED: "FAILED",
    Kind.TIMED_OUT: "TIMED_OUT",
    Kind.CANCELLED: "CANCELLED",
    Kind.STOPPED: "WORKER_LOST",
    Kind.LOST: "WORKER_LOST",
}
_OF_INTERRUPTION = {
    Why.TIME_IS_UP: Kind.TIMED_OUT,
    Why.CANCELLED: Kind.CANCELLED,
    Why.STOPPING: Kind.STOPPED,
}


@dataclass(frozen=True, slots=True)
class Ending:
    """The end of a run; ``result`` is a JSON document, ``log`` the run's output."""

    kind: Kind
    error_code: str = ""
    message: str = ""
    result: bytes | None = None
    log: HeadTail | None = None
    exit_code: int | None = None
    #: Masks secrets of the run in its output.
    mask: Mask | None = None


def interrupted(
    why: Why, limit_seconds: float, log: HeadTail, exit_code: int | None = None
) -> Ending:
    """Return the ending of a run that was ended from outside."""
    code, message = {
        Why.TIME_IS_UP: ("timeout_total", f"The run had not ended after {limit_seconds:g} s."),
        Why.CANCELLED: ("", ""),
        Why.STOPPING: ("worker_lost", "The worker stopped before the run had ended."),
    }[why]
    return Ending(_OF_INTERRUPTION[why], code, message, log=log, exit_code=exit_code)


def outcome_of(entry: Entry, ending: Ending, now: datetime) -> Outcome:
    """Return the attempt's row for the outcome stream: verb, outcome, error, log and result.

    ``now`` is the database's time.
    """
    said = outcomes.outcome_of(_decided(entry, ending.kind, now), _OUTCOMES[ending.kind])
    said["error_code"] = ending.error_code
    said["error_message"] = ending.message.replace("\0", "")[:1000]
    log = ending.log
    if log is not None and (log.seen or ending.exit_code is not None):
        said["sealed"] = sealed_log(
            entry, log.kept(ending.mask), truncated=log.truncated, exit_code=ending.exit_code
        )
    if ending.result is not None:
        said["result"] = seal(ending.result, result_context(entry["tenant"], entry["id"]))
        if _COST in ending.result:
            outcomes.add_cost(said, cost_of_result(orjson.loads(ending.result)))
    return said


def _decided(entry: Entry, kind: Kind, now: datetime) -> Decision:
    if kind is Kind.SUCCEEDED:
        return {"verb": "succeeded"}
    if kind is Kind.CANCELLED:
        return {"verb": "cancelled", "reason": "cancelled"}
    ended = Ended(
        number=entry["attempt"],
        max_attempts=entry["max_attempts"],
        scheduled_for=datetime.fromtimestamp(entry["scheduled_for"], UTC),
        now=now,
    )
    policy = entry["retry_policy"]
    said = judge(ended, policy, random.random, _known(entry, kind, policy)).said()
    return {"lost": 1, **said} if kind is Kind.LOST else said


def _known(entry: Entry, kind: Kind, policy: dict[str, Any]) -> Known:
    if kind is Kind.STOPPED:
        # Not the run's fault: it does not count towards poison, and the retry does not wait.
        return Known(delay=0.0, reason="worker_lost")
    if kind is Kind.LOST:
        return Known(refusal=refusal_after_loss(entry.get("lost", 0)), reason="worker_lost")
    final = kind is Kind.REFUSED or (kind is Kind.TIMED_OUT and "timeout" not in policy["retry_on"])
    return Known(refusal="not_retryable" if final else "")
