"""The answers that show tasks with their state in the ledger, for every door.

A task's own cursor is beyond its prepared instants, so the ledger gives its next run. A page of
tasks costs a constant number of queries.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime, timedelta
from typing import Any, NamedTuple
from uuid import UUID

from django.db.models import Min

from executions.choices import Status, Trigger
from executions.loop.clocks import database_now
from executions.models import Execution
from insight.presentation.execution import present_executions
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
from tasks.schedules.jitter import due_at, jitter_of

LATEST = 10
#: More than the horizon, so that today's or tomorrow's table has a coming instant.
_AHEAD = timedelta(days=1)
_NONE = timedelta()


class Coming(NamedTuple):
    """A coming instant of a task, and when it starts: jitter lies between."""

    at: datetime
    due_at: datetime


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


def upcoming(tasks: Sequence[Task]) -> dict[UUID, Coming | None]:
    """Return the soonest coming start of each task whose own cursor does not show it.

    The cursor is beyond the prepared instants, up to the horizon ahead, and knows no jitter. So a
    prepared instant that waits for its share of the jitter comes first. Of tasks with calendars
    the result is the first instant that no calendar excludes, None where there is none.
    """
    now = database_now()
    prepared = (
        Execution.objects.filter(
            task_id__in=[task.id for task in tasks],
            status__in=[Status.PENDING, Status.QUEUED],
            trigger=Trigger.SCHEDULE,
            due_at__gt=now,
        )
        .scheduled_between(now - max(map(_jitter_of, tasks), default=_NONE), now + _AHEAD)
        .values("task_id")
        # No share of a task's jitter reaches its next instant: both are of one row.
        .annotate(at=Min("scheduled_for"), due_at=Min("due_at"))
    )
    soonest = {row["task_id"]: Coming(row["at"], row["due_at"]) for row in prepared}
    return _open_cursors(tasks, soonest) | soonest


def _jitter_of(task: Task) -> timedelta:
    return timedelta(seconds=jitter_of(task.schedule))


def _open_cursors(
    tasks: Sequence[Task], soonest: Mapping[UUID, Coming]
) -> dict[UUID, Coming | None]:
    """Return when tasks with calendars or jitter run next, which their cursors do not tell.

    A cursor may be at an excluded instant, and never includes the jitter.
    """
    found: dict[UUID, Coming | None] = {}
    named = [
        task
        for task in tasks
        if task.id not in soonest and (task.schedule.get("calendars") or _jitter_of(task))
    ]
    read = spec_reader((task.tenant_id, task.schedule) for task in named)
    for task in named:
        if task.next_run_at is None:
            continue
        try:
            spec = read(task.type, task.schedule, task.tenant_id, str(task.id), task.created_at)
        except InvalidInput:
            continue  # The schedule's text names the fault.
        following = next(spec.walk_open(task.next_run_at - MICROSECOND), None)
        found[task.id] = None
        if following is not None:
            due = due_at(spec, following.at, str(task.id), jitter_of(task.schedule))
            found[task.id] = Coming(following.at, due)
    return found


def next_execution(task: Task, soonest: Mapping[UUID, Coming | None]) -> dict[str, Any]:
    """Return the fields of the task's next run."""
    cursor = task.next_run_at and Coming(task.next_run_at, task.next_run_at)
    coming = soonest.get(task.id, cursor)
    moment = next_moment(task, coming.at if coming else None)
    return dict(present_next(moment, task.schedule["timezone"], coming.due_at if coming else None))


def present_latest(task: Task, now: datetime) -> list[dict[str, Any]]:
    """Return the task's latest ten executions, newest first.

    Executions whose time has come are taken first, so that occurrences prepared ahead of their
    time do not crowd the history out.
    """
    rows = Execution.objects.for_tenant(task.tenant_id).of_task(task.id)
    latest = list(rows.scheduled_between(None, now).order_by("-id")[:LATEST])
    room = LATEST - len(latest)
    ahead = list(rows.scheduled_between(now, None).order_by("id")[:room]) if room else []
    return present_executions([*reversed(ahead), *latest])
