"""A fixed rate: `start`, `start` + step, and so on, in elapsed time.

Anchored at its start, so it never drifts and no change of the clocks affects it. One division finds
its place at any moment, however far away.
"""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime, timedelta

from tasks.schedules.base import Occurrence, Spec
from tasks.schedules.describe import interval_text
from tasks.schedules.zones import EPOCH, LAST_SECOND, Zone

_LAST = EPOCH + timedelta(seconds=LAST_SECOND)


class IntervalSpec(Spec):
    """Occurrences every `step` from `start` to `end`, both inclusive."""

    kind = "interval"
    # Counting is a division, so no chunk is too large.
    count_chunk = 2**62

    def __init__(
        self, step: timedelta, zone: Zone, *, start: datetime, end: datetime | None = None
    ) -> None:
        self.zone = zone
        self._step = step
        self._start = start
        self._end = end
        self._last = min(end, _LAST) if end else _LAST

    @property
    def text(self) -> str:
        """Return the schedule in plain words."""
        return interval_text(self._step, self.zone, self._start, self._end)

    def walk(self, after: datetime) -> Iterator[Occurrence]:
        """Yield every occurrence strictly after a moment, oldest first."""
        index = self._index_after(after)
        while self._last - self._start >= index * self._step:
            yield Occurrence(self._start + index * self._step)
            index += 1

    def count_between(
        self, after: datetime, until: datetime, limit: int
    ) -> tuple[int, datetime | None]:
        """Count the first occurrences in (after, until], at most `limit`; return the last, too."""
        first = self._index_after(after)
        count = min(self._index_after(min(until, self._last)) - first, limit)
        if count <= 0:
            return 0, None
        return count, self._start + (first + count - 1) * self._step

    def _index_after(self, moment: datetime) -> int:
        """Return the number of the first occurrence strictly after a moment."""
        return max(0, (moment.astimezone(UTC) - self._start) // self._step + 1)
