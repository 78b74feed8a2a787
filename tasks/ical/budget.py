"""Bounds the processor time of reading: a timer stops a library at any point of its work.

A rule may have no next day, and a library searches for it for minutes. The timer interrupts it by
an exception that no library catches. For the main thread of a process that reads one file.
"""

from __future__ import annotations

import signal
import time
from collections.abc import Iterator
from contextlib import contextmanager

#: The timer fires repeatedly: an exception that is raised in a destructor is lost.
_AGAIN_SECONDS = 0.05


class TimeSpent(BaseException):
    """The time is spent; not an Exception, which a library may catch."""


class Budget:
    """Processor seconds for a file, and for each event in it."""

    def __init__(self, file_seconds: float, event_seconds: float) -> None:
        self._ends_at = time.process_time() + file_seconds
        self._event_seconds = event_seconds
        self._running = False

    @property
    def spent(self) -> bool:
        """Return whether nothing is left for the file."""
        return time.process_time() >= self._ends_at

    @contextmanager
    def limited(self, *, whole_file: bool = False) -> Iterator[None]:
        """Raise TimeSpent within the block once its time, or that of the file, is spent."""
        left = self._ends_at - time.process_time()
        seconds = left if whole_file else min(left, self._event_seconds)
        if seconds <= 0:
            raise TimeSpent
        before = signal.signal(signal.SIGPROF, self._interrupt)
        self._running = True
        signal.setitimer(signal.ITIMER_PROF, seconds, _AGAIN_SECONDS)
        try:
            yield
        finally:
            self._running = False
            signal.setitimer(signal.ITIMER_PROF, 0)
            signal.signal(signal.SIGPROF, before)

    def _interrupt(self, *_: object) -> None:
        if self._running:
            raise TimeSpent
