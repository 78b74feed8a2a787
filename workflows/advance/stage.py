"""Advances runs: a transaction of its own, after those that ended their steps."""

from __future__ import annotations

import logging
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from functools import partial
from typing import Any
from uuid import UUID

from django.db import DatabaseError, transaction

from executions.dispatch.handing_on import Chance, HandingOn
from shared.encryption import DecryptionFailed
from workflows import in_flight
from workflows.advance import reading
from workflows.advance.handing_on import in_places_left
from workflows.advance.records import RunRow, Told
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
                runs, full = _advance(part, partial(_hand_on, handing_on, chance))
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
    [found] = _opened([row], {row.id: plan_of(row.task_id, row.version)})
    return found


def _advance(
    run_ids: Sequence[UUID], hand_on: Callable[[Sequence[Told], Sequence[Run]], Collection[UUID]]
) -> tuple[list[Run], bool]:
    locked = reading.lock(run_ids)
    if not locked:
        return [], False
    plans = {row.id: plan for row in locked if (plan := _plan(row))}
    # What is taken is applied: of a run that cannot be judged it stays.
    locked = [row for row in locked if row.id in plans]
    told = reading.take_inbox(locked, MOST_TOLD)
    runs = _opened(locked, plans, reading.signals(told))
    by_id = {one.row.id: one for one in runs}
    ended = reading.ended(told, {run_id: one.named for run_id, one in by_id.items()})
    for event in told:
        by_id[event.run_id].apply(event, ended)
    for one in runs:
        one.judge()
    if ended or any(one.changes.begins for one in runs):
        # First of all that this transaction waits for after its runs: names of events, tasks.
        in_flight.follow_ends({row.tenant_id for row in locked})
    write(runs, partial(hand_on, told))
    return runs, len(told) >= MOST_TOLD


def _hand_on(
    handing_on: HandingOn | None,
    chance: Chance | None,
    told: Sequence[Told],
    runs: Sequence[Run],
) -> Collection[UUID]:
    if handing_on is None or chance is None:
        return ()
    found = in_places_left(runs, told, chance.pools)
    return handing_on.hand_on(found, chance) if found else ()


def _opened(
    rows_: Sequence[RunRow], plans: dict[UUID, Plan], signals: Mapping[UUID, Any] | None = None
) -> list[Run]:
    fans = reading.fans([row for row in rows_ if plans[row.id].has_fans], plans)
    waits = reading.waits(rows_)
    named = [row for row in rows_ if plans[row.id].named or row.parent_run]
    outputs = reading.outputs(named)
    return [
        Run(
            row,
            plans[row.id],
            fans=fans.get(row.id, {}),
            waits=waits.get(row.id, {}),
            sealed_outputs=outputs.get(row.id, {}),
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
