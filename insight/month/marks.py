"""What keeps tasks from running on a day, or moves them: clocks, pauses and calendars, in words."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import date, datetime
from uuid import UUID

from insight.month.local_days import LocalDay
from shared.clock_text import digits
from shared.instants import parse_instant
from tasks.models import Calendar, Pause
from tasks.schedules.clock_days import days_of_changes
from tasks.schedules.zones import Zone
from tasks.standing_pauses import describe

#: Calendars and open pauses that are read, and texts of each that a day shows.
MOST_READ, MOST_SHOWN = 50, 3


@dataclass(frozen=True, slots=True)
class Marks:
    """The marks of a day; ``change`` of the clocks is empty on most."""

    change: str = ""
    pauses: tuple[str, ...] = ()
    calendars: tuple[str, ...] = ()


def marks_of(tenant_id: UUID, days: Sequence[LocalDay], zone: Zone) -> dict[date, Marks]:
    """Return the marks of each day: standing pauses that are open, and calendars' exceptions."""
    changes = days_of_changes(zone, days[0].start, days[-1].end)
    pauses, calendars = _pauses(tenant_id, days, zone), _calendars(tenant_id, days)
    return {
        one.day: Marks(changes.get(one.day, ""), _few(pauses[one.day]), _few(calendars[one.day]))
        for one in days
    }


def _pauses(tenant_id: UUID, days: Sequence[LocalDay], zone: Zone) -> dict[date, list[str]]:
    found: dict[date, list[str]] = defaultdict(list)
    opened = Pause.objects.asked_for(tenant_id).open().filter(created_at__lt=days[-1].end)
    for pause in opened.order_by("-created_at", "-id")[:MOST_READ]:
        what = describe(pause.scope, pause.value)
        until = f" until {digits(pause.until, 'minutes', zone.info)}" if pause.until else ""
        for one in days:
            if pause.created_at < one.end and (pause.until is None or one.start < pause.until):
                found[one.day].append(f"{what}{until}")
    return found


def _calendars(tenant_id: UUID, days: Sequence[LocalDay]) -> dict[date, list[str]]:
    found: dict[date, list[str]] = defaultdict(list)
    known = {one.day for one in days}
    for calendar in Calendar.objects.for_tenant(tenant_id).order_by("name")[:MOST_READ]:
        for excluded in calendar.dates:
            day = date.fromisoformat(excluded["date"])
            if day in known:
                found[day].append(_named(calendar, excluded))
        for window in calendar.windows:
            start, end = parse_instant(window["start"]), parse_instant(window["end"])
            for one in _meeting(days, start, end):
                found[one.day].append(_named(calendar, window))
    return found


def _meeting(days: Sequence[LocalDay], start: datetime, end: datetime) -> list[LocalDay]:
    if end <= days[0].start or start >= days[-1].end:
        return []
    return [one for one in days if start < one.end and one.start < end]


def _named(calendar: Calendar, exception: dict[str, str]) -> str:
    name = exception.get("name")
    return f"{calendar.name}: {name}" if name else calendar.name


def _few(texts: Sequence[str]) -> tuple[str, ...]:
    once = list(dict.fromkeys(texts))
    rest = len(once) - MOST_SHOWN
    return (*once[:MOST_SHOWN], *([f"and {rest} more"] if rest > 0 else ()))
