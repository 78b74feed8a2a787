"""Hands prepared instants that an outage made late back to the misfire policy.

Materialize asks first thing, for partitions that had no scheduler for a while. An instant without
a row is missed by its time alone; one that was prepared before the outage is judged alike, by the
same threshold and grace. Want of workers is no misfire: such work waits and runs late.
"""

from __future__ import annotations

import logging
from datetime import timedelta

from executions.engine import ledger, plain
from executions.engine.clocks import database_now
from executions.engine.partitions import Partitions
from shared.conf import conf
from shared.ids import first_id_at
from shared.sql import rows, run

log = logging.getLogger(__name__)

#: Above every id: nominal times lie at most a horizon ahead.
_AHEAD = timedelta(days=1)
#: Tasks of one statement; each has at most some dozens of prepared instants.
_BATCH = 200


def take_up(partitions: Partitions) -> bool:
    """Unprepare the late instants of one batch of tasks; return whether there may be more."""
    held = set(partitions.held)
    found = {p: stretch for p, stretch in partitions.neglected.items() if p in held}
    if not found:
        return False
    asked = {
        "partitions": list(found),
        "since": [stretch.since for stretch in found.values()],
        "until": [stretch.until for stretch in found.values()],
    }
    now = database_now()
    [(tasks, count)] = rows(
        "materialize/unprepare_neglected",
        {
            **asked,
            # What was decided since lies between: only tasks with late open work are judged.
            "low": ledger.oldest_open() or first_id_at(now),
            "high": first_id_at(now + _AHEAD),
            "after": conf().missed_after_seconds,
            "limit": _BATCH,
        },
    )
    if count:
        log.info("neglected_instants_unprepared", extra={"count": count})
    # Without an instant removed, others hold the rows and decide on them.
    if tasks >= _BATCH and count:
        return True
    # What was not prepared yet, and would be unasked.
    plain.plan_until({p: stretch.until for p, stretch in found.items()})
    run("leases/note_judged", asked)
    partitions.neglected = {p: kept for p, kept in partitions.neglected.items() if p not in found}
    return False
