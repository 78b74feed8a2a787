"""Preview an edit before it is saved: the new next instants against the old ones.

Validates an edit as saving does and changes nothing. Compares both schedules from now on: kept,
added and removed instants, runs per day, and other starts of the tenant in the new minutes.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta
from itertools import islice, pairwise, takewhile
from typing import Any
from uuid import UUID

from django.core.cache import cache

from insight.forecast.load import DAY_MINUTES, KEPT_SECONDS, MAX_DAYS, forecast
from shared.exceptions import VersionMismatch
from shared.instants import ceil_millisecond, format_instant, format_local
from tasks.calendars import limits_of
from tasks.choices import TaskStatus, TaskType
from tasks.definition import Definition
from tasks.editing import spec_of
from tasks.models import Task
from tasks.revisions import read_definition
from tasks.schedules.base import MICROSECOND, Occurrence, Spec
from tasks.schedules.jitter import due_at, gaps_from, in_words, jitter_of
from tasks.schedules.minutes import MINUTE, Spread, Stretch, count_minutes
from tasks.transitions import require_pausable, require_resumable
from tasks.validation.bodies import StatusChange, parse_patch

#: Instants that are compared.
COUNT = 100
_WEEK = timedelta(days=MAX_DAYS)
#: Rarer schedules are counted over a longer time; 52 whole weeks.
_YEAR = timedelta(days=364)
_FEW = 7
_MOST_WALKED = 50_000
#: A preview for a larger tenant does not add up the load.
_MOST_TASKS = 50_000


@dataclass(frozen=True, slots=True)
class _Plan:
    """A schedule of the task, old or new, with the instants that it may still have."""

    task_id: str
    spec: Spec
    schedule: Mapping[str, Any]
    now: datetime
    next: list[Occurrence]

    @property
    def text(self) -> str:
        """The schedule in words, with the task's share of the jitter."""
        gaps = gaps_from(self.spec, self.now)
        return self.spec.text + in_words(self._jitter_seconds, gaps, task_id=self.task_id)

    def due_at(self, at: datetime) -> datetime:
        """Return when the occurrence of a nominal time is due."""
        return due_at(self.spec, at, self.task_id, self._jitter_seconds)

    @property
    def latest_share(self) -> timedelta:
        """How far after its time an occurrence may be due: less than the way to the next one."""
        gaps = [later.at - one.at for one, later in pairwise(self.next)]
        return min(timedelta(seconds=self._jitter_seconds), max(gaps, default=_YEAR))

    @property
    def _jitter_seconds(self) -> float:
        return jitter_of(self.schedule)

    def has(self, moment: datetime) -> bool:
        """Return whether the schedule runs at a moment."""
        found = next(self.spec.walk_open(moment - MICROSECOND), None)
        return found is not None and found.at == moment


def preview_edit(
    tenant_id: UUID,
    task_id: UUID,
    body: Any,
    *,
    now: datetime,
    expected_version: int | None = None,
) -> dict[str, Any]:
    """Return the changes of a task's instants by a PATCH with this body; changes nothing.

    Raises as the edit would: NotFound, InvalidInput, TooLarge, VersionMismatch, Conflict.
    """
    task: Task = Task.objects.get_for_tenant(tenant_id, task_id)
    if expected_version is not None and expected_version != task.version:
        message = f"The task is at version {task.version}, not {expected_version}; read it again."
        raise VersionMismatch(message)
    definition, change = parse_patch(
        read_definition(task), body, now=now, limits=limits_of(tenant_id)
    )
    if change is StatusChange.PAUSE:
        require_pausable(task)
    elif change is StatusChange.RESUME:
        require_resumable(task)
    return compare(task, definition, now=now)


def compare(task: Task, definition: Definition, *, now: datetime) -> dict[str, Any]:
    """Return the next instants under a definition, and how they differ from the task's own."""
    moment = ceil_millisecond(now)
    before = _plan(task, task.type, task.schedule, moment)
    after = _plan(task, definition.type, definition.schedule, moment)
    zone = after.spec.zone.info
    shown = [
        {
            "utc": format_instant(occurrence.at),
            "local": format_local(occurrence.at, zone),
            "due_at": format_instant(after.due_at(occurrence.at)),
            "notes": list(occurrence.notes),
            "change": "kept" if before.has(occurrence.at) else "added",
        }
        for occurrence in after.next
    ]
    return {
        "text": after.text,
        "text_before": before.text,
        "occurrences": shown,
        "removed": [format_instant(at) for at in _removed(before, after)],
        "runs_per_day": {
            "before": _runs_per_day(task, before),
            "after": _runs_per_day(task, after),
        },
        "busiest_minute": _busiest_minute(task, before, after, now),
    }


def _plan(task: Task, task_type: str, schedule: Mapping[str, Any], now: datetime) -> _Plan:
    spec = _spec(task, task_type, schedule)
    allowed = _allowed(task, schedule, now)
    return _Plan(str(task.id), spec, schedule, now, list(islice(spec.walk_open(now), allowed)))


def _spec(task: Task, task_type: str, schedule: Mapping[str, Any]) -> Spec:
    """Return the task's specification as it would be with another schedule."""
    return spec_of(
        Task(
            id=task.id,
            tenant_id=task.tenant_id,
            type=task_type,
            schedule=schedule,
            created_at=task.created_at,
        )
    )


def _allowed(task: Task, schedule: Mapping[str, Any], now: datetime) -> int:
    """Return how many instants to compare, within what ``max_occurrences`` leaves."""
    bound = schedule.get("max_occurrences")
    if bound is None:
        return COUNT
    counted = task.occurrence_count
    if task.next_run_at is not None and task.next_run_at > now:
        # Prepared instants are counted already, though they are still to come.
        prepared = spec_of(task).count_between(now, task.next_run_at - MICROSECOND, COUNT)[0]
        counted -= min(counted, prepared)
    return max(0, min(COUNT, int(bound) - counted))


def _removed(before: _Plan, after: _Plan) -> list[datetime]:
    """Return the old instants that the new schedule has not, up to the last one it shows."""
    last = after.next[-1].at if len(after.next) == COUNT else None
    shown = {occurrence.at for occurrence in after.next}
    return [
        occurrence.at
        for occurrence in before.next
        if occurrence.at not in shown and (last is None or occurrence.at <= last)
    ]


def _runs_per_day(task: Task, plan: _Plan) -> float | None:
    """Return the runs of a mean day of the next week, or of the year if the week has few.

    None where nothing recurs.
    """
    if "run_at" in plan.schedule:
        return None
    if len(plan.next) < COUNT:
        within = sum(occurrence.at < plan.now + _YEAR for occurrence in plan.next)
        soon = sum(occurrence.at < plan.now + _WEEK for occurrence in plan.next)
        return _rounded(soon / MAX_DAYS if soon >= _FEW else within / _YEAR.days)
    counted = count_minutes(
        lambda schedule: _spec(task, TaskType.RECURRING, schedule),
        plan.schedule,
        str(task.id),
        Spread(),
        Stretch(plan.now, MAX_DAYS * DAY_MINUTES, _MOST_WALKED),
    )
    if counted is None:
        # Too dense to walk the week: the pace of the next instants counts.
        span = (plan.next[-1].at - plan.next[0].at) / timedelta(days=1)
        return _rounded((COUNT - 1) / span)
    soon = sum(counted.starts.values())
    if soon >= _FEW:
        return _rounded(soon / MAX_DAYS)
    return _rounded(sum(one.at < plan.now + _YEAR for one in plan.next) / _YEAR.days)


def _busiest_minute(
    task: Task, before: _Plan, after: _Plan, now: datetime
) -> dict[str, Any] | None:
    """Return the minute among the new instants in which most other starts are expected.

    None where none of them is within the forecast, or the tenant is too large to add up.
    """
    if _is_too_large(task.tenant_id):
        return None
    load = forecast(task.tenant_id, now=now)
    minutes = {after.due_at(one.at).replace(second=0, microsecond=0) for one in after.next}
    found = {
        minute: load.at(minute) - (_own(before, minute) if _is_counted(task) else 0)
        for minute in sorted(minutes)
        if load.start <= minute < load.until
    }
    if not found:
        return None
    busiest = max(found, key=lambda minute: found[minute])
    return {"at": format_instant(busiest), "others": max(0, found[busiest])}


def _is_too_large(tenant_id: UUID) -> bool:
    """Return whether a tenant is too large to add up; known as long as a forecast is kept."""
    key = f"what_if.too_large:{tenant_id}"
    kept: bool | None = cache.get(key)
    if kept is None:
        scheduled = Task.objects.for_tenant(tenant_id).filter(status=TaskStatus.SCHEDULED)
        kept = scheduled.order_by()[: _MOST_TASKS + 1].count() > _MOST_TASKS
        cache.set(key, kept, KEPT_SECONDS)
    return kept


def _own(before: _Plan, minute: datetime) -> int:
    walk = before.spec.walk_open(minute - before.latest_share - MICROSECOND)
    near = takewhile(lambda one: one.at < minute + MINUTE, walk)
    return sum(minute <= before.due_at(one.at) < minute + MINUTE for one in near)


def _is_counted(task: Task) -> bool:
    return task.status == TaskStatus.SCHEDULED


def _rounded(value: float) -> float:
    """Return a number as precise as people read it: three digits."""
    return float(f"{value:.3g}") if value < 100 else float(round(value))
