"""The web server's side of a connection, which closes it where the head of a request does not end.

uvicorn waits for a head without end, in bytes and in time: callers that send a byte now and then
would keep connections open for good. :mod:`api.protocol.body_limit` bounds what follows the head.
"""

from __future__ import annotations

import asyncio
from typing import Any

from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol, RequestResponseCycle

#: From the first byte of a request, or the begin of the connection, to the end of the head.
HEAD_SECONDS = 15.0
#: Bytes of a head after the piece that it began in, beyond which no more of it is read.
MAX_HEAD_BYTES = 128 * 1024


class HeadLimit(HttpToolsProtocol):
    """Closes the connection of a head that is too large or too slow.

    A head that arrives in one piece, as nearly all do, costs no timer. While a request is still
    being answered nothing is cut off: what follows it may wait unread for the answer.
    """

    def __init__(self, *args: Any, **parts: Any) -> None:
        super().__init__(*args, **parts)
        self._in_head, self._is_between = True, False
        self._head_bytes = self._heads = 0
        self._timer: asyncio.TimerHandle | None = None

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]  # as the base class
        """Expect a head within the time."""
        super().connection_made(transport)
        self._expect_head()

    def data_received(self, data: bytes) -> None:
        """Read on, unless the head has become too large."""
        heads, was_between = self._heads, self._is_between
        super().data_received(data)
        if was_between and self._is_between and self._heads == heads:
            # Blank lines before a head: uvicorn has just stopped its own timer for them.
            self._in_head = True
        if not self._in_head:
            self._forget_timer()
            return
        if self._heads == heads:
            # The piece that a head begins in may be of the request before it, for the most part.
            self._head_bytes += len(data)
        if self._head_bytes > MAX_HEAD_BYTES:
            self.transport.abort()
        elif self._timer is None:
            self._expect_head()

    def on_message_begin(self) -> None:
        """Note that a head begins."""
        self._in_head, self._is_between = True, False
        self._head_bytes = 0
        self._heads += 1
        super().on_message_begin()

    def on_headers_complete(self) -> None:
        """Note that the head has ended."""
        self._in_head = False
        super().on_headers_complete()

    def on_message_complete(self) -> None:
        """Note that the next head has not begun."""
        self._is_between, self._head_bytes = True, 0
        super().on_message_complete()

    def connection_lost(self, exc: Exception | None) -> None:
        """Expect nothing any more."""
        self._forget_timer()
        super().connection_lost(exc)

    def _expect_head(self) -> None:
        self._timer = self.loop.call_later(HEAD_SECONDS, self._give_up)

    def _give_up(self) -> None:
        self._timer = None
        if self._is_answering():
            self._expect_head()
        else:
            self.transport.abort()

    def _is_answering(self) -> bool:
        cycle: RequestResponseCycle | None = self.cycle
        return cycle is not None and not cycle.response_complete

    def _forget_timer(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
