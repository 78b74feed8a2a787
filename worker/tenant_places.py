"""Due work of a worker whose tenant has as many executions in flight as it may.

It waits here, apart from the lanes: a lane is of one destination, and a tenant has many. It asks
the start guard again when an execution of its tenant ends in this worker, and once in a while,
because others end elsewhere.
"""

from __future__ import annotations

from collections import Counter, deque

from worker.entries import Held

#: Work of one tenant that asks again at one time, when none of it has ended here.
_AT_ONCE = 64


class TenantPlaces:
    """What waits, by tenant, in the order in which it was refused."""

    def __init__(self) -> None:
        self._waiting: dict[str, deque[Held]] = {}
        self._until: dict[str, float] = {}
        self._left: Counter[str] = Counter()

    def __len__(self) -> int:
        return sum(map(len, self._waiting.values()))

    def __bool__(self) -> bool:
        return bool(self._waiting)

    def refuse(self, held: Held, until: float) -> None:
        """Keep work until its tenant has a place, at least until its next question at ``until``."""
        tenant = held.entry["tenant"]
        self._waiting.setdefault(tenant, deque()).append(held)
        self._until[tenant] = until

    def ended(self, held: Held) -> None:
        """Note that an execution has ended: another one of its tenant may start."""
        if held.entry["tenant"] in self._waiting:
            self._left[held.entry["tenant"]] += 1

    def take(self, now: float) -> list[Held]:
        """Remove and return the work that is to ask again now."""
        found: list[Held] = []
        for tenant, waiting in list(self._waiting.items()):
            count = _AT_ONCE if now >= self._until[tenant] else self._left[tenant]
            self._left.pop(tenant, None)
            found += [waiting.popleft() for _ in range(min(count, len(waiting)))]
            if not waiting:
                del self._waiting[tenant], self._until[tenant]
        return found

    def next_in(self, now: float) -> list[float]:
        """Return in how many seconds to take again; nothing when nothing waits."""
        return [max(0.0, min(self._until.values()) - now)] if self._until else []

    def clear(self) -> list[Held]:
        """Remove and return everything."""
        found = [held for waiting in self._waiting.values() for held in waiting]
        self._waiting.clear()
        self._until.clear()
        self._left.clear()
        return found
