"""The instants that calendars exclude, and the working days: the facts behind `calendars`.

Days are counted since 1970, in local time; windows are stretches of instants. Pure.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from datetime import date, datetime
from functools import lru_cache

from tasks.schedules.base import SECOND
from tasks.schedules.wall_calendar import DAY
from tasks.schedules.zones import EPOCH, LAST_SECOND, Zone

SATURDAY_AND_SUNDAY = frozenset({6, 7})
_EPOCH_ORDINAL = EPOCH.toordinal()
#: No change of the clocks moves a local time further.
_AROUND = 86_400
#: Maximum number of days that are searched for one to move a run to.
FURTHEST_DAYS = 366

Window = tuple[datetime, datetime]


@dataclass(frozen=True, eq=False)
class CalendarDays:
    """A calendar in the form that schedules use; the model describes its parts.

    ``weekend`` are ISO weekdays, ``dates`` local days, ``windows`` stretches of time, the end not
    included.
    """

    name: str
    weekend: frozenset[int] = SATURDAY_AND_SUNDAY
    dates: frozenset[date] = frozenset()
    windows: tuple[Window, ...] = ()
    _days: frozenset[int] = field(init=False, repr=False)
    _stretches: Stretches = field(init=False, repr=False)

    def __post_init__(self) -> None:
        days = frozenset(day_number(day) for day in self.dates)
        object.__setattr__(self, "_days", days)
        object.__setattr__(self, "_stretches", Stretches(self.windows))

    def excludes(self, at: datetime, day: int) -> bool:
        """Return whether an instant, on this local day, is excluded."""
        return day in self._days or self._stretches.end_of(at) is not None

    def has_date(self, day: int) -> bool:
        """Return whether the day is one of the dates."""
        return day in self._days


class Stretches:
    """Windows, merged where they touch; a lookup is one binary search."""

    __slots__ = ("_ends", "_starts")

    def __init__(self, windows: Iterable[Window]) -> None:
        self._starts: list[datetime] = []
        self._ends: list[datetime] = []
        for start, end in sorted(windows):
            if self._ends and start <= self._ends[-1]:
                self._ends[-1] = max(self._ends[-1], end)
            else:
                self._starts.append(start)
                self._ends.append(end)

    def end_of(self, at: datetime) -> datetime | None:
        """Return when the window ends that holds the instant; None where none does."""
        index = bisect_right(self._starts, at) - 1
        return self._ends[index] if index >= 0 and at < self._ends[index] else None

    def touch(self, start: datetime, end: datetime) -> bool:
        """Return whether a window holds any instant of [start, end)."""
        index = bisect_right(self._starts, start)
        inside = index < len(self._starts) and self._starts[index] < end
        return inside or self.end_of(start) is not None


class DaysOff:
    """Several calendars as one: each may exclude, and a working day is one in all of them.

    Without calendars Saturday and Sunday are the only days off.
    """

    def __init__(self, calendars: Sequence[CalendarDays]) -> None:
        self.calendars = tuple(calendars)
        self.weekend = (
            frozenset().union(*(c.weekend for c in calendars)) if calendars else SATURDAY_AND_SUNDAY
        )
        self.stretches = Stretches(window for c in calendars for window in c.windows)

    def excluder(self, at: datetime, day: int) -> str:
        """Return the first calendar that excludes an instant on this local day, or nothing."""
        return next((c.name for c in self.calendars if c.excludes(at, day)), "")

    def is_date(self, day: int) -> bool:
        """Return whether a calendar has the day among its dates."""
        return any(c.has_date(day) for c in self.calendars)

    def working(self, day: int) -> bool:
        """Return whether the day is neither in a weekend nor among the dates."""
        return weekday(day) not in self.weekend and not self.is_date(day)

    def free(self, day: int, zone: Zone) -> bool:
        """Return whether every local time of the day exists once and can take a moved run."""
        if not self.working(day):
            return False
        segment = zone.segment_at(min(max(0, day * DAY), LAST_SECOND))
        start, end = day * DAY - segment.offset, (day + 1) * DAY - segment.offset
        plain = segment.start + _AROUND <= start and end + _AROUND <= segment.end
        return plain and not self.stretches.touch(instant(start), instant(end))


@lru_cache(maxsize=256)
def days_off(calendars: tuple[CalendarDays, ...]) -> DaysOff:
    """Return the calendars as one; the same object for the same calendars."""
    return DaysOff(calendars)


def day_number(day: date) -> int:
    """Return the day, counted since 1970."""
    return day.toordinal() - _EPOCH_ORDINAL


def weekday(day: int) -> int:
    """Return the ISO weekday of a day."""
    return (day + 3) % 7 + 1  # 1970 began on a Thursday.


def instant(second: int) -> datetime:
    """Return a second since 1970 as a moment."""
    return EPOCH + second * SECOND
