"""The clocks: the database's decides, Redis' is the one that workers can see.

Every conversion errs on the late side by the time a question takes (under a millisecond), so
that no execution starts early by the database's clock.
"""

from __future__ import annotations

import logging
import time
from collections import deque
from datetime import UTC, datetime
from typing import cast

from shared.redis_client import client
from shared.sql import rows

log = logging.getLogger(__name__)

_SAMPLES = 8
#: Clocks that drift apart faster than this between two measurements have been set.
_SET_SECONDS = 0.01


class ClockOffset:
    """Redis time minus database time, as an upper bound; measured again every few seconds.

    The tightest of the last bounds is used. One that they contradict says that a clock was set:
    then only it counts, lest executions start early by as much.
    """

    def __init__(self, interval_seconds: float = 5.0) -> None:
        self._interval = interval_seconds
        self._bounds: deque[float] = deque(maxlen=_SAMPLES)
        self._measured_at = float("-inf")

    def seconds(self) -> float:
        """Return the offset; measure when the last measurement is old.

        Raise what the database or Redis raise when they cannot be asked.
        """
        if time.monotonic() - self._measured_at > self._interval:
            for _ in range(1 if self._bounds else _SAMPLES):
                self._add(*self._measure())
            self._measured_at = time.monotonic()
        return min(self._bounds)

    def _add(self, lowest: float, highest: float) -> None:
        if self._bounds and lowest > min(self._bounds) + _SET_SECONDS:
            log.warning("clock_was_set", extra={"by_at_least": lowest - min(self._bounds)})
            self._bounds.clear()
        self._bounds.append(highest)

    @staticmethod
    def _measure() -> tuple[float, float]:
        """Return bounds of the offset: the two answers took a time that cannot be divided."""
        before = time.monotonic()
        database = cast(datetime, rows("leases/database_time")[0][0]).timestamp()
        stamp = client().time()
        after = time.monotonic()
        highest = stamp[0] + stamp[1] / 1e6 - database
        return highest - (after - before), highest


def database_now() -> datetime:
    """Return the database's clock."""
    return cast(datetime, rows("leases/database_time")[0][0])


def from_epoch(seconds: float) -> datetime:
    """Return the aware UTC datetime of a Unix time in seconds."""
    return datetime.fromtimestamp(seconds, UTC)
