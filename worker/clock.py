"""A worker's clock: Redis' time, carried on by the worker's own monotonic clock.

Workers cannot see the database's clock. Every reading is a lower bound of Redis' time, so that
nothing starts early; it trails by the time that Redis' answer took.
"""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Callable

import redis.asyncio

_SAMPLES = 16


class WorkerClock:
    """Reads Redis' time without asking; ``calibrate`` asks."""

    def __init__(self, monotonic: Callable[[], float] = time.monotonic) -> None:
        self._monotonic = monotonic
        self._offsets: deque[float] = deque(maxlen=_SAMPLES)
        self._offset = float("-inf")

    @property
    def calibrated(self) -> bool:
        """Whether Redis has been asked at least once."""
        return bool(self._offsets)

    def now(self) -> float:
        """Return a lower bound of Redis' time in seconds."""
        return self._monotonic() + self._offset

    async def calibrate(self, connection: redis.asyncio.Redis) -> None:
        """Ask Redis for its time; the tightest of the last bounds is used.

        Bounds that the answer contradicts are forgotten: the server's clock was set back, or
        another server answers.
        """
        before = self._monotonic()
        seconds, microseconds = await connection.time()
        stamp = seconds + microseconds / 1e6
        if stamp - before < self._offset:
            self._offsets.clear()
        self._offsets.append(stamp - self._monotonic())
        self._offset = max(self._offsets)
