"""The coming starts of one task, as its page and `tasks show` list them.

They come from the schedule, not from the ledger, and include prepared instants.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime, timedelta
from itertools import islice

from executions.choices import Trigger
from executions.models import Execution
from insight.explain.evidence import end_of_pause, standing_pause_of
from shared.exceptions import InvalidInput
from tasks.choices import TaskStatus
from tasks.editing import spec_of
from tasks.models import Task
from tasks.schedules.base import Spec
from tasks.schedules.jitter import due_at, jitter_of

#: How far ahead the search for an instant goes that no calendar excludes.
_AHEAD = timedelta(days=366)


@dataclass(frozen=True, slots=True)
class TaskFire:
    """A coming instant ``at`` of the schedule, and when it starts, which jitter moves later."""

    at: datetime
    due_at: datetime
    notes: tuple[str, ...] = ()


def fires_of(task: Task, limit: int, *, now: datetime) -> list[TaskFire]:
    """Return the coming starts; none of a task that does not fire, or whose schedule is broken.

    A paused task starts after the end of its pause; never, if that is not known.
    """
    since = now
    if task.status == TaskStatus.PAUSED:
        resumes_at = end_of_pause(task, standing_pause_of(task))
        if resumes_at is None:
            return []
        since = max(now, resumes_at)
    elif task.status != TaskStatus.SCHEDULED:
        return []
    try:
        spec = spec_of(task)
    except InvalidInput:
        return []  # stored under an older rule; the schedule's text names the fault
    return list(islice(_coming(task, spec, since), min(limit, occurrences_left(task, limit, now))))


def _coming(task: Task, spec: Spec, since: datetime) -> Iterator[TaskFire]:
    jitter = jitter_of(task.schedule)
    # The latest instant before may still wait for its share of the jitter, and only that one.
    before = since - timedelta(seconds=jitter)
    for found in spec.walk_open(before if jitter else since, since + _AHEAD):
        due = due_at(spec, found.at, str(task.pk), jitter)
        if due > since:
            yield TaskFire(found.at, due, found.notes)


def occurrences_left(task: Task, limit: int, now: datetime) -> int:
    """Return how many instants ``max_occurrences`` leaves after now, those prepared included.

    ``limit`` of a task without one.
    """
    allowed = task.schedule.get("max_occurrences")
    if allowed is None:
        return limit
    prepared = Execution.objects.for_tenant(task.tenant_id).scheduled_between(now, None)
    ahead = prepared.filter(task_id=task.pk, trigger=Trigger.SCHEDULE).count()
    return max(0, int(allowed) - task.occurrence_count + ahead)
