"""A schedule under calendars: an excluded instant is marked, or moved to a working day.

Wraps any other schedule, so that the planner, previews and pages see the same instants. Every
instant of the wrapped schedule is kept, marked as excluded, or moved exactly once; where two
meet they are one. Instants stay strictly increasing, and none outside of the schedule's bounds.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from datetime import datetime, timedelta
from heapq import heappop, heappush
from typing import Literal, Self

from tasks.schedules.base import (
    CALENDAR_EXCLUDED,
    CALENDAR_ROLLED,
    MICROSECOND,
    SECOND,
    Occurrence,
    Spec,
)
from tasks.schedules.days_off import (
    FURTHEST_DAYS,
    CalendarDays,
    DaysOff,
    days_off,
    instant,
)
from tasks.schedules.local_time import LocalRules, place
from tasks.schedules.wall_calendar import DAY
from tasks.schedules.zones import EPOCH, LAST_SECOND, Zone

__all__ = ["CalendarDays", "CalendarSpec", "Policy"]

Policy = Literal["skip", "next_business_day", "previous_business_day"]

_STEPS = {"next_business_day": 1, "previous_business_day": -1}
_WORDS = {
    "skip": "not when {} excludes it",
    "next_business_day": "moved to the next business day when {} excludes it",
    "previous_business_day": "moved to the previous business day when {} excludes it",
}


class CalendarSpec(Spec):
    """The occurrences of another schedule, each judged by the calendars."""

    may_exclude = True

    def __init__(
        self,
        base: Spec,
        calendars: Sequence[CalendarDays],
        policy: Policy = "skip",
        rules: LocalRules | None = None,
    ) -> None:
        self.kind = base.kind
        self.zone = base.zone
        self.bounds = base.bounds
        self._base = base
        self._days_off: DaysOff = days_off(tuple(calendars))
        self._policy = policy
        self._step = _STEPS.get(policy, 0)
        self._rules = rules or LocalRules()
        self._free: dict[int, bool] = {}
        #: For each local time a stretch of days that cannot take it, so that none is tried twice.
        self._refused: dict[int, tuple[int, int]] = {}

    @property
    def text(self) -> str:
        """Return the schedule in plain words."""
        names = [f"'{calendar.name}'" for calendar in self._days_off.calendars]
        return f"{self._base.text}, {_WORDS[self._policy].format(' or '.join(names))}"

    def walk(self, after: datetime) -> Iterator[Occurrence]:
        """Yield every occurrence strictly after a moment, oldest first; excluded ones marked."""
        return self._rolled(after) if self._step else map(self._marked, self._base.walk(after))

    def walk_open(self, after: datetime, until: datetime | None = None) -> Iterator[Occurrence]:
        """Yield every occurrence in (after, until] that is not excluded, oldest first."""
        if self._step:
            yield from super().walk_open(after, until)
            return
        walk = self._base.walk(after)
        while (found := next(walk, None)) is not None and (until is None or found.at <= until):
            if not self._excluder(found):
                yield found
                continue
            end = self._end_of_exclusion(found.at)
            if end - found.at > SECOND:
                walk = self._base.walk(end - MICROSECOND)

    def in_zone(self, zone: Zone) -> Self:
        """Return the same schedule under other rules of its zone."""
        made = super().in_zone(zone)
        made._base = self._base.in_zone(zone)
        made._free, made._refused = {}, {}
        return made

    def wall_of(self, occurrence: Occurrence) -> int:
        """Return the local time that an occurrence represents, in wall-clock seconds since 1970."""
        return self._base.wall_of(occurrence)

    def _marked(self, occurrence: Occurrence) -> Occurrence:
        excluder = self._excluder(occurrence)
        return _excluded(occurrence, excluder) if excluder else occurrence

    def _excluder(self, occurrence: Occurrence) -> str:
        return self._days_off.excluder(occurrence.at, self._day(occurrence.at))

    def _end_of_exclusion(self, at: datetime) -> datetime:
        """Return a moment up to which everything from an excluded instant on is excluded."""
        window = self._days_off.stretches.end_of(at)
        if window is not None:
            return window
        # A clock change makes a day longer or shorter: skip only to the change.
        second = self._second(at)
        segment = self.zone.segment_at(second)
        midnight = (self._day(at) + 1) * DAY - segment.offset
        return instant(min(midnight, segment.end))

    # --- moving ---------------------------------------------------------------------------

    def _rolled(self, after: datetime) -> Iterator[Occurrence]:
        """Merge kept and moved instants; the heap holds those that a later one may precede."""
        found: dict[datetime, Occurrence] = {}
        heap: list[datetime] = []
        for occurrence in self._base.walk(self._reading_from(after)):
            earliest = self._earliest(occurrence)
            while heap and heap[0] < earliest:
                yield found.pop(heappop(heap))
            judged = self._judged(occurrence)
            if judged.at <= after:
                continue
            if judged.at in found:
                found[judged.at] = _merged(found[judged.at], judged)
            else:
                found[judged.at] = judged
                heappush(heap, judged.at)
        while heap:
            yield found.pop(heappop(heap))

    def _reading_from(self, after: datetime) -> datetime:
        """Return the moment from which instants may have been moved past this one."""
        if self._step < 0:
            return after
        # Instants may also have been moved onto a free day, later than this moment of it.
        day = self._last_free(self._day(after) - 1) + 1
        start = place(self.zone, day * DAY, LocalRules())
        return min(after, instant(start[0]) - MICROSECOND) if start else after

    def _earliest(self, occurrence: Occurrence) -> datetime:
        """Return the earliest moment to which this occurrence or a later one can be moved."""
        if self._step > 0:
            return occurrence.at
        start = place(self.zone, self._last_free(self._day(occurrence.at)) * DAY, LocalRules())
        return min(occurrence.at, instant(start[0])) if start else EPOCH

    def _last_free(self, day: int) -> int:
        """Return the last day up to this one past which nothing is moved."""
        for before in range(day, day - FURTHEST_DAYS - 2, -1):
            if self._is_free(before):
                return before
        return day - FURTHEST_DAYS - 2

    def _is_free(self, day: int) -> bool:
        known = self._free.get(day)
        if known is None:
            known = self._free[day] = self._days_off.free(day, self.zone)
        return known

    def _judged(self, occurrence: Occurrence) -> Occurrence:
        excluder = self._excluder(occurrence)
        if not excluder:
            return occurrence
        return self._moved(occurrence) or _excluded(occurrence, excluder)

    def _moved(self, occurrence: Occurrence) -> Occurrence | None:
        """Return where an excluded occurrence goes; None when no day within a year takes it."""
        origin, time = divmod(self.wall_of(occurrence), DAY)
        fraction = (occurrence.at - EPOCH) % SECOND
        day, last = origin + self._step, origin + self._step * FURTHEST_DAYS
        low, high = self._refused.get(time, (day, day - 1))
        if not low - 1 <= day <= high + 1:
            low, high = day, day - 1
        moved = None
        while moved is None and (last - day) * self._step >= 0:
            if low <= day <= high:
                day = high + 1 if self._step > 0 else low - 1
                continue
            moved = self._on_day(day, time, fraction)
            if moved is None:
                low, high = min(low, day), max(high, day)
                day += self._step
        self._refused[time] = (low, high)
        if moved is None:
            return None
        outward = (moved.at > occurrence.at) == (self._step > 0)
        return moved if outward and self._within_bounds(moved.at) else None

    def _on_day(self, day: int, time: int, fraction: timedelta) -> Occurrence | None:
        if not self._days_off.working(day):
            return None
        placed = place(self.zone, day * DAY + time, self._rules)
        if placed is None:
            return None
        at = instant(placed[0]) + fraction
        # A gap at midnight may have shifted it onto a neighbouring day.
        actual = self._day(at)
        if self._days_off.excluder(at, actual) or not self._days_off.working(actual):
            return None
        return Occurrence(at, (*placed[1], CALENDAR_ROLLED))

    def _within_bounds(self, at: datetime) -> bool:
        start, end = self.bounds
        return (start is None or start <= at) and (end is None or at <= end)

    def _day(self, at: datetime) -> int:
        second = self._second(at)
        return (second + self.zone.segment_at(second).offset) // DAY

    @staticmethod
    def _second(at: datetime) -> int:
        return min(max(0, (at - EPOCH) // SECOND), LAST_SECOND)


def _excluded(occurrence: Occurrence, excluder: str) -> Occurrence:
    return replace(occurrence, notes=(*occurrence.notes, CALENDAR_EXCLUDED), excluded=excluder)


def _merged(one: Occurrence, other: Occurrence) -> Occurrence:
    """Return two occurrences of one instant as one, which runs if either does."""
    notes = tuple(dict.fromkeys((*one.notes, *other.notes)))
    if one.excluded and other.excluded:
        return replace(one, notes=notes)
    return Occurrence(one.at, tuple(note for note in notes if note != CALENDAR_EXCLUDED))
