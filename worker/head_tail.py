"""Output of unknown length in bounded memory: its beginning and its end are kept."""

from __future__ import annotations


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

    def kept(self) -> bytes:
        """Return the kept output; a line between its halves gives the bytes that are left out."""
        if not self.truncated:
            return bytes(self._head + self._tail)
        self._cut()
        left_out = self.seen - self._head_limit - self._tail_limit
        return bytes(self._head) + f"\n... {left_out} bytes left out ...\n".encode() + self._tail

    def _cut(self) -> None:
        del self._tail[: max(0, len(self._tail) - self._tail_limit)]
