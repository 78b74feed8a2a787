"""How much a pool can take: slots and hold of its live workers."""

from __future__ import annotations

from executions.workers.registry import workers


def capacity_by_pool() -> dict[str, int]:
    """Return pool -> executions that its live workers can hold or run, all together."""
    room: dict[str, int] = {}
    for worker in workers():
        if worker.takes_work:
            room[worker.pool] = room.get(worker.pool, 0) + worker.slots + worker.hold
    return room
