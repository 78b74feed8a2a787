"""A cron line in a time zone: wall-clock times to instants, through every change of the clocks.

`spec` makes it. A fixed-time job (no wildcard or step in second, minute and hour) follows the
`dst_gap` and `dst_overlap` rules; any other runs at every real instant whose local time matches,
so it fires through the repeated hour and does not fire in the missing one.
"""

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime, timedelta
from itertools import islice, takewhile
from typing import Literal, NamedTuple

from tasks.schedules.base import DST_GAP, DST_OVERLAP, Occurrence, Spec
from tasks.schedules.cron_parse import CronFields
from tasks.schedules.describe import cron_text
from tasks.schedules.wall_calendar import DAY, WallCalendar, wall_calendar
from tasks.schedules.working_days import WorkingDays
from tasks.schedules.zones import EPOCH, LAST_SECOND, Segment, Zone

Gap = Literal["next_valid", "skip", "before"]
Overlap = Literal["first", "second", "both"]

_SECOND = timedelta(seconds=1)


class _Window(NamedTuple):
    """The wall-clock seconds of one stretch of constant offset that count, and its extras."""

    low: int
    high: int
    #: Instants that replace local times inside a gap: right after it, or right before it.
    after_gap: int | None
    before_gap: int | None


class CronSpec(Spec):
    """Occurrences of a cron expression from `start` to `end`, both inclusive."""

    kind = "cron"

    def __init__(
        self,
        fields: CronFields,
        zone: Zone,
        *,
        gap: Gap = "next_valid",
        overlap: Overlap = "first",
        start: datetime | None = None,
        end: datetime | None = None,
        dates: WorkingDays | None = None,
    ) -> None:
        self.zone = zone
        self.bounds = (start, end)
        self._fields = fields
        self._dates = dates
        self._calendar = WallCalendar(fields, dates) if dates else wall_calendar(fields)
        self._gap = gap
        self._overlap = overlap
        self._start, self._end = start, end
        self._first = max(0, -((EPOCH - start) // _SECOND)) if start else 0
        self._last = min(LAST_SECOND, (end - EPOCH) // _SECOND) if end else LAST_SECOND

    @property
    def text(self) -> str:
        """Return the schedule in plain words."""
        which = self._dates.which if self._dates else None
        return cron_text(self._fields, self.zone, self._start, self._end, which)

    @property
    def has_seconds(self) -> bool:
        """Whether the expression has a seconds field."""
        return self._fields.has_seconds

    def walk(self, after: datetime) -> Iterator[Occurrence]:
        """Yield every occurrence strictly after a moment, oldest first."""
        for second, notes in self._walk((after - EPOCH) // _SECOND):
            yield Occurrence(_instant(second), notes)

    def wall_of(self, occurrence: Occurrence) -> int:
        """Return the local time that an occurrence represents, in wall-clock seconds since 1970."""
        second = (occurrence.at - EPOCH) // _SECOND
        segment = self.zone.segment_at(second)
        if DST_GAP in occurrence.notes:
            behind = self._gap == "next_valid"
            gap = segment.start + segment.before if behind else segment.end + segment.offset
            return self._calendar.next(gap) or second + segment.offset
        return second + segment.offset

    def count_between(
        self, after: datetime, until: datetime, limit: int
    ) -> tuple[int, datetime | None]:
        """Count the first occurrences in (after, until], at most `limit`; return the last, too."""
        stop = (until - EPOCH) // _SECOND
        walk = self._walk((after - EPOCH) // _SECOND)
        count, last = 0, None
        for second, _ in islice(takewhile(lambda item: item[0] <= stop, walk), limit):
            count, last = count + 1, second
        return count, None if last is None else _instant(last)

    def _walk(self, after: int) -> Iterator[tuple[int, tuple[str, ...]]]:
        first = max(after + 1, self._first)
        while first <= self._last:
            segment = self.zone.segment_at(first)
            window = self._window(segment, first)
            wall = self._calendar.next(window.low)
            for second, notes in self._inside(segment, window, wall):
                if second > self._last:
                    return
                yield second, notes
            # After a backward change the local times before `high` come again.
            wall = self._calendar.next(min(window.high, segment.end + segment.after))
            if wall is None:
                return
            # Local time is at most 15 hours from UTC, so no stretch that starts two days
            # before the next match can hold it or the gap that swallows it.
            first = max(segment.end, wall - 2 * DAY)

    def _inside(
        self, segment: Segment, window: _Window, wall: int | None
    ) -> Iterator[tuple[int, tuple[str, ...]]]:
        before_gap = window.before_gap
        if window.after_gap is not None:
            yield window.after_gap, (DST_GAP,)
        twice_until = segment.start + segment.before
        twice_from = segment.end + segment.after
        while wall is not None and wall < window.high:
            second = wall - segment.offset
            if second == before_gap:
                before_gap = None
                yield second, (DST_GAP,)
            elif wall < twice_until or wall >= twice_from:
                yield second, (DST_OVERLAP,)
            else:
                yield second, ()
            wall = self._calendar.next(wall + 1)
        if before_gap is not None:
            yield before_gap, (DST_GAP,)

    def _window(self, segment: Segment, first: int) -> _Window:
        start, end, offset, before, after = segment
        low, high = first + offset, end + offset
        after_gap = before_gap = None
        if not self._fields.fixed_time:
            return _Window(low, high, None, None)
        if self._overlap == "first" and before > offset:
            low = max(low, start + before)
        if self._overlap == "second" and after < offset:
            high = end + after
        if self._gap == "next_valid" and first == start and self._hits(start + before, low):
            after_gap = start
            low += 1
        if self._gap == "before" and self._hits(high, end + after):
            before_gap = self._last_valid(segment)
            if before_gap < first:
                before_gap = None
        return _Window(low, high, after_gap, before_gap)

    def _hits(self, low: int, high: int) -> bool:
        if high <= low:
            return False
        wall = self._calendar.next(low)
        return wall is not None and wall < high

    def _last_valid(self, segment: Segment) -> int:
        """Return the last minute (with a seconds field: second) before the clocks jump."""
        wall = segment.end + segment.offset - 1
        if not self._fields.has_seconds:
            wall -= wall % 60
        return max(segment.start, wall - segment.offset)


def _instant(second: int) -> datetime:
    return EPOCH + timedelta(seconds=second)
