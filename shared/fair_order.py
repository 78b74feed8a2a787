"""The order in which waiting work of several tenants starts: by shares, then by priority and age.

Each tenant has a level, and the tenant with the lowest starts next. A start raises the level by
one divided by the tenant's weight, so that starts are in proportion to weights (start-time fair
queueing). A tenant that comes begins at the level of the last start: it neither waits behind a
backlog nor catches up on the time without work. Priorities count within a tenant only.
"""

from __future__ import annotations

import itertools
from bisect import insort
from collections.abc import Callable, Iterator
from heapq import heapify, heappop, heappush, heapreplace
from typing import Any, Generic, TypeVar

#: A row begins with the time since when it is due; the whole row orders work of one priority.
R = TypeVar("R", bound=tuple[Any, ...])

_SPARE = 256


class PriorityOrder(Generic[R]):
    """Work of one tenant: the lower priority number first, then the older.

    One start in ``oldest_every`` is the oldest work of any priority.
    """

    __slots__ = ("_heaps", "_oldest_every", "_present", "count", "since")

    def __init__(self, oldest_every: int) -> None:
        self.count = 0
        self._oldest_every = oldest_every
        self._heaps: dict[int, list[R]] = {}
        #: The priorities that have work, in order.
        self._present: list[int] = []
        #: Starts since the oldest work had its turn.
        self.since = 0

    def __len__(self) -> int:
        return self.count

    def __iter__(self) -> Iterator[R]:
        for priority in self._present:
            yield from self._heaps[priority]

    def push(self, priority: int, row: R) -> None:
        """Add work."""
        heap = self._heaps.get(priority)
        if heap is None:
            self._heaps[priority] = [row]
            insort(self._present, priority)
        else:
            heappush(heap, row)
        self.count += 1

    def pop(self) -> R:
        """Remove and return the work to start next; there has to be some."""
        present, heaps = self._present, self._heaps
        priority = present[0]
        if self.since >= self._oldest_every - 1 and len(present) > 1:
            priority = min(present, key=lambda one: heaps[one][0][0])
        heap = heaps[priority]
        row = heappop(heap)
        if not heap:
            del heaps[priority]
            present.remove(priority)
        self.count -= 1
        return row

    def started(self) -> None:
        """Note that removed work starts: after a number of starts the oldest has its turn."""
        self.since = (self.since + 1) % self._oldest_every

    def remove(self, leaves: Callable[[R], bool]) -> list[R]:
        """Remove and return the rows for which ``leaves`` holds."""
        gone: list[R] = []
        for priority in list(self._present):
            heap = self._heaps[priority]
            leaving = [row for row in heap if leaves(row)]
            if not leaving:
                continue
            gone += leaving
            staying = [row for row in heap if not leaves(row)]
            if staying:
                heapify(staying)
                self._heaps[priority] = staying
            else:
                del self._heaps[priority]
                self._present.remove(priority)
        self.count -= len(gone)
        return gone


class _Tenant(PriorityOrder[R]):
    """A tenant's work, and what one start adds to its level."""

    __slots__ = ("name", "step")

    def __init__(self, name: str, oldest_every: int) -> None:
        super().__init__(oldest_every)
        self.name = name
        self.step = 1.0


class FairOrder(Generic[R]):
    """Waiting work of all tenants, the work to start next first.

    A pass asks :meth:`first` for a tenant, and either takes its work (:meth:`pop`, and
    :meth:`started` if it starts) or sets the tenant aside; :meth:`restore` ends the pass. A tenant
    set aside comes back with at most ``credit`` starts before the others.

    A tenant without work is forgotten as soon as its level is no longer above that of the others:
    earlier it would come back below the level that it has used up.
    """

    __slots__ = (
        "_aside",
        "_count",
        "_credit",
        "_heap",
        "_level",
        "_numbers",
        "_oldest_every",
        "_spare",
        "_tenants",
    )

    def __init__(self, oldest_every: int, credit: int = 0) -> None:
        self._oldest_every = oldest_every
        self._credit = credit
        self._tenants: dict[str, _Tenant[R]] = {}
        #: A few tenants that were forgotten, to be used anew: making one costs as much as a push.
        self._spare: list[_Tenant[R]] = []
        #: Level, number and tenant; of equal levels the one that came first has the lower number.
        self._heap: list[tuple[float, int, _Tenant[R]]] = []
        self._aside: list[tuple[float, int, _Tenant[R]]] = []
        #: The highest level at which work has started: where tenants begin that come.
        self._level = 0.0
        self._numbers = itertools.count()
        self._count = 0

    def __len__(self) -> int:
        return self._count

    def __iter__(self) -> Iterator[R]:
        for mine in self._tenants.values():
            yield from mine

    @property
    def known(self) -> int:
        """How many tenants are remembered."""
        return len(self._tenants)

    def waiting(self, tenant: str) -> int:
        """Return how much work of a tenant waits."""
        mine = self._tenants.get(tenant)
        return 0 if mine is None else mine.count

    def steps(self) -> Iterator[tuple[str, float]]:
        """Yield each tenant that has work, and its step; tenants that are set aside, too."""
        for mine in self._tenants.values():
            if mine.count:
                yield mine.name, mine.step

    def push(self, tenant: str, step: float, priority: int, row: R) -> None:
        """Add work; ``step`` is one divided by the tenant's weight."""
        mine = self._tenants.get(tenant)
        if mine is None:
            mine = self._tenants[tenant] = self._new(tenant)
            heappush(self._heap, (self._level, next(self._numbers), mine))
        mine.step = step
        mine.push(priority, row)
        self._count += 1

    def first(self) -> str | None:
        """Return the tenant whose work starts next; None when no other tenant has any."""
        heap = self._heap
        while heap:
            level, _, mine = heap[0]
            if mine.count:
                return mine.name
            # All others are at this level or above it: nothing is lost with the tenant.
            heappop(heap)
            del self._tenants[mine.name]
            if len(self._spare) < _SPARE:
                self._spare.append(mine)
            if level > self._level:
                self._level = level
        return None

    def pop(self) -> R:
        """Remove and return the next work of the tenant that :meth:`first` has returned."""
        self._count -= 1
        return self._heap[0][2].pop()

    def started(self) -> None:
        """Note that the work removed last starts."""
        level, _, mine = self._heap[0]
        if level > self._level:
            self._level = level
        mine.started()
        heapreplace(self._heap, (level + mine.step, next(self._numbers), mine))

    def set_aside(self) -> None:
        """Leave out the tenant that :meth:`first` has returned, until :meth:`restore`."""
        self._aside.append(heappop(self._heap))

    def restore(self) -> None:
        """Take the tenants in again that were set aside; forget all when nothing waits."""
        if not self._count:
            self.clear()
            return
        for level, number, mine in self._aside:
            least = self._level - self._credit * mine.step
            heappush(self._heap, (max(level, least), number, mine))
        self._aside.clear()

    def remove(self, tenant: str, leaves: Callable[[R], bool]) -> list[R]:
        """Remove and return a tenant's rows for which ``leaves`` holds."""
        mine = self._tenants.get(tenant)
        gone = [] if mine is None else mine.remove(leaves)
        self._count -= len(gone)
        return gone

    def _new(self, tenant: str) -> _Tenant[R]:
        if not self._spare:
            return _Tenant(tenant, self._oldest_every)
        mine = self._spare.pop()
        mine.name = tenant
        mine.since = 0
        return mine

    def clear(self) -> None:
        """Remove everything."""
        self._tenants.clear()
        self._heap.clear()
        self._aside.clear()
        self._level = 0.0
        self._count = 0
