"""The order in which due work starts in a worker: by band and priority, then by due time.

One start in ten of each band is its oldest work of any priority, so that nothing starves
here either.
"""

from __future__ import annotations

import heapq
from bisect import insort
from collections.abc import Callable, Iterator

from wire.priorities import BAND_NAMES, PRIORITIES, SHARE, band_of
from worker.entries import Held

#: Due time, token and nonce order work of the same priority; the last field is until when it waits
#: in its lane.
Row = tuple[float, int, int, Held, float]

_BAND = tuple(band_of(priority) for priority in PRIORITIES)


class StartOrder:
    """Due work, the first to start first."""

    __slots__ = ("_count", "_heaps", "_present", "_since")

    def __init__(self) -> None:
        self._heaps: dict[int, list[Row]] = {}
        #: The priorities that have anything, in order.
        self._present: list[int] = []
        self._count = 0
        #: Starts of each band since its oldest work had its turn.
        self._since = [0] * len(BAND_NAMES)

    def __len__(self) -> int:
        return self._count

    def __iter__(self) -> Iterator[Row]:
        for priority in self._present:
            yield from self._heaps[priority]

    def push(self, row: Row) -> None:
        """Add due work."""
        priority = row[3].priority
        heap = self._heaps.get(priority)
        if heap is None:
            heap = self._heaps[priority] = []
        if not heap:
            insort(self._present, priority)
        heapq.heappush(heap, row)
        self._count += 1

    def pop(self) -> Row:
        """Remove and return the work to start next."""
        priority = self._present[0]
        band = _BAND[priority]
        if self._since[band] >= SHARE - 1:
            rivals = [other for other in self._present if _BAND[other] == band]
            priority = min(rivals, key=lambda other: self._heaps[other][0][0])
        heap = self._heaps[priority]
        row = heapq.heappop(heap)
        if not heap:
            self._present.remove(priority)
        self._count -= 1
        return row

    def started(self, held: Held) -> None:
        """Note that removed work starts: after nine of its band the oldest has its turn."""
        band = _BAND[held.priority]
        self._since[band] = (self._since[band] + 1) % SHARE

    def remove(self, leaves: Callable[[Row], bool]) -> list[Row]:
        """Remove and return the rows for which ``leaves`` holds."""
        gone = [row for row in self if leaves(row)]
        if gone:
            stay = [row for row in self if not leaves(row)]
            self.clear()
            for row in stay:
                self.push(row)
        return gone

    def clear(self) -> None:
        """Remove everything."""
        self._heaps.clear()
        self._present.clear()
        self._count = 0
