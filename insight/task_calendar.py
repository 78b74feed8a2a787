"""The days of one task: what ran on each, what is to come, and what keeps it from running.

The past comes from the newest 200 rows of each day, the coming days from the schedule, of which
200 instants a day are counted at most. Days are those of the task's zone.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from datetime import date, datetime, time, timedelta
from functools import partial
from itertools import islice, takewhile

from executions.ledger.tenant_retention import days_of
from executions.loop.clocks import database_now
from insight.explain.evidence import end_of_pause, standing_pause_of
from insight.explain.timetable import Timetable
from insight.occurrences import NOT_PREPARED, reason_not_to_run
from insight.task_fires import occurrences_left
from shared.ids import first_id_at
from shared.sql import rows
from tasks.choices import TaskStatus
from tasks.models import Task
from tasks.schedules.base import CALENDAR_EXCLUDED, MICROSECOND, Occurrence
from tasks.schedules.clock_days import days_of_changes
from tasks.schedules.zones import Zone, find_zone

PAST_DAYS, AHEAD_DAYS = 365, 30
#: Rows, and instants of the schedule, that are counted of a day.
MOST_A_DAY = 200
#: Reasons of rows that a pause, or a suspension, has left out.
PAUSED_REASONS = ("paused", "paused_coalesced", "tenant_suspended")
_DAY = timedelta(days=1)


@dataclass(frozen=True, slots=True)
class TaskDay:
    """One local day of a task.

    ``rows`` are those that were read, at most 200, the newest of the day; the four states count
    them. ``coming`` are the instants that are to run from now on, at most 200; None where
    ``max_occurrences`` makes it unknown. ``excluded``: a calendar leaves something out. ``paused``:
    a pause does. ``change`` is a change of the clocks in words. ``at_least``: the day has, or may
    have, more than was counted.
    """

    day: date
    start: datetime
    end: datetime
    rows: int = 0
    succeeded: int = 0
    failed: int = 0
    cancelled: int = 0
    skipped: int = 0
    coming: int | None = 0
    excluded: bool = False
    paused: bool = False
    change: str = ""
    at_least: bool = False


@dataclass(frozen=True, slots=True)
class TaskCalendar:
    """The days of a task, oldest first, and the one that ``now`` lies in."""

    zone: str
    now: datetime
    today: date
    days: list[TaskDay]


def calendar_of(task: Task, now: datetime | None = None) -> TaskCalendar:
    """Return the days since the task's creation, a year and the history kept at most, and 30 ahead.

    The task's schedule as it is now tells the coming ones.
    """
    now = now or database_now()
    zone = find_zone(task.schedule.get("timezone") or "UTC")
    today = now.astimezone(zone.info).date()
    kept = timedelta(days=min(PAST_DAYS, days_of(task.tenant_id)))
    first = max(now - kept, min(task.created_at, now)).astimezone(zone.info).date()
    count = (today - first).days + AHEAD_DAYS + 1
    days = [_empty_day(first + number * _DAY, zone) for number in range(count)]
    changes = days_of_changes(zone, days[0].start, days[-1].end)
    days = [replace(one, change=changes.get(one.day, "")) for one in days]
    past = _with_past(task, [one for one in days if one.day <= today], now)
    return TaskCalendar(
        zone.name, now, today, list(_with_coming(task, past + days[len(past) :], now))
    )


def _empty_day(day: date, zone: Zone) -> TaskDay:
    start, end = (datetime.combine(one, time.min, zone.info) for one in (day, day + _DAY))
    return TaskDay(day, start, end)


def _with_past(task: Task, days: list[TaskDay], now: datetime) -> list[TaskDay]:
    """Return the days with what the ledger has of them."""
    found = {
        row[0]: row[1:]
        for row in rows(
            "task_reads/days",
            {
                "task": task.pk,
                "tenant": task.tenant_id,
                "lows": [first_id_at(one.start) for one in days],
                "highs": [first_id_at(min(one.end, now + MICROSECOND)) for one in days],
                "most": MOST_A_DAY,
                "pauses": list(PAUSED_REASONS),
            },
        )
    }
    shown, paused_until = [], None
    for number, one in enumerate(days, start=1):
        read = found.get(number)
        if read is None:
            shown.append(replace(one, paused=paused_until is not None and one.start < paused_until))
            continue
        *counts, until, excluded = read
        names = ("rows", "succeeded", "failed", "cancelled", "skipped")
        in_pause = until is not None or (paused_until is not None and one.start < paused_until)
        paused_until = max((at for at in (paused_until, until) if at), default=None)
        counted = dict(zip(names, counts, strict=True))
        cut = counts[0] >= MOST_A_DAY
        shown.append(
            replace(one, **counted, at_least=cut, paused=in_pause, excluded=bool(excluded))
        )
    return shown


def _with_coming(task: Task, days: list[TaskDay], now: datetime) -> Iterator[TaskDay]:
    """Yield the days, from today on with the instants that are to come."""
    live = task.status in (TaskStatus.SCHEDULED, TaskStatus.PAUSED)
    spec = Timetable(task).current if live and task.next_run_at is not None else None
    if spec is None:
        yield from days
        return
    resumes_at = end_of_pause(task, standing_pause_of(task))
    is_limited = task.schedule.get("max_occurrences") is not None
    left: int | None = occurrences_left(task, 0, now) if is_limited else None
    for one in days:
        if one.end <= now:
            yield one
        elif is_limited and left is None:
            # More than was counted of a day before: what is left from here on is not known.
            yield replace(one, coming=None)
        else:
            most = MOST_A_DAY if left is None else min(left, MOST_A_DAY)
            walk = spec.walk(max(one.start - MICROSECOND, now))
            inside = takewhile(partial(_before, one.end), walk)
            found = list(islice(inside, most))
            yield _with_instants(task, one, found, resumes_at, now)
            if left is not None:
                left = None if len(found) == MOST_A_DAY < left else left - len(found)


def _before(end: datetime, found: Occurrence) -> bool:
    return found.at < end


def _with_instants(
    task: Task,
    one: TaskDay,
    found: Sequence[Occurrence],
    resumes_at: datetime | None,
    now: datetime,
) -> TaskDay:
    """Return a day with its coming instants, and with what keeps some of them from running."""
    reasons = [reason_not_to_run(task, instant, resumes_at, now) for instant in found]
    running = [reason for reason in reasons if reason in ("", NOT_PREPARED)]
    return replace(
        one,
        coming=len(running),
        at_least=one.at_least or len(found) == MOST_A_DAY,
        excluded=one.excluded or CALENDAR_EXCLUDED in reasons,
        paused=one.paused or len(reasons) > len(running) + reasons.count(CALENDAR_EXCLUDED),
    )
