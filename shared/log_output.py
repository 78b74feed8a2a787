"""Where log lines go: one write for many of them, and no output past them.

A line is written whole, also where processes share a pipe. Lines of one batch are written
together, so that thousands of failures do not cost a system call each.
"""

from __future__ import annotations

import atexit
import io
import logging
import sys
import threading
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from types import TracebackType
from typing import TextIO

log = logging.getLogger("punctual.output")

#: A pipe takes this much at once and never mixes it with the lines of other processes.
_WHOLE = 4096
_gathered: ContextVar[list[str] | None] = ContextVar("gathered", default=None)
_writing = threading.local()


class LineHandler(logging.StreamHandler[TextIO]):
    """Writes lines to stderr, or gathers them within :func:`written_together`."""

    def emit(self, record: logging.LogRecord) -> None:
        """Write the line, or keep it for the end of the batch."""
        gathered = _gathered.get()
        if gathered is None:
            super().emit(record)
            return
        try:
            gathered.append(self.format(record) + self.terminator)
        except Exception:  # noqa: BLE001 - as logging does: a bad line must not stop the work
            self.handleError(record)

    def write_all(self, lines: list[str]) -> None:
        """Write gathered lines in few pieces, no line in two of them unless it is longer."""
        self.acquire()
        try:
            for piece in _pieces(lines):
                self.stream.write(piece)
            self.flush()
        finally:
            self.release()


@contextmanager
def written_together() -> Iterator[None]:
    """Write the lines of the block at its end, together."""
    lines: list[str] = []
    token = _gathered.set(lines)
    try:
        yield
    finally:
        _gathered.reset(token)
        for handler in logging.getLogger().handlers:
            if lines and isinstance(handler, LineHandler):
                handler.write_all(lines)


def take_over() -> None:
    """Turn what this process writes past the log, and its uncaught errors, into log lines.

    For a process that lives long and whose output is collected, not for commands.
    """
    if isinstance(sys.stderr, _Output):
        return
    out, err = _Output(sys.stdout, "stdout"), _Output(sys.stderr, "stderr")
    sys.stdout, sys.stderr = out, err
    # Celery writes some lines there; without a descriptor it cannot.
    sys.__stdout__, sys.__stderr__ = out, err  # type: ignore[misc,assignment]  # what writers need
    for stream in (out, err):
        atexit.register(stream.end)
    sys.excepthook = _end_by
    threading.excepthook = _thread_ended


def real_stderr() -> TextIO:
    """Return the stream that log lines go to, also after :func:`take_over`."""
    stream: TextIO = getattr(sys.stderr, "behind", sys.stderr)
    return stream


class _Output:
    """A text stream whose every line becomes a log line."""

    encoding = "utf-8"
    errors = "backslashreplace"

    def __init__(self, behind: TextIO, source: str) -> None:
        self.behind = behind
        self._source = source
        self._rest = ""
        # Reentrant: a log that cannot be written complains here.
        self._lock = threading.RLock()

    def write(self, text: str) -> int:
        with self._lock:
            *lines, self._rest = (self._rest + text).split("\n")
            for line in lines:
                self._log(line)
        return len(text)

    def writelines(self, lines: Iterable[str]) -> None:
        for line in lines:
            self.write(line)

    def flush(self) -> None:
        """Do nothing: a line is logged once it is complete."""

    def end(self) -> None:
        """Log what has no line break."""
        self.write("\n")

    def isatty(self) -> bool:
        return False

    def writable(self) -> bool:
        return True

    def _log(self, line: str) -> None:
        if not line.strip():
            return
        if getattr(_writing, "now", False):
            # The log itself complains that it cannot write.
            self.behind.write(f"{line}\n")
            return
        _writing.now = True
        try:
            log.info("process.wrote", extra={"source": self._source, "text": line})
        finally:
            _writing.now = False


def _end_by(
    kind: type[BaseException], error: BaseException, traceback: TracebackType | None
) -> None:
    if issubclass(kind, KeyboardInterrupt):
        return
    log.critical("process.crashed", exc_info=(kind, error, traceback))


def _thread_ended(found: threading.ExceptHookArgs) -> None:
    if found.exc_value is None or issubclass(found.exc_type, SystemExit):
        return
    log.critical(
        "thread.crashed",
        extra={"thread_name": found.thread.name if found.thread else ""},
        exc_info=(found.exc_type, found.exc_value, found.exc_traceback),
    )


def _pieces(lines: list[str]) -> Iterator[str]:
    piece = io.StringIO()
    size = 0
    for line in lines:
        bytes_ = len(line.encode(errors="backslashreplace"))
        if size and size + bytes_ > _WHOLE:
            yield piece.getvalue()
            piece, size = io.StringIO(), 0
        piece.write(line)
        size += bytes_
    if size:
        yield piece.getvalue()
