"""Outcomes on their way to the recorders: gathered for a few milliseconds, kept until accepted.

A live worker loses no outcome while Redis is away: outcomes wait here and are sent again. When
Redis comes back without its data, the outcomes of the last seconds are sent again, too.
"""

from __future__ import annotations

import asyncio
import logging
import time
from collections import deque

import redis
import redis.asyncio

from shared.conf import conf
from shared.redis_client import INCARNATION_KEY, OUTCOME_PROMPT, OUTCOME_STREAM
from wire import outcomes

log = logging.getLogger("executions.workers.outbox")

_RETRY_SECONDS = 0.2
#: Least time between two entries that others wait for: the first goes at once, and many short
#: steps share an entry.
_PROMPT_SECONDS = 0.005
#: Captured answers make outcomes large; recorders read many entries at once.
_ENTRY_BYTES = 1024 * 1024
#: How long accepted outcomes are kept, and how many bytes of them: recorders lag by less.
_KEPT_SECONDS = 5.0
_KEPT_BYTES = 16 * _ENTRY_BYTES


class Outbox:
    """One worker's buffer before the outcome stream; lives on the worker's event loop."""

    def __init__(self, connection: redis.asyncio.Redis) -> None:
        self._connection = connection
        self._waiting: list[bytes] = []
        self._wake = asyncio.Event()
        #: Something waits that others wait for.
        self._prompt = asyncio.Event()
        #: When the latest of such entries was sent.
        self._prompt_sent_at = float("-inf")
        self._empty = asyncio.Event()
        self._empty.set()
        #: Accepted outcomes, each with the moment of its acceptance.
        self._accepted: deque[tuple[float, bytes]] = deque()
        self._accepted_bytes = 0
        self._incarnation: object = self

    def put(self, outcome: outcomes.Row, *, prompt: bool = False) -> None:
        """Add an outcome; it is sent within milliseconds.

        A prompt one is sent at once, or with the next entry of prompt ones.
        """
        if prompt:
            self._prompt.set()
        self._waiting.append(outcomes.encode(outcome))
        self._empty.clear()
        self._wake.set()

    def __len__(self) -> int:
        return len(self._waiting)

    async def run(self) -> None:
        """Send the outcomes that are put, until cancelled."""
        while True:
            await self._wake.wait()
            await self._gather()
            prompt = self._prompt.is_set()
            # What is put from here on is sent in a turn of its own.
            self._wake.clear()
            self._prompt.clear()
            left = len(self._waiting)
            while left:
                left -= await self._send(left, prompt=prompt)
            if not self._waiting:
                self._empty.set()

    async def _gather(self) -> None:
        """Wait for other outcomes, until a prompt one may be sent."""
        try:
            async with asyncio.timeout(conf().outcome_flush_seconds):
                await self._prompt.wait()
                since = time.monotonic() - self._prompt_sent_at
                await asyncio.sleep(max(0.0, _PROMPT_SECONDS - since))
        except TimeoutError:
            pass  # The usual time is over.

    async def look(self) -> None:
        """Send again what Redis may have lost, if its incarnation has changed since the last look.

        The token refuses outcomes that had been recorded.
        """
        found = await self._connection.get(INCARNATION_KEY)
        known, self._incarnation = self._incarnation, found
        if known is self or found == known:
            return
        self._forget_old()
        repeated = [outcome for _, outcome in self._accepted]
        if repeated:
            log.warning("outcomes.sent_again", extra={"count": len(repeated)})
            # Behind the waiting outcomes: the first of them may be on their way.
            self._waiting += repeated
            self._empty.clear()
            self._wake.set()

    async def flushed(self) -> None:
        """Wait until everything that was put has been accepted by Redis."""
        await self._empty.wait()

    async def _send(self, most: int, *, prompt: bool) -> int:
        """Send one entry of the oldest outcomes; return how many Redis has accepted."""
        count = min(most, self._next_count())
        entry = outcomes.joined(self._waiting[:count])
        try:
            await self._add(entry, prompt=prompt)
        except (redis.RedisError, OSError) as error:
            # Not only a lost connection: a full or read-only server may recover as well.
            log.warning("outcomes.held_back", extra={"reason": type(error).__name__})
            await asyncio.sleep(_RETRY_SECONDS)
            return 0
        # Only accepted outcomes leave; the token refuses a repeat after a lost answer.
        self._keep(self._waiting[:count])
        del self._waiting[:count]
        return count

    async def _add(self, entry: bytes, *, prompt: bool) -> None:
        if not prompt:
            await self._connection.xadd(OUTCOME_STREAM, {"d": entry})
            return
        async with self._connection.pipeline(transaction=True) as pipeline:
            pipeline.xadd(OUTCOME_STREAM, {"d": entry})
            pipeline.lpush(OUTCOME_PROMPT, b"1")
            pipeline.ltrim(OUTCOME_PROMPT, 0, 0)
            await pipeline.execute()
        self._prompt_sent_at = time.monotonic()

    def _keep(self, accepted: list[bytes]) -> None:
        now = time.monotonic()
        self._accepted.extend((now, outcome) for outcome in accepted)
        self._accepted_bytes += sum(map(len, accepted))
        self._forget_old()

    def _forget_old(self) -> None:
        oldest = time.monotonic() - _KEPT_SECONDS
        while self._accepted and (
            self._accepted[0][0] < oldest or self._accepted_bytes > _KEPT_BYTES
        ):
            self._accepted_bytes -= len(self._accepted.popleft()[1])

    def _next_count(self) -> int:
        """Return how many of the oldest outcomes, at least one, an entry may hold."""
        size = 0
        for count, outcome in enumerate(self._waiting[: conf().outcome_batch]):
            size += len(outcome)
            if count and size > _ENTRY_BYTES:
                return count
        return min(len(self._waiting), conf().outcome_batch)
