"""Months and days on the clock of a zone, and how their names are read. Pure."""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import date, datetime, time, timedelta

from shared.exceptions import FieldError, InvalidInput
from tasks.schedules.zones import Zone

DAY = timedelta(days=1)
#: Months before and after the one under way that can be asked for.
MOST_MONTHS = 12
_YEAR = 12
_MONTH = re.compile(r"[0-9]{4}-(0[1-9]|1[0-2])")


@dataclass(frozen=True, slots=True)
class LocalDay:
    """A day of a zone, from ``start`` on to before ``end``: 23 or 25 hours where clocks change."""

    day: date
    start: datetime
    end: datetime


def days_from(first: date, count: int, zone: Zone) -> list[LocalDay]:
    """Return days that follow each other."""
    days = [first + number * DAY for number in range(count + 1)]
    starts = [datetime.combine(day, time.min, zone.info) for day in days]
    return [LocalDay(days[place], starts[place], starts[place + 1]) for place in range(count)]


def days_of_month(first: date, zone: Zone) -> list[LocalDay]:
    """Return the days of the month that begins with a day."""
    return days_from(first, (moved(first, 1) - first).days, zone)


def moved(first: date, months: int) -> date:
    """Return the first day of the month that lies a number of months after another first day."""
    number = first.year * _YEAR + first.month - 1 + months
    return date(number // _YEAR, number % _YEAR + 1, 1)


def place_of(moment: datetime, starts: Sequence[datetime]) -> int:
    """Return the place of the day that holds a moment; -1 before the first one."""
    return bisect_right(starts, moment) - 1


def read_month(text: str) -> date:
    """Return the first day of ``YYYY-MM``; raise ValueError."""
    if not _MONTH.fullmatch(text) or text.startswith("0000"):
        raise ValueError("Give a month as YYYY-MM.")
    return date.fromisoformat(f"{text}-01")


def chosen_month(
    month: date | None,
    day: date | None,
    zone: Zone,
    now: datetime,
    names: tuple[str, str] = ("?month", "?day"),
) -> date:
    """Return the first day of the month asked for: that of the day, or of now, unless given.

    Raise InvalidInput for a month or a day over a year away; ``names`` are what the caller calls
    them.
    """
    this = now.astimezone(zone.info).date().replace(day=1)
    first = month or (day or this).replace(day=1)
    for name, one in ((names[0], month), (names[1], day)):
        if one is not None and not moved(this, -MOST_MONTHS) <= one < moved(this, MOST_MONTHS + 1):
            message = f"Give a month at most {MOST_MONTHS} before or after this one."
            raise InvalidInput([FieldError(name, "out_of_range", message)], message)
    return first
