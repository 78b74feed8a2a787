"""The work of the test receiver before or after an answer, counted for each tenant."""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine
from typing import Any

from shared import cancelling


class TasksBySegment:
    """Running tasks by the segment that they belong to."""

    def __init__(self) -> None:
        self._running: dict[str, set[asyncio.Task[None]]] = {}

    def count(self, segment: str) -> int:
        """Return how many run for the segment."""
        return len(self._running.get(segment, ()))

    def begin(self, segment: str, work: Coroutine[Any, Any, None]) -> asyncio.Task[None]:
        """Start the work; it is counted until it ends."""
        task = asyncio.get_running_loop().create_task(work)
        self._running.setdefault(segment, set()).add(task)
        task.add_done_callback(lambda done: self._ended(segment, done))
        return task

    async def settle(self) -> None:
        """Wait for the end of everything that runs now."""
        await asyncio.gather(*self._all(), return_exceptions=True)

    async def cancel(self) -> None:
        """End everything that runs."""
        await cancelling.end(*self._all())

    def _all(self) -> list[asyncio.Task[None]]:
        return [task for tasks in self._running.values() for task in tasks]

    def _ended(self, segment: str, task: asyncio.Task[None]) -> None:
        tasks = self._running[segment]
        tasks.discard(task)
        if not tasks:
            del self._running[segment]
