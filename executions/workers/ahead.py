"""Does ahead of its time what an attempt needs, so that little is left to do at its millisecond."""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Callable
from typing import Any

Entry = dict[str, Any]

#: So many at a time, so far apart: a start takes several turns of the loop, and what is prepared
#: in each of them would add up in it. Twice as fast as a worker delivers.
_AT_ONCE, _APART_SECONDS = 4, 0.001


class Ahead:
    """Prepares the entries of batches, in their order, a few at a time.

    What is due by then is left to its attempt, which does without.
    """

    def __init__(self, prepare: Callable[[Entry, Entry], None], now: Callable[[], float]) -> None:
        self._prepare = prepare
        self._now = now
        self._waiting: deque[tuple[Entry, Entry]] = deque()

    def take(self, batch: Entry) -> None:
        """Prepare a batch's entries, beginning with the next turn."""
        idle = not self._waiting
        self._waiting.extend((entry, batch) for entry in batch["executions"])
        if idle and self._waiting:
            asyncio.get_running_loop().call_soon(self._some)

    def _some(self) -> None:
        some = [self._waiting.popleft() for _ in range(min(_AT_ONCE, len(self._waiting)))]
        if self._waiting:
            asyncio.get_running_loop().call_later(_APART_SECONDS, self._some)
        now = self._now()
        for entry, batch in some:
            if entry["due"] > now:
                self._prepare(entry, batch)
