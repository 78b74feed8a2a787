"""The month of a tenant, or of the tasks of a filter: counts and marks of each day."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import date, datetime, timedelta
from typing import Any
from uuid import UUID

from executions.ledger.tenant_retention import days_of
from insight.filter_language.conditions import Scope, tasks_matching
from insight.filter_language.terms import Filter
from insight.month.coming import Coming, Narrow, coming_runs
from insight.month.local_days import LocalDay, days_of_month, moved
from insight.month.marks import Marks, marks_of
from insight.month.past import Ended, ended_of_filter, ended_of_tenant
from insight.month.runs import Runs
from shared.instants import format_instant
from tasks.choices import TaskStatus
from tasks.models import Task
from tasks.schedules.zones import Zone

#: Paused tasks are counted up to here.
MOST_PAUSED = 1_000


@dataclass(frozen=True, slots=True)
class MonthDay:
    """A day: ``coming`` is None before today, ``ended`` after it and where no history is kept."""

    local: LocalDay
    marks: Marks
    coming: int | None
    ended: Ended | None

    @property
    def day(self) -> date:
        """Return its date."""
        return self.local.day


@dataclass(frozen=True, slots=True)
class Month:
    """The days of a month on the clock of a zone. Counts of ``coming`` are at least that
    unless it is complete; ``paused`` tasks are in none of them.
    """

    first: date
    today: date
    zone: str
    coming: Coming
    paused: int
    days: list[MonthDay]

    @property
    def previous(self) -> date:
        """Return the first day of the month before."""
        return moved(self.first, -1)

    @property
    def following(self) -> date:
        """Return the first day of the month after it."""
        return moved(self.first, 1)


def month_of(
    tenant_id: UUID, first: date, zone: Zone, now: datetime, wanted: Filter | None = None
) -> Month:
    """Return the month that begins with a day, of the tasks of a filter where there is one."""
    days = days_of_month(first, zone)
    narrow = narrowing(tenant_id, wanted, now)
    today = now.astimezone(zone.info).date()
    named = wanted.text if wanted is not None else ""
    coming = coming_runs(tenant_id, days, now, narrow, named)
    ended = _ended(tenant_id, days, now, narrow if named else None)
    marks = marks_of(tenant_id, days, zone)
    shown = [
        MonthDay(
            one,
            marks[one.day],
            None if one.day < today else coming.counts.get(one.day, 0),
            ended.get(one.day),
        )
        for one in days
    ]
    return Month(first, today, zone.name, coming, _paused(tenant_id, narrow), shown)


def narrowing(tenant_id: UUID, wanted: Filter | None, now: datetime) -> Narrow:
    """Return what leaves the tasks of a filter, all of them without one."""
    if wanted is None:
        return lambda tasks: tasks
    scope = Scope(tenant_id, now)
    return lambda tasks: tasks_matching(tasks, wanted, scope)


def present_month(month: Month) -> dict[str, Any]:
    """Return the answer of ``GET /v1/forecast/month``, without the runs of a day."""
    coming = month.coming
    return {
        "month": f"{month.first:%Y-%m}",
        "timezone": month.zone,
        "computed_at": format_instant(coming.counted_at),
        "complete": coming.complete,
        "tasks": coming.tasks,
        "tasks_counted": coming.counted,
        "tasks_paused": month.paused,
        "days": [
            {
                "day": one.day.isoformat(),
                "coming": one.coming,
                "succeeded": one.ended.succeeded if one.ended else None,
                "failed": one.ended.failed if one.ended else None,
                "ended_at_least": one.ended is not None and one.ended.at_least,
                "clock_change": one.marks.change or None,
                "pauses": list(one.marks.pauses),
                "calendars": list(one.marks.calendars),
            }
            for one in month.days
        ],
    }


def present_runs(day: date, found: Runs) -> dict[str, Any]:
    """Return the coming runs of a day, as ``GET /v1/forecast/month`` with ``day`` answers them."""
    return {
        "day": day.isoformat(),
        "complete": found.complete,
        "runs": [
            {
                "at": format_instant(run.at),
                "task_id": str(run.task_id),
                "task_name": run.task_name,
                "more": run.more,
            }
            for run in found.runs
        ],
    }


def _ended(
    tenant_id: UUID, days: Sequence[LocalDay], now: datetime, narrow: Narrow | None
) -> dict[date, Ended]:
    """Return the past days that the history keeps, each with its runs."""
    kept_from = now - timedelta(days=days_of(tenant_id))
    past = [one for one in days if one.start <= now and one.end > kept_from]
    if not past:
        return {}
    if narrow is not None:
        return ended_of_filter(tenant_id, past, now, narrow)
    found = ended_of_tenant(tenant_id, past, now)
    return {one.day: found.get(one.day) or Ended() for one in past}


def _paused(tenant_id: UUID, narrow: Narrow) -> int:
    paused = narrow(Task.objects.for_tenant(tenant_id).filter(status=TaskStatus.PAUSED))
    return paused.order_by()[:MOST_PAUSED].count()
