"""Advances runs: a transaction of its own, after those that ended their steps."""

from __future__ import annotations

import logging
from collections.abc import Iterable, Mapping, Sequence
from typing import Any
from uuid import UUID

from django.db import DatabaseError, transaction

from executions.dispatch.handing_on import Chance, HandingOn
from shared.encryption import DecryptionFailed
from workflows import in_flight
from workflows.advance import reading
from workflows.advance.handing_on import PlacesLeft
from workflows.advance.reading import UnderWay
from workflows.advance.records import RunRow
from workflows.advance.run import Run
from workflows.advance.writing import write
from workflows.plan import Plan, plan_of

log = logging.getLogger("workflows.advance")

#: Runs and rows of the inbox of one transaction.
MOST_RUNS, MOST_TOLD = 50, 1000


def advance(run_ids: Iterable[UUID], handing_on: HandingOn | None = None) -> dict[UUID, set[int]]:
    """Apply what has happened to the runs, and begin what that allows.

    With ``handing_on``, steps start in the places of those that have ended. Return the runs whose
    open steps are to be taken back, with those steps: the caller does it without the run's lock.
    """
    ahead = sorted(set(run_ids))
    found: dict[UUID, set[int]] = {}
    most = MOST_RUNS
    while ahead:
        part, ahead = ahead[:most], ahead[most:]
        # Redis is asked before the runs are locked.
        chance = handing_on.chance() if handing_on else None
        try:
            with transaction.atomic():
                runs, full = _advance(part, handing_on, chance)
        except DatabaseError:
            raise
        except Exception:
            log.exception("runs.not_advanced", extra={"run_ids": [str(one) for one in part]})
            if len(part) > 1:
                # One of them is to blame: each alone, so that it keeps back no other.
                most, ahead = 1, [*part, *ahead]
            continue
        for one in runs:
            if left := one.to_take_back:
                found.setdefault(one.row.id, set()).update(left)
        again = [one.row.id for one in runs if one.status is None and (full or one.has_more)]
        ahead = sorted({*ahead, *again})
    return found


def open_run(row: RunRow) -> Run:
    """Return a locked run with all that an advance needs of it."""
    plans = {row.id: plan_of(row.task_id, row.version)}
    [found] = _opened([row], plans, reading.under_way([row], plans))
    return found


def _advance(
    run_ids: Sequence[UUID], handing_on: HandingOn | None, chance: Chance | None
) -> tuple[list[Run], bool]:
    locked = reading.lock(run_ids)
    if not locked:
        return [], False
    plans = {row.id: plan for row in locked if (plan := _plan(row))}
    # What is taken is applied: of a run that cannot be judged it stays.
    locked = [row for row in locked if row.id in plans]
    told, under_way = reading.take_inbox(locked, plans, MOST_TOLD)
    runs = _opened(locked, plans, under_way, reading.signals(told))
    by_id = {one.row.id: one for one in runs}
    ended = reading.ended(told, {run_id: one.named for run_id, one in by_id.items()})
    for event in told:
        by_id[event.run_id].apply(event, ended)
    for one in runs:
        one.judge()
    if ended or any(one.changes.begins for one in runs):
        # First of all that this transaction waits for after its runs: names of events, tasks.
        in_flight.follow_ends({row.tenant_id for row in locked})
    write(runs, PlacesLeft(told, handing_on, chance) if handing_on and chance else None)
    return runs, len(told) >= MOST_TOLD


def _opened(
    rows_: Sequence[RunRow],
    plans: Mapping[UUID, Plan],
    under_way: UnderWay,
    signals: Mapping[UUID, Any] | None = None,
) -> list[Run]:
    return [
        Run(
            row,
            plans[row.id],
            fans=under_way.fans.get(row.id, {}),
            waits=under_way.waits.get(row.id, {}),
            sealed_outputs=under_way.outputs.get(row.id, {}),
            signals=signals,
        )
        for row in rows_
    ]


def _plan(row: RunRow) -> Plan | None:
    try:
        return plan_of(row.task_id, row.version)
    except DecryptionFailed:
        # Until its key is back in the configuration nothing can be judged.
        log.error("run.definition_unreadable", extra={"run_id": str(row.id)})
        return None
