"""Prepares attempts ahead of their time, so that little is left to do at their millisecond."""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Callable

from wire.messages import Entry, Message

#: A start takes several turns of the loop, and preparing delays each of them. So a turn prepares
#: one entry, and one more for each _MORE_FOR that wait, up to _AT_MOST. A burst that is handed out
#: moments before its time is prepared twice as fast as a worker delivers.
_MORE_FOR, _AT_MOST, _APART_SECONDS = 400, 4, 0.001


class Ahead:
    """Prepares the entries of batches, in their order, a few at a time.

    An entry that is due before its turn is skipped: its attempt runs unprepared.
    """

    def __init__(self, prepare: Callable[[Entry, Message], None], now: Callable[[], float]) -> None:
        self._prepare = prepare
        self._now = now
        self._waiting: deque[tuple[Entry, Message]] = deque()

    def take(self, batch: Message) -> None:
        """Prepare a batch's entries, beginning with the next turn."""
        idle, now = not self._waiting, self._now()
        # Entries of a backlog are due already, and none of them is kept.
        self._waiting.extend((entry, batch) for entry in batch["executions"] if entry["due"] > now)
        if idle and self._waiting:
            asyncio.get_running_loop().call_soon(self._some)

    def _some(self) -> None:
        count = min(_AT_MOST, 1 + len(self._waiting) // _MORE_FOR, len(self._waiting))
        some = [self._waiting.popleft() for _ in range(count)]
        if self._waiting:
            asyncio.get_running_loop().call_later(_APART_SECONDS, self._some)
        now = self._now()
        for entry, batch in some:
            if entry["due"] > now:
                self._prepare(entry, batch)
