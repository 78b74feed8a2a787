"""Progress on its way from a handler to the outcome stream: the newest, at a bounded pace."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any

import orjson

from shared.encryption import seal
from shared.sealing_contexts import progress_context
from wire.messages import Entry
from wire.outcomes import ProgressRow

#: A handler may checkpoint in a tight loop; the ledger is written at most this often.
_EVERY_SECONDS = 0.5


class ProgressReport:
    """Sends the progress of one run; a newer value replaces one that still waits."""

    def __init__(self, entry: Entry, say: Callable[[ProgressRow], None]) -> None:
        self._entry = entry
        self._say = say
        self._loop = asyncio.get_running_loop()
        self._newest: bytes | None = None
        self._timer: asyncio.TimerHandle | None = None

    def put(self, value: Any) -> None:
        """Take a checkpoint; the first is sent at once."""
        self._newest = orjson.dumps(value)
        if self._timer is None:
            self._tell()

    def flush(self) -> None:
        """Send the value that still waits, at the end of the run."""
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
        self._tell_newest()

    def _tell(self) -> None:
        self._timer = None
        if self._tell_newest():
            self._timer = self._loop.call_later(_EVERY_SECONDS, self._tell)

    def _tell_newest(self) -> bool:
        if self._newest is None:
            return False
        context = progress_context(self._entry["tenant"], self._entry["id"])
        self._say(
            {
                "verb": "progress",
                "id": self._entry["id"],
                "token": self._entry["token"],
                "sealed": seal(self._newest, context),
            }
        )
        self._newest = None
        return True
