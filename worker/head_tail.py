"""Output of unknown length in bounded memory: its beginning and its end are kept."""

from __future__ import annotations

from typing import Protocol


class Mask(Protocol):
    """Masks what must not be kept, also the part of it that is left where something was cut."""

    def __call__(
        self, data: bytes, *, begins_cut: bool = False, ends_cut: bool = False
    ) -> bytes: ...


class HeadTail:
    """Keeps the first and the last half of ``limit`` bytes, and counts what it was given."""

    def __init__(self, limit: int) -> None:
        self._head_limit = limit - limit // 2
        self._tail_limit = limit // 2
        self._head = bytearray()
        self._tail = bytearray()
        self.seen = 0

    def add(self, data: bytes) -> None:
        """Take more output."""
        self.seen += len(data)
        room = self._head_limit - len(self._head)
        if room > 0:
            self._head += data[:room]
            data = data[room:]
        self._tail += data
        # Cut at twice the size only: to cut at every call would copy the tail every time.
        if len(self._tail) > 2 * self._tail_limit:
            self._cut()

    @property
    def truncated(self) -> bool:
        """Whether something between beginning and end is gone."""
        return self.seen > self._head_limit + self._tail_limit

    def kept(self, mask: Mask | None = None) -> bytes:
        """Return the kept output; a line between its halves gives the bytes that are left out."""
        if not self.truncated:
            whole = bytes(self._head + self._tail)
            return whole if mask is None else mask(whole)
        self._cut()
        left_out = self.seen - self._head_limit - self._tail_limit
        head, tail = bytes(self._head), bytes(self._tail)
        if mask is not None:
            head, tail = mask(head, ends_cut=True), mask(tail, begins_cut=True)
        return head + f"\n... {left_out} bytes left out ...\n".encode() + tail

    def _cut(self) -> None:
        del self._tail[: max(0, len(self._tail) - self._tail_limit)]
