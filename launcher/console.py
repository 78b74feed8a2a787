"""Where ``up`` writes: prefixed log lines of every process, and the readiness table.

Used by the supervisor. A thread of its own does the writing, so that a terminal or a pipe
that takes nothing can hold up neither the supervisor nor the processes whose output it reads;
lines beyond the buffer are dropped and counted.
"""

from __future__ import annotations

import contextlib
import os
import queue
import threading
import zlib
from typing import TextIO

import orjson

from shared.logs import line_of_output

MAX_WAITING_LINES = 10_000
_COLOURS = (36, 33, 32, 35, 34, 96, 93, 92, 95, 94)


class Console:
    """Writes lines ``name | text``, coloured only on a terminal and without NO_COLOR.

    With ``json`` it passes log lines on as they are, and turns other output into log lines.
    """

    def __init__(self, stream: TextIO, width: int = 15, *, json: bool = False) -> None:
        self._stream = stream
        self._width = width
        self._json = json
        self._coloured = stream.isatty() and not os.environ.get("NO_COLOR")
        self._waiting: queue.Queue[str | None] = queue.Queue(MAX_WAITING_LINES)
        self._dropped = 0
        self._thread = threading.Thread(target=self._write_all, name="console", daemon=True)
        self._thread.start()

    def log(self, name: str, line: str) -> None:
        """Write one line under the name of its process; never wait."""
        try:
            self._waiting.put_nowait(self._line(name, line))
        except queue.Full:
            self._dropped += 1

    def _line(self, name: str, line: str) -> str:
        if self._json:
            return f"{line if _is_log_line(line) else line_of_output(name, line)}\n"
        prefix = f"{name:<{self._width}} |"
        if self._coloured:
            colour = _COLOURS[zlib.crc32(name.encode()) % len(_COLOURS)]
            prefix = f"\x1b[{colour}m{prefix}\x1b[0m"
        return f"{prefix} {line}\n"

    def close(self, timeout: float = 2.0) -> None:
        """Write what waits, for at most ``timeout`` seconds."""
        if self._thread.is_alive():
            with contextlib.suppress(queue.Full):
                self._waiting.put(None, timeout=timeout)
                self._thread.join(timeout)

    def _write_all(self) -> None:
        while (line := self._waiting.get()) is not None:
            if self._dropped and self._waiting.empty():
                line += self._line("supervisor", f"{self._dropped} lines were dropped")
                self._dropped = 0
            # The reader of our output may go away; the processes must run on without it.
            with contextlib.suppress(OSError, ValueError):
                self._stream.write(line)
                self._stream.flush()


def _is_log_line(line: str) -> bool:
    if not line.startswith("{"):
        return False
    try:
        found = orjson.loads(line)
    except orjson.JSONDecodeError:
        return False
    return isinstance(found, dict) and "event" in found
