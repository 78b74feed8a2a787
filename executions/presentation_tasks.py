"""The answers that show tasks with what the ledger knows of them; every door uses them.

A task's own cursor stands behind what is prepared, so its next run is asked of the ledger.
Pages of tasks cost a number of queries that does not grow.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime, timedelta
from typing import Any
from uuid import UUID

from django.db.models import Min

from executions.choices import Status, Trigger
from executions.engine.clocks import database_now
from executions.models import Execution
from executions.presentation import present_executions
from shared.exceptions import InvalidInput
from tasks.calendars import spec_reader
from tasks.models import Pause, Task
from tasks.presentation import (
    next_moment,
    present_missing,
    present_next,
    present_paused_by,
    present_task,
)
from tasks.revisions import read_readable
from tasks.schedules.base import MICROSECOND

LATEST = 10
#: More than the horizon, so that a coming instant is met in today's or tomorrow's table.
_AHEAD = timedelta(days=1)


def present_tasks(tasks: Sequence[Task]) -> list[dict[str, Any]]:
    """Return tasks as lists show them; all definitions come in one query."""
    definitions = read_readable(tasks)
    soonest = upcoming(tasks)
    pauses = standing_pauses_of(tasks)
    return [
        present_task(
            task,
            definitions[task.id].definition,
            extra={
                **next_execution(task, soonest),
                **paused_by(task, pauses),
                **present_missing(definitions[task.id].is_whole),
            },
        )
        for task in tasks
    ]


def standing_pauses_of(tasks: Sequence[Task]) -> dict[UUID, Pause]:
    """Return the standing pauses that hold any of the tasks, by their ids."""
    ids = {task.pause_id for task in tasks if task.pause_id is not None}
    return Pause.objects.in_bulk(ids) if ids else {}


def paused_by(task: Task, pauses: Mapping[UUID, Pause]) -> dict[str, Any]:
    """Return the field that names the standing pause which holds the task."""
    return present_paused_by(pauses.get(task.pause_id) if task.pause_id else None)


def upcoming(tasks: Sequence[Task]) -> dict[UUID, datetime | None]:
    """Return the soonest coming instant of each task that is in the ledger already.

    The task's own cursor stands behind what is prepared, up to the horizon ahead. Of tasks with
    calendars the first instant that is not excluded is given, None where there is none.
    """
    now = database_now()
    prepared = (
        Execution.objects.filter(
            task_id__in=[task.id for task in tasks],
            status__in=[Status.PENDING, Status.QUEUED],
            trigger=Trigger.SCHEDULE,
            scheduled_for__gt=now,
        )
        .scheduled_between(now, now + _AHEAD)
        .values("task_id")
        .annotate(soonest=Min("scheduled_for"))
    )
    soonest = {row["task_id"]: row["soonest"] for row in prepared}
    return _open_cursors(tasks, soonest) | soonest


def _open_cursors(
    tasks: Sequence[Task], soonest: Mapping[UUID, datetime]
) -> dict[UUID, datetime | None]:
    """Return when tasks with calendars run next: their cursors may stand at excluded instants."""
    found: dict[UUID, datetime | None] = {}
    named = [task for task in tasks if task.schedule.get("calendars") and task.id not in soonest]
    read = spec_reader((task.tenant_id, task.schedule) for task in named)
    for task in named:
        if task.next_run_at is None:
            continue
        try:
            spec = read(task.type, task.schedule, task.tenant_id, str(task.id), task.created_at)
        except InvalidInput:
            continue  # Its text says what is wrong.
        following = next(spec.walk_open(task.next_run_at - MICROSECOND), None)
        found[task.id] = following.at if following else None
    return found


def next_execution(task: Task, soonest: Mapping[UUID, datetime | None]) -> dict[str, Any]:
    """Return the fields that say when the task runs next."""
    moment = next_moment(task, soonest.get(task.id, task.next_run_at))
    return dict(present_next(moment, task.schedule["timezone"]))


def present_latest(task: Task, now: datetime) -> list[dict[str, Any]]:
    """Return the task's latest ten executions, newest first.

    Those whose time has come are taken first, so that occurrences prepared ahead of their time
    do not crowd the history out.
    """
    rows = Execution.objects.for_tenant(task.tenant_id).filter(task_id=task.id)
    latest = list(rows.scheduled_between(None, now).order_by("-id")[:LATEST])
    room = LATEST - len(latest)
    ahead = list(rows.scheduled_between(now, None).order_by("id")[:room]) if room else []
    return present_executions([*reversed(ahead), *latest])
