"""Stage 1: schedules become ledger rows up to the horizon, each instant exactly once.

The scheduler runs it for the partitions that it owns. Misfire decisions end here as SKIPPED rows
with a reason, as one coalesced row, or as a span row for a long stretch. It never starts work.
"""

from __future__ import annotations

import logging
import math
from collections.abc import Callable, Set
from datetime import datetime, timedelta
from uuid import UUID

from django.db import DataError, IntegrityError, transaction

from executions.choices import Status
from executions.ledger import days
from executions.loop import looks
from executions.loop.clocks import database_now
from executions.loop.counts import Counts
from executions.loop.lower_bounds import LowerBounds
from executions.materialize import instants, plain, planning, unowned_work
from executions.materialize.planning import Due, Planned, Reach, first_due, plan_tasks
from executions.ownership.partitions import Partitions
from shared.conf import conf
from shared.sql import rows
from shared.sql_arrays import of_flags, of_integers, of_moments, of_texts, of_uuids
from tasks import transitions as task_transitions

log = logging.getLogger("executions.engine.materialize")

_GATHER_SECONDS, _LOOK_SECONDS = 1.0, 0.05
#: Minimum number of tasks that a pass takes of each partition: a few may have all due tasks.
_OF_EACH = 4
_UNREADABLE = "The stored definition cannot be read; edit the task to mend it."

#: Writes planned rows; the last argument has the ids of instants that have ended already.
_Write = Callable[[list[Planned], Partitions, datetime, Set[UUID]], None]


def run_once(partitions: Partitions, bounds: LowerBounds | None = None) -> Counts:
    """Write the occurrences of about a batch of due tasks and move their cursors.

    It makes passes until they have taken a batch, or all due tasks. Steps of a pass, in one
    transaction: 1. lock the due tasks, which keeps edits out until commit;
    2. plan their instants; 3. insert the rows, guarded by the partition's owner and epoch;
    4. move the cursors, guarded by the cursor read in step 1. A repeat after a crash meets the
    derived ids and changes nothing. ``bounds`` are kept from one call to the next.
    """
    bounds = bounds or LowerBounds()
    if not partitions.held:
        return Counts()
    if unowned_work.take_up(partitions, bounds):
        return Counts(next_in=0.0)
    now = database_now()
    planned: list[Planned] = []
    each = max(_OF_EACH, conf().materialize_batch // max(1, len(partitions.held)) + 1)
    [since] = bounds.since
    taken = plain.take(partitions, since, now, each)
    while each and taken.tasks + len(planned) < conf().materialize_batch:
        reach = Reach(since, each)
        try:
            found, each = _pass(partitions, now, write, reach)
        except instants.DaysMissing as missing:
            # Outside of the transaction, whose locks must stay few and short.
            days.make_days(missing.days)
            first = first_due(planned, taken.first)
            return Counts(done=taken.tasks + len(planned), next_in=0.0, first=first)
        except (DataError, IntegrityError) as error:
            if not days.blames_a_value(error):
                raise
            found, each = _pass(partitions, now, _write_singly, reach)
        planned += found
    first, done = first_due(planned, taken.first), taken.tasks + len(planned)
    return Counts(
        done=done,
        next_in=_until_next(partitions, bounds, now, found=done),
        due_in=math.inf if first is None else (first - now).total_seconds(),
        first=first,
    )


def _pass(
    partitions: Partitions, now: datetime, write: _Write, reach: Reach
) -> tuple[list[Planned], int]:
    """Take the tasks within reach; return also how many of a partition the next pass takes."""
    ended: set[UUID] = set()
    while True:
        try:
            return _try_pass(partitions, now, write, ended, reach)
        except instants.AlreadyEnded as found:
            # All of the pass is undone, its events too; the next one leaves these instants out.
            ended |= found.ids


def _try_pass(
    partitions: Partitions, now: datetime, write: _Write, ended: Set[UUID], reach: Reach
) -> tuple[list[Planned], int]:
    horizon = now + timedelta(seconds=conf().horizon_seconds)
    with transaction.atomic():
        found = rows(
            "materialize/lock_due_tasks",
            {
                **partitions.parameters(),
                "horizon": horizon,
                "limit": conf().materialize_batch,
                **reach._asdict(),
            },
        )
        due = [Due(*row) for row in found]
        planned = plan_tasks(due, now, horizon, partitions.unowned)
        if planned:
            write(planned, partitions, now, ended)
    return planned, planning.each_of_next(due, len(planned), reach.each)


def _write_singly(
    planned: list[Planned], partitions: Partitions, now: datetime, ended: Set[UUID]
) -> None:
    """Write task by task; pause, visibly, a task whose values the database refuses."""
    for entry in planned:
        try:
            with transaction.atomic():
                write([entry], partitions, now, ended)
        except (DataError, IntegrityError) as error:
            if not days.blames_a_value(error):
                raise
            log.exception("task.unreadable", extra={"task_id": str(entry.task)})
            task_transitions.pause_unreadable([entry.task], _UNREADABLE)


def write(planned: list[Planned], partitions: Partitions, now: datetime, ended: Set[UUID]) -> None:
    """Write the rows of locked tasks and move their cursors; ``ended`` has instants that are over.

    Tasks with nothing left to run are complete, except those whose row has failed. Raise
    DaysMissing or AlreadyEnded, so that the whole pass is undone.
    """
    owner = partitions.parameters()
    found = [row for entry in planned for row in entry.rows]
    made = instants.insert(found, owner, now, ended) if found else 0
    # Rows that existed already, because of a repeat, may have ended.
    unskipped = (row.task for row in found if row.status != Status.SKIPPED)
    began = set(unskipped) if made == len(found) else set()
    readable = [entry for entry in planned if entry.readable]
    over = [entry for entry in readable if entry.one_time and entry.next_run_at is None]
    done = []
    if over:
        done += rows("materialize/take_cursors", {**owner, **_cursors(over, began)})
    moved = [entry for entry in readable if not entry.one_time or entry.next_run_at is not None]
    if moved:
        done += rows(
            "materialize/advance_cursors",
            {
                **owner,
                **_cursors(moved, began),
                "next_run_at": of_moments([entry.next_run_at for entry in moved]),
                "occurrences": of_integers([entry.occurrences for entry in moved]),
                "replayed_until": of_moments([entry.replayed_until for entry in moved]),
            },
        )
    if done:
        task_transitions.complete([row[0] for row in done])
    unreadable = [entry.task for entry in planned if not entry.readable]
    if unreadable:
        task_transitions.pause_unreadable(unreadable, _UNREADABLE)


def _cursors(moved: list[Planned], began: Set[UUID]) -> dict[str, object]:
    return {
        "task_ids": of_uuids([entry.task for entry in moved]),
        "cursors": of_moments([entry.cursor for entry in moved]),
        "places": of_texts([entry.place for entry in moved]),
        "open": of_flags([entry.task in began for entry in moved]),
    }


def _until_next(partitions: Partitions, bounds: LowerBounds, now: datetime, *, found: int) -> float:
    full = found >= conf().materialize_batch
    if full and not bounds.in_force:
        return 0.0
    [since] = bounds.since
    soonest = looks.first_task(partitions.held, bounds, now)
    ahead = (soonest - now).total_seconds() - conf().horizon_seconds
    if full or (ahead <= 0 and (found or soonest < since)):
        return 0.0
    # A second late still leaves the rest of the horizon, and gathers many tasks in one pass.
    wait = min(_GATHER_SECONDS + max(0.0, ahead), max(_LOOK_SECONDS, bounds.next_in))
    return min(conf().scheduler_sleep_seconds, wait)
