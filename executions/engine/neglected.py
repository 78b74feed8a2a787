"""What was prepared and came due while no scheduler lived goes back to the misfire policy.

Materialize asks first thing, for partitions that were taken over after a long while without an
owner. An instant without a row is missed by its time alone; one that had its row already must
not escape the policy for that. Want of workers is no misfire: such work waits and runs late.
"""

from __future__ import annotations

import logging

from executions.engine import ledger
from executions.engine.partitions import NEGLECTED_AFTER_SECONDS, Partitions
from shared.sql import rows

log = logging.getLogger(__name__)

_BATCH = 1000


def take_up(partitions: Partitions) -> bool:
    """Unprepare one batch of overdue instants; return whether there may be more."""
    held = set(partitions.held)
    since = {p: moment for p, moment in partitions.neglected.items() if p in held}
    if not since:
        return False
    count: int = rows(
        "materialize/unprepare_neglected",
        {
            **ledger.bounds(),
            "partitions": list(since),
            "since": list(since.values()),
            "after": NEGLECTED_AFTER_SECONDS,
            "limit": _BATCH,
        },
    )[0][0]
    if count:
        log.info("neglected_instants_unprepared", extra={"count": count})
    if count < _BATCH:
        partitions.neglected = {}
    return count >= _BATCH
