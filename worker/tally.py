"""Counts the attempts that ended in a worker, in all and by minute, for its heartbeats."""

from __future__ import annotations

from collections.abc import Callable

_MINUTE_SECONDS = 60
#: A heartbeat carries the counts of this many minutes, so that a lost one costs nothing.
_TOLD_MINUTES = 5


class Tally:
    """Attempts that ended, by minute of ``now`` (seconds since 1970, on Redis' clock)."""

    def __init__(self, now: Callable[[], float]) -> None:
        self.total = 0
        self._now = now
        self._minutes: dict[int, int] = {}

    def add(self) -> None:
        """Count one attempt that ends now."""
        minute = self._minute()
        self.total += 1
        self._minutes[minute] = self._minutes.get(minute, 0) + 1
        if len(self._minutes) > _TOLD_MINUTES:
            self._forget(minute)

    def by_minute(self) -> dict[str, int]:
        """Return the counts of the last minutes by their number since 1970, as JSON keys."""
        self._forget(self._minute())
        return {str(minute): count for minute, count in self._minutes.items()}

    def _minute(self) -> int:
        return int(self._now() // _MINUTE_SECONDS)

    def _forget(self, current: int) -> None:
        for minute in [one for one in self._minutes if one <= current - _TOLD_MINUTES]:
            del self._minutes[minute]
