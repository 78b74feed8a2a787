"""Progress of long work on stderr: a bar on a terminal, a line per tenth of it elsewhere.

Commands use it while they work through many rows; data on stdout is never touched. The bar is
redrawn ten times a second at most.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Protocol

_BAR = 24
_DRAW_SECONDS = 0.1
_STEPS = 10


class Screen(Protocol):
    """The stream that progress is written to: stderr, or a substitute."""

    def write(self, text: str, /) -> object: ...
    def flush(self) -> object: ...
    def isatty(self) -> bool: ...


class Progress:
    """How far the work is; made by :func:`progress`."""

    def __init__(self, label: str, total: int, stream: Screen) -> None:
        self._label = label
        self._total = total
        self._stream = stream
        self._bar = stream.isatty()
        self._step = 0
        self._drawn_at = float("-inf")
        self._width = 0
        self._last = (0, "")

    def update(self, done: int, note: str = "") -> None:
        """Show how much is done; ``note`` follows the numbers."""
        self._last = (done, note)
        if self._bar:
            self._draw(final=done >= self._total)
        else:
            self._tell(done, note)

    def close(self) -> None:
        """Draw the last state and go to a new line."""
        if self._bar:
            self._draw(final=True)
            self._stream.write("\n")
            self._stream.flush()

    def _draw(self, *, final: bool) -> None:
        now = time.monotonic()
        if not final and now - self._drawn_at < _DRAW_SECONDS:
            return
        self._drawn_at = now
        done, note = self._last
        filled = _BAR if not self._total else min(_BAR, _BAR * done // self._total)
        bar = "━" * filled + "─" * (_BAR - filled)
        line = f"{self._label} {bar} {done}/{self._total}  {note}".rstrip()
        # A shorter line has to cover the longer one before it.
        self._stream.write("\r" + line.ljust(self._width))
        self._stream.flush()
        self._width = len(line)

    def _tell(self, done: int, note: str) -> None:
        step = _STEPS * done // self._total if self._total else 0
        if step <= self._step:
            return
        self._step = step
        share = 100 * step // _STEPS
        line = f"{self._label} {share} % ({done} of {self._total})  {note}".rstrip()
        self._stream.write(f"{line}\n")
        self._stream.flush()


@contextmanager
def progress(label: str, total: int, stream: Screen | None = None) -> Iterator[Progress]:
    """Show progress while the block runs; ``stream`` is stderr unless given."""
    shown = Progress(label, total, stream if stream is not None else sys.stderr)
    try:
        yield shown
    finally:
        shown.close()
