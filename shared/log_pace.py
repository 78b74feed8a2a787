"""How often a process logs what a storm of calls repeats."""

from __future__ import annotations

import threading
from collections.abc import Hashable
from time import monotonic

#: One cause has at most one line in this many seconds.
SECONDS = 10.0
#: Causes that are remembered.
_MOST = 10_000


class Pace:
    """Tells whether the line about a cause is due; each process keeps a pace of its own."""

    def __init__(self) -> None:
        self._last: dict[Hashable, float] = {}
        self._lock = threading.Lock()

    def is_due(self, cause: Hashable) -> bool:
        """Return True once in ten seconds for each cause."""
        now = monotonic()
        with self._lock:
            if now - self._last.get(cause, float("-inf")) < SECONDS:
                return False
            if len(self._last) >= _MOST:
                self._last.clear()
            self._last[cause] = now
        return True
