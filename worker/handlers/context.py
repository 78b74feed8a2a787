"""The first argument of a handler: the facts of its run, its cancel, its progress and its log."""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable
from datetime import datetime
from typing import Any

import orjson

from worker.handlers.frames import Answer, Job

PROGRESS_BYTES = 16 * 1024


class Context:
    """One run of an execution; the first argument of a handler.

    ``scheduled_for`` is the nominal time in UTC. ``last_progress`` is the last progress of the
    attempt before, None when there is none. ``log`` writes to the captured log.
    """

    def __init__(self, job: Job, say: Callable[[Answer], None]) -> None:
        self.execution_id: str = job["execution_id"]
        self.task_id: str = job["task_id"]
        self.attempt: int = job["attempt"]
        self.scheduled_for = datetime.fromisoformat(job["scheduled_for"])
        self.payload: Any = job["payload"]
        self.last_progress: Any = job["last_progress"]
        self.log = logging.getLogger(f"handler.{job['handler']}")
        self._say = say
        self._cancelled = threading.Event()

    @property
    def cancelled(self) -> bool:
        """Whether the run has been asked to end; it is killed when its grace is over."""
        return self._cancelled.is_set()

    def wait(self, seconds: float) -> bool:
        """Wait for ``seconds``, or until the run is asked to end; return whether it is."""
        return self._cancelled.wait(seconds)

    def progress(self, value: Any) -> None:
        """Store a checkpoint: shown while the run lasts, and given to the next attempt.

        TypeError when the value is no JSON, ValueError when it takes more than 16 KiB.
        """
        size = len(orjson.dumps(value))
        if size > PROGRESS_BYTES:
            raise ValueError(f"progress of {size} bytes; at most {PROGRESS_BYTES} are kept")
        self._say({"verb": "progress", "value": value})

    def cancel(self) -> None:
        """Ask the run to end; called by the process that hosts it."""
        self._cancelled.set()
