"""Count how often the engine refused a write of a process that had lost its work.

Redis keeps the counts, so they begin with its last start; only people and reports read them. The
start guard counts the starts itself (``start.lua``); the recorder counts outcomes, and a scheduler
the partitions that it could not renew.
"""

from __future__ import annotations

import logging
from typing import cast

from shared.redis_client import REFUSED_KEY, ConnectionFailed, client

log = logging.getLogger("executions.engine.refusals")

#: Outcomes under a token that is over.
OUTCOMES = "outcomes"
#: Starts of work that was taken back, begun elsewhere, sent by a former Redis, or too late.
STARTS = "starts"
#: Renewals of partitions that another epoch owns, or whose lease was over.
LEASES = "leases"


def note(kind: str, count: int) -> None:
    """Count refusals; while Redis is away, count nothing and only log that."""
    if count <= 0:
        return
    log.warning("writes.refused", extra={"kind": kind, "count": count})
    try:
        client().hincrby(REFUSED_KEY, kind, count)
    except ConnectionFailed as error:
        log.warning("refusals.not_counted", extra={"reason": type(error).__name__})


def read() -> dict[str, int]:
    """Return the count of each kind since Redis was started or flushed."""
    found = cast(dict[bytes, bytes], client().hgetall(REFUSED_KEY))
    return {kind: int(found.get(kind.encode(), 0)) for kind in (OUTCOMES, STARTS, LEASES)}
