"""Ask workers to abort requests in flight: only a hint, the lease's end is the guarantee."""

from __future__ import annotations

import logging
from collections.abc import Sequence

import orjson
from django.db import transaction

from shared.redis_client import CONTROL_CHANNEL, ConnectionFailed, client

log = logging.getLogger("executions.engine.control")


def abort_on_commit(tokens: Sequence[int]) -> None:
    """Ask every worker, after this transaction commits, to abort requests under the tokens."""
    if tokens:
        message = orjson.dumps({"cancel": list(tokens)})
        transaction.on_commit(lambda: _send(message))


def _send(message: bytes) -> None:
    try:
        client().publish(CONTROL_CHANNEL, message)
    except ConnectionFailed as error:
        # The mark in the database stays: rescue ends the execution when its lease does.
        log.warning("abort.not_sent", extra={"reason": type(error).__name__})
