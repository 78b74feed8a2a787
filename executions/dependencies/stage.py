"""The scheduler's look at tasks that wait for others: which may start now, and which end unstarted.

It judges the tasks of its own partitions whose prerequisites have moved. A task whose prerequisites
have all succeeded is taken off hold, and materialize prepares its instant. One of whose
prerequisites has ended without success ends at its instant, as its ``on_dependency_failure`` says.
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from uuid import UUID

from django.db import transaction

from executions import transitions
from executions.choices import Status
from executions.ledger import days
from executions.loop.clocks import database_now
from executions.loop.counts import Counts
from executions.materialize import stage as materialize
from executions.materialize.instants import DaysMissing
from executions.materialize.planning import Planned, Row
from executions.ownership.partitions import Partitions
from shared.ids import execution_id
from tasks import dependencies
from tasks.choices import DEPENDENCY_FAILED
from tasks.dependencies import Judged
from tasks.models import TaskCursor

#: Marks that one pass takes; the prerequisites of each marked task, at most a hundred, are locked.
_MARKS = 200
#: Between two looks: where some task waits, and where none does.
_LOOK_SECONDS, _REST_SECONDS = 0.1, 1.0


class _NotOurs(Exception):
    """Another scheduler owns a partition by now; the whole pass must roll back."""


def run_once(partitions: Partitions) -> Counts:
    """Judge marked tasks, a bounded number; ``first`` is the first of those that wait no longer."""
    held = partitions.held
    if not held:
        return Counts(next_in=_REST_SECONDS)
    marked, any_waits = dependencies.to_judge(list(held), _MARKS)
    if not marked:
        return Counts(next_in=_LOOK_SECONDS if any_waits else _REST_SECONDS)
    try:
        done, first = _judge(marked, partitions)
    except DaysMissing as missing:
        # Outside of the transaction, whose locks must stay few and short.
        days.make_days(missing.days)
        return Counts(next_in=0.0)
    except _NotOurs:
        return Counts(refused=len(marked), next_in=_REST_SECONDS)
    return Counts(done=done, next_in=0.0 if done else _LOOK_SECONDS, first=first)


def _judge(task_ids: Sequence[UUID], partitions: Partitions) -> tuple[int, datetime | None]:
    with transaction.atomic():
        judged = dependencies.judge(task_ids)
        # After the judgement, which looks again at instants that were ahead then.
        now = database_now()
        ready = [one for one in judged if one.ready]
        over = [one for one in judged if one.ends_at(now)]
        places = dependencies.free([*ready, *over]) if ready or over else {}
        if over:
            _end(over, places, partitions, now)
    return len(judged), min((one.at for one in ready), default=None)


def _end(
    over: Sequence[Judged],
    places: dict[UUID, str],
    partitions: Partitions,
    now: datetime,
) -> None:
    """End tasks without a run, each with one row of the ledger."""
    planned = []
    for one in over:
        status = Status.FAILED if one.on_failure == "fail" else Status.SKIPPED
        row = Row(one.task_id, one.at, one.at, status, DEPENDENCY_FAILED)
        planned.append(
            Planned(one.task_id, one.at, rows=[row], one_time=True, place=places[one.task_id])
        )
    materialize.write(planned, partitions, now, frozenset())
    if TaskCursor.objects.filter(task_id__in=[one.task_id for one in over]).exists():
        raise _NotOurs
    failed = [execution_id(one.task_id, one.at) for one in over if one.on_failure == "fail"]
    if failed:
        transitions.fail_unstarted(failed)
