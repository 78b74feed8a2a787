"""Reapply the misfire policy to prepared instants that came due while they had no scheduler.

Materialize calls this first, for partitions that had no scheduler for a while. An instant without
a row is missed by its time alone; an instant that was prepared before the outage is judged alike,
by the same threshold and grace. A lack of workers is no misfire: such work waits and runs late.
"""

from __future__ import annotations

import logging
from collections import Counter
from datetime import datetime, timedelta
from typing import Any
from uuid import UUID

from django.db import transaction

from executions.loop.clocks import database_now
from executions.loop.lower_bounds import LowerBounds
from executions.materialize import plain
from executions.ownership.partitions import Partitions
from shared.conf import conf
from shared.ids import first_id_at, moment_of
from shared.sql import rows, run
from tasks.budgets import purses

log = logging.getLogger("executions.engine.neglected")

#: Above every id: nominal times lie at most a horizon ahead.
_AHEAD = timedelta(days=1)
#: Tasks of one statement; each has at most some dozens of prepared instants.
_BATCH = 200


def take_up(partitions: Partitions, bounds: LowerBounds | None = None) -> bool:
    """Unprepare the late instants of one batch of tasks; return whether there may be more.

    Lowers the bounds of materialize to the instants that it returns.
    """
    held = set(partitions.held)
    found = {p: stretch for p, stretch in partitions.neglected.items() if p in held}
    if not found:
        return False
    since = [stretch.since for stretch in found.values()]
    asked = {
        "partitions": list(found),
        "since": since,
        "until": [stretch.until for stretch in found.values()],
    }
    now = database_now()
    [(oldest,)] = rows("materialize/oldest_neglected", asked)
    # Later decisions lie between the bounds, so only tasks with late open work are judged.
    low = first_id_at(now if oldest is None else moment_of(oldest))
    tasks, count, first = _unprepare(asked, low, first_id_at(now + _AHEAD))
    if bounds is not None:
        bounds.lower(min(since if first is None else [*since, first]))
    if count:
        log.info("instants.unprepared", extra={"count": count})
    # If no instant was removed, other sessions have the rows locked and decide on them.
    if tasks >= _BATCH and count:
        return True
    # Leave plain instants without a row to planning, which asks the misfire policy.
    plain.plan_until({p: stretch.until for p, stretch in found.items()})
    run("leases/note_judged", asked)
    partitions.neglected = {p: kept for p, kept in partitions.neglected.items() if p not in found}
    return False


@transaction.atomic
def _unprepare(asked: dict[str, Any], low: UUID, high: UUID) -> tuple[int, int, datetime | None]:
    """Return how many tasks were judged, how many rows left, and the first instant of these."""
    limits = {"after": conf().missed_after_seconds, "limit": _BATCH}
    locked = rows("materialize/lock_neglected", {**asked, **limits})
    if not locked:
        return 0, 0, None
    columns = [list(column) for column in zip(*locked, strict=True)]
    tasks, tenants, partitions, firsts, untils = columns
    [(count, first, counted)] = rows(
        "materialize/unprepare_neglected",
        {
            "tasks": tasks,
            "tenants": tenants,
            "of_partitions": partitions,
            "firsts": firsts,
            "untils": untils,
            "low": low,
            "high": high,
        },
    )
    # The gate counts again what it lets through again.
    purses.give_back(Counter(counted))
    return len(tasks), count, first
