"""Reads the body of an answer whose head was read leniently, in pieces of any size.

Sizes of chunks are strict: hexadecimal digits, CRLF after them and after the data. Extensions and
trailers are left out.
"""

from __future__ import annotations

import re
from collections.abc import Callable

from delivery.lenient_head import CHUNKED, UNTIL_CLOSE, end_of_head, invalid

#: A size of at most 64 bits; a semicolon begins an extension.
_SIZE_LINE = re.compile(rb"([0-9A-Fa-f]{1,16})[ \t]*(?:;[^\x00-\x08\x0a-\x1f\x7f]*)?\r\n")
#: Longer lines are an attack: no extension is known to anyone.
_MAX_LINE_BYTES = 16 * 1024

Take = Callable[[bytes], None]


class BodyReader:
    """One body; ``ended`` is set with its last byte."""

    __slots__ = ("_in_trailers", "_left", "_pending", "_take", "chunked", "ended", "until_close")

    def __init__(self, framing: int, take: Take) -> None:
        self.chunked = framing == CHUNKED
        self.until_close = framing == UNTIL_CLOSE
        self.ended = framing == 0
        self._take = take
        #: Of the body, or of the chunk under way, whose CRLF counts as two more.
        self._left = max(framing, 0)
        self._pending = b""
        self._in_trailers = False

    def feed(self, data: bytes) -> None:
        """Hand over the part of the body that the data has."""
        if self.chunked:
            self._feed_chunks(data)
        elif self.until_close:
            self._take(data)
        elif not self.ended:
            piece = data[: self._left]
            self._left -= len(piece)
            self.ended = not self._left
            self._take(piece)

    def _feed_chunks(self, data: bytes) -> None:
        data, self._pending, at = self._pending + data, b"", 0
        while at < len(data) and not self._in_trailers:
            at = self._read_chunk(data, at) if self._left else self._read_size(data, at)
        if self._in_trailers:
            self.ended = end_of_head(data, at) >= 0
            self._pending = data[max(at, len(data) - 2) :]

    def _read_chunk(self, data: bytes, at: int) -> int:
        if self._left > 2:
            piece = data[at : at + self._left - 2]
            self._left -= len(piece)
            self._take(piece)
            return at + len(piece)
        if data[at] != b"\n\r"[self._left - 1]:
            raise invalid("The answer has a chunk that is longer than its size.")
        self._left -= 1
        return at + 1

    def _read_size(self, data: bytes, at: int) -> int:
        line_end = data.find(b"\n", at)
        if (line_end if line_end >= 0 else len(data)) - at > _MAX_LINE_BYTES:
            raise invalid("The answer has too many bytes around its body.")
        if line_end < 0:
            self._pending = data[at:]
            return len(data)
        found = _SIZE_LINE.fullmatch(data, at, line_end + 1)
        if found is None:
            raise invalid("The answer has a chunk without a size.")
        size = int(found[1], 16)
        if size:
            self._left = size + 2
            return line_end + 1
        # The end of this line begins the empty line that ends the trailers.
        self._in_trailers = True
        return line_end
