"""The clocks: the database's decides, Redis' is the one that workers can see.

Every conversion errs on the late side by the time of one query (under a millisecond), so that no
execution starts early by the database's clock.
"""

from __future__ import annotations

import logging
import time
from collections import deque
from datetime import UTC, datetime
from typing import cast

from shared.redis_client import client
from shared.sql import rows

log = logging.getLogger("executions.engine.clocks")

_SAMPLES = 8
#: Clocks that drift apart faster than this between two measurements have been set.
_SET_SECONDS = 0.01


class ClockOffset:
    """Redis time minus database time, between two bounds; measured again every few seconds.

    The tightest of the last bounds are used. A measurement that contradicts them shows that a clock
    was set: then only it counts, because executions could start early by as much.
    """

    def __init__(self, interval_seconds: float = 5.0) -> None:
        self._interval = interval_seconds
        #: Lower and upper bound of each measurement.
        self._bounds: deque[tuple[float, float]] = deque(maxlen=_SAMPLES)
        self._measured_at = float("-inf")

    def at_most(self) -> float:
        """Return an upper bound: added to a database time it gives a Redis time, never too early.

        Measure when the last measurement is old. Raise the errors of the database or Redis when
        they cannot be asked.
        """
        self._refresh()
        return min(bound for _, bound in self._bounds)

    def at_least(self) -> float:
        """Return a lower bound: a Redis time less it is a database time, never too early.

        With the upper bound, work that started at its due time would be recorded as early by as
        much as two processes' bounds differ. Measures and raises as :meth:`at_most`.
        """
        self._refresh()
        # Clocks that drift apart slowly can leave a lower bound above an upper one.
        highest = min(bound for _, bound in self._bounds)
        return min(highest, max(bound for bound, _ in self._bounds))

    def _refresh(self) -> None:
        if time.monotonic() - self._measured_at > self._interval:
            for _ in range(1 if self._bounds else _SAMPLES):
                self._add(*self._measure())
            self._measured_at = time.monotonic()

    def _add(self, lowest: float, highest: float) -> None:
        if self._bounds:
            ahead = lowest - min(bound for _, bound in self._bounds)
            behind = max(bound for bound, _ in self._bounds) - highest
            if max(ahead, behind) > _SET_SECONDS:
                log.warning("clock.set", extra={"seconds": max(ahead, behind)})
                self._bounds.clear()
        self._bounds.append((lowest, highest))

    @staticmethod
    def _measure() -> tuple[float, float]:
        """Return bounds of the offset: ask Redis before the database, and again after it."""
        before = _redis_time()
        database = cast(datetime, rows("leases/database_time")[0][0]).timestamp()
        return before - database, _redis_time() - database


def _redis_time() -> float:
    seconds, microseconds = client().time()
    return float(seconds + microseconds / 1e6)


def database_now() -> datetime:
    """Return the database's clock."""
    return cast(datetime, rows("leases/database_time")[0][0])


def from_epoch(seconds: float) -> datetime:
    """Return the aware UTC datetime of a Unix time in seconds."""
    return datetime.fromtimestamp(seconds, UTC)
