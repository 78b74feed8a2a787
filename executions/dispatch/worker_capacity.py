"""The capacity of a pool: slots and hold of its live workers."""

from __future__ import annotations

from typing import NamedTuple

from wire.heartbeats import workers


class Capacity(NamedTuple):
    """Executions that a pool's live workers can run, and ones that they can buffer besides."""

    slots: int
    hold: int

    @property
    def both(self) -> int:
        """Executions that they can have in hand altogether."""
        return self.slots + self.hold


def capacity_by_pool() -> dict[str, Capacity]:
    """Return the capacity of all live workers of each pool."""
    found: dict[str, Capacity] = {}
    for worker in workers():
        if worker.takes_work:
            slots, hold = found.get(worker.pool, Capacity(0, 0))
            found[worker.pool] = Capacity(slots + worker.slots, hold + worker.hold)
    return found
