"""The output of a child process, read as it comes, on the worker's event loop.

A pipe of our own: asyncio's would let a grandchild that keeps it open hide the child's exit. The
pipe hands on at once what it reads, so that no child waits for its reader.
"""

from __future__ import annotations

import asyncio
import os
from collections.abc import Callable

_READ_BYTES = 64 * 1024
#: More than a pipe can hold: the drain does not wait for a process that goes on writing.
_DRAIN_READS = 32


class OutputPipe:
    """One pipe; give ``writable`` to the child, then call :meth:`child_has_it`."""

    def __init__(self, take: Callable[[bytes], None]) -> None:
        self._take = take
        self._loop = asyncio.get_running_loop()
        self._readable, self.writable = os.pipe()
        os.set_blocking(self._readable, False)
        self._loop.add_reader(self._readable, self._read)
        self._closed = False
        #: Set when no process can write any more, or by :meth:`close`.
        self.ended = asyncio.Event()

    def child_has_it(self) -> None:
        """Close our own copy of the writing end, or the end would never be seen."""
        if self.writable >= 0:
            os.close(self.writable)
            self.writable = -1

    def drain(self) -> None:
        """Take what has been written up to now."""
        for _ in range(_DRAIN_READS):
            if self._closed or not self._read():
                return

    def close(self) -> None:
        """Stop reading; a writer that is left gets a broken pipe."""
        self.child_has_it()
        if not self._closed:
            self._closed = True
            self._loop.remove_reader(self._readable)
            os.close(self._readable)
            self.ended.set()

    def _read(self) -> bool:
        try:
            data = os.read(self._readable, _READ_BYTES)
        except BlockingIOError:
            return False
        if data:
            self._take(data)
        else:
            self.close()
        return bool(data)
