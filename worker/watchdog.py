"""Ends a worker process whose event loop has stopped turning: never a silent half-dead worker.

Used by the worker's loop. A thread of its own checks a few times a minute whether the loop has
answered since the last checks. A process that was suspended as a whole is not mistaken for stuck.
"""

from __future__ import annotations

import logging
import os
import signal
import threading
from collections.abc import Callable

log = logging.getLogger("executions.workers.watchdog")

#: EX_SOFTWARE of sysexits.h: an internal fault.
_FAULT = 70


def end_at_once() -> None:
    """End the process at once; leases and heartbeats show its loss."""
    os._exit(_FAULT)


def stop_process(grace_seconds: float = 60.0) -> None:
    """Stop this process in order, and at once when that takes longer than the grace."""
    timer = threading.Timer(grace_seconds, end_at_once)
    timer.daemon = True
    timer.start()
    os.kill(os.getpid(), signal.SIGTERM)


class Watchdog:
    """Calls ``give_up`` when :meth:`answer` was not called for ``looks`` looks in a row."""

    def __init__(
        self,
        give_up: Callable[[], None] = end_at_once,
        *,
        every_seconds: float = 5.0,
        looks: int = 6,
    ) -> None:
        self._give_up = give_up
        self._every = every_seconds
        self._looks = looks
        self._unanswered = 0
        self._stopped = threading.Event()
        self._thread = threading.Thread(target=self._watch, name="watchdog", daemon=True)

    def start(self) -> None:
        """Start the checks."""
        self._thread.start()

    def answer(self) -> None:
        """Note that the loop turns; called from the loop."""
        self._unanswered = 0

    def stop(self) -> None:
        """Stop the checks."""
        self._stopped.set()

    def _watch(self) -> None:
        # Looks are counted, not seconds: while the whole process is suspended, none happens.
        while not self._stopped.wait(self._every):
            self._unanswered += 1
            if self._unanswered >= self._looks:
                log.critical("worker_loop.stuck", extra={"looks": self._unanswered})
                self._give_up()
                return
