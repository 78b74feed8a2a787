"""Outcomes on their way to the recorders: gathered for a few milliseconds, kept until accepted.

While Redis is away nothing is lost from a live worker: outcomes wait here and are sent again.
"""

from __future__ import annotations

import asyncio
import logging
from typing import Any

import orjson
import redis
import redis.asyncio

from shared.conf import conf
from shared.redis_client import OUTCOME_STREAM

log = logging.getLogger(__name__)

_RETRY_SECONDS = 0.2
#: Captured answers make outcomes large; recorders read many entries at once.
_ENTRY_BYTES = 1024 * 1024


class Outbox:
    """One worker's buffer before the outcome stream; lives on the worker's event loop."""

    def __init__(self, connection: redis.asyncio.Redis) -> None:
        self._connection = connection
        self._waiting: list[bytes] = []
        self._wake = asyncio.Event()
        self._empty = asyncio.Event()
        self._empty.set()

    def put(self, outcome: dict[str, Any]) -> None:
        """Add an outcome; it is sent within milliseconds."""
        self._waiting.append(orjson.dumps(outcome))
        self._empty.clear()
        self._wake.set()

    def __len__(self) -> int:
        return len(self._waiting)

    async def run(self) -> None:
        """Send what comes, until cancelled."""
        while True:
            await self._wake.wait()
            await asyncio.sleep(conf().outcome_flush_seconds)
            self._wake.clear()
            while self._waiting:
                await self._send()
            self._empty.set()

    async def flushed(self) -> None:
        """Wait until everything that was put has been accepted by Redis."""
        await self._empty.wait()

    async def _send(self) -> None:
        count = self._next_count()
        entry = b'{"outcomes":[' + b",".join(self._waiting[:count]) + b"]}"
        try:
            await self._connection.xadd(OUTCOME_STREAM, {"d": entry})
        except (redis.RedisError, OSError) as error:
            # Also what is no loss of the connection: a full or read-only server may recover.
            log.warning("outcomes_wait_for_redis", extra={"reason": type(error).__name__})
            await asyncio.sleep(_RETRY_SECONDS)
            return
        # Only what was accepted leaves; a repeat after a lost answer is refused by its token.
        del self._waiting[:count]

    def _next_count(self) -> int:
        """Return how many of the oldest outcomes, at least one, an entry may hold."""
        size = 0
        for count, outcome in enumerate(self._waiting[: conf().outcome_batch]):
            size += len(outcome)
            if count and size > _ENTRY_BYTES:
                return count
        return min(len(self._waiting), conf().outcome_batch)
