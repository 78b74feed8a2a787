"""Reads an answer that llhttp refuses, from its first byte on, where a client may read it.

Made by the response reader, which gives it all bytes again and then what follows. The connection
is never used for another request, so no reading of ours takes one answer for a part of the next.
"""

from __future__ import annotations

from delivery.lenient_body import BodyReader, Take
from delivery.lenient_head import (
    MAX_HEADER_BYTES,
    Head,
    end_of_head,
    invalid,
    read_head,
)

#: Some receivers send 102 Processing every few seconds while they work; more is a flood.
MAX_INFORMATIONAL = 100
_BEGIN = b"HTTP/"
#: Statuses without a body, even where their headers announce one.
_BODILESS = (204, 304)


class LenientReader:
    """The reader of one answer; ``take`` gets its body piece by piece."""

    __slots__ = ("_body", "_expects_body", "_heads_bytes", "_informational", "_pending", "_take",
                 "complete", "head")  # fmt: skip

    def __init__(self, take: Take, *, expects_body: bool) -> None:
        self._take = take
        self._expects_body = expects_body
        self._pending = b""
        self._heads_bytes = self._informational = 0
        self._body: BodyReader | None = None
        #: Of the final answer, once it is in.
        self.head: Head | None = None
        self.complete = False

    def feed(self, data: bytes) -> None:
        """Take bytes; DeliveryError ``response_invalid`` when they are no answer."""
        if self._body is None:
            data = self._read_heads(data)
        if self._body is not None and not self.complete:
            self._body.feed(data)
            self.complete = self._body.ended

    def finish_at_eof(self) -> bool:
        """Return whether the end of the connection completes the answer."""
        return self.complete or (self._body is not None and self._body.until_close)

    def _read_heads(self, data: bytes) -> bytes:
        """Read what is there of heads, and return what follows the final one."""
        searched = max(len(self._pending) - 2, 0)
        data, self._pending = self._pending + data, b""
        while self._body is None:
            if data[: len(_BEGIN)] != _BEGIN[: len(data)]:
                raise invalid("The answer is not HTTP/1.1.")
            end = end_of_head(data, searched)
            if self._heads_bytes + (end if end >= 0 else len(data)) > MAX_HEADER_BYTES:
                raise invalid("The answer has too many headers.")
            if end < 0:
                self._pending = data
                break
            self._begin(read_head(data[:end]))
            data, searched = data[end:], 0
            self._heads_bytes += end
        return data

    def _begin(self, head: Head) -> None:
        if head.status < 200:
            self._informational += 1
            if self._informational > MAX_INFORMATIONAL:
                raise invalid("The answer has too many informational responses.")
            return
        self.head = head
        bodiless = not self._expects_body or head.status in _BODILESS
        self._body = BodyReader(0 if bodiless else head.framing, self._take)
        self.complete = self._body.ended
