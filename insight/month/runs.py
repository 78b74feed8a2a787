"""The coming runs of some days one by one, for the list of a day and for feeds.

The read is bounded: the 500 tasks that are due first, and the caller's number of lines. A task
with more than 24 runs on a day is one line there.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import date, datetime
from itertools import islice
from uuid import UUID

from insight.explain.timetable import UNREADABLE
from insight.month.coming import Narrow, end_of_limited
from insight.month.local_days import LocalDay
from tasks.calendars import spec_reader
from tasks.models import Task
from tasks.schedules.base import MICROSECOND, Spec

MOST_TASKS = 500
#: Runs of a task on one day that are listed; with more they are one line.
MOST_A_DAY = 24
#: Instants that are counted to find where ``max_occurrences`` ends a task.
_COUNTED = 5_000


@dataclass(frozen=True, slots=True)
class Run:
    """A coming run, or with ``more`` the first one of a day with over 24 runs of the task."""

    day: date
    at: datetime
    task_id: UUID
    task_name: str
    more: bool = False


@dataclass(frozen=True, slots=True)
class Runs:
    """Runs by day and time. Not ``complete``: tasks or days were left out by the bounds."""

    runs: list[Run]
    complete: bool


@dataclass(frozen=True, slots=True)
class _Planned:
    task: Task
    spec: Spec
    end: datetime


def runs_of_days(
    tenant_id: UUID, days: Sequence[LocalDay], now: datetime, narrow: Narrow, most: int
) -> Runs:
    """Return the first ``most`` lines of the days from now on."""
    tasks = _read(tenant_id, days[-1].end, narrow)
    planned = list(_planned(tasks[:MOST_TASKS], days[-1].end))
    complete = len(tasks) == len(planned)
    found: list[Run] = []
    for one in days:
        of_day = [run for plan in planned for run in _of_day(plan, one, now)]
        found += sorted(of_day, key=lambda run: (run.at, run.task_name, run.task_id))
        if len(found) > most:
            return Runs(found[:most], False)
    return Runs(found, complete)


def _read(tenant_id: UUID, end: datetime, narrow: Narrow) -> list[Task]:
    ahead = Task.objects.ahead(tenant_id).filter(cursor__next_run_at__lt=end)
    return list(narrow(ahead)[: MOST_TASKS + 1])


def _planned(tasks: Sequence[Task], end: datetime) -> Iterator[_Planned]:
    """Yield the tasks whose schedules can be read, each with the end of its runs."""
    read = spec_reader((task.tenant_id, task.schedule) for task in tasks)
    for task in tasks:
        try:
            spec = read(task.type, task.schedule, task.tenant_id, str(task.id), task.created_at)
            until = _end_of(task, spec, end)
        except UNREADABLE:
            continue  # its page says what is wrong
        if until is not None:
            yield _Planned(task, spec, until)


def _end_of(task: Task, spec: Spec, end: datetime) -> datetime | None:
    allowed = task.schedule.get("max_occurrences")
    if allowed is None or task.next_run_at is None:
        return end
    remaining = int(allowed) - task.occurrence_count
    return end_of_limited(spec, task.next_run_at, remaining, end, _COUNTED)


def _of_day(plan: _Planned, one: LocalDay, now: datetime) -> list[Run]:
    after, until = max(one.start, now) - MICROSECOND, min(one.end, plan.end) - MICROSECOND
    if after >= until:
        return []
    walk = plan.spec.walk_open(after, until)
    found = [moment.at for moment in islice(walk, MOST_A_DAY + 1)]
    task = plan.task
    if len(found) > MOST_A_DAY:
        return [Run(one.day, found[0], task.id, task.name, more=True)]
    return [Run(one.day, at, task.id, task.name) for at in found]
