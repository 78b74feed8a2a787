"""One connection to a receiver: writes a request, reads its response, keeps the deadline.

Opened by the connector, driven by the HTTP client, kept by the idle pool. At most one exchange
at a time; it always ends: with a response, an error or the deadline. A connection that did
anything unexpected is closed and never used again.
"""

from __future__ import annotations

import asyncio
import select
import socket
import ssl
import struct
from time import perf_counter
from typing import cast

from delivery.errors import DeliveryError
from delivery.http_parser import ResponseReader

#: Scheme, host, port, and the identity of the route; empty for the default way.
Key = tuple[str, str, int, str]

#: Seconds by which a timer may be early or late: uvloop rounds to milliseconds.
_TICK = 0.002
_NO_LINGER = struct.pack("ii", 1, 0)


def milliseconds(seconds: float) -> float:
    """Return a measured duration as timings have it: milliseconds with three decimals."""
    # ``round`` with digits goes by way of the number's text.
    return int(seconds * 1_000_000 + 0.5) / 1000


class Connection(asyncio.Protocol):
    """A transport to one checked address, usable for requests to ``key``."""

    __slots__ = (
        "_capture_bytes",
        "_closed",
        "_deadline",
        "_expects_body",
        "_loop",
        "_poll",
        "_reader",
        "_timer",
        "_transport",
        "_waiter",
        "address",
        "first_byte_at",
        "idle_since",
        "key",
    )

    def __init__(self, loop: asyncio.AbstractEventLoop, key: Key, address: str) -> None:
        self.key = key
        self.address = address
        self.idle_since = 0.0
        #: By ``perf_counter``; zero until an answer begins.
        self.first_byte_at = 0.0
        self._loop = loop
        self._closed = False
        self._capture_bytes = 0
        self._expects_body = True
        self._deadline = 0.0
        #: Of the descriptor: anything to read.
        self._poll: select.poll | None = None
        #: Made with the first byte, so that a crowd of waiting requests stays small.
        self._reader: ResponseReader | None = None
        self._timer: asyncio.TimerHandle | None = None
        self._transport: asyncio.Transport | None = None
        self._waiter: asyncio.Future[ResponseReader] | None = None

    @property
    def usable(self) -> bool:
        """Whether a request may be written."""
        return not (self._closed or self._transport is None or self._transport.is_closing())

    @property
    def transport(self) -> asyncio.Transport:
        """The transport; ConnectionError once it is gone."""
        if self._transport is None:
            raise ConnectionResetError("the connection is closed")
        return self._transport

    def exchange(
        self, data: bytes, capture_bytes: int, *, expects_body: bool, deadline: float
    ) -> asyncio.Future[ResponseReader]:
        """Send a request; the future ends with the read response or a DeliveryError."""
        waiter: asyncio.Future[ResponseReader] = self._loop.create_future()
        self._waiter = waiter
        self.first_byte_at = 0.0
        self._capture_bytes = capture_bytes
        self._expects_body = expects_body
        self._arm(deadline)
        self.transport.write(data)
        return waiter

    def is_quiet(self) -> bool:
        """Return whether nothing has arrived since the last answer, not even the end.

        Asked right before a kept connection is used again: an end that the loop has not seen
        yet proves that the next request was never processed, so another connection may take
        it. Unrequested bytes must not become its answer.
        """
        if not self.usable or self._poll is None:
            return False
        return not self._poll.poll(0)

    def is_drained(self) -> bool:
        """Return whether the whole request has left; an early answer may come before that."""
        return self._transport is not None and self._transport.get_write_buffer_size() == 0

    def forget_answer(self) -> None:
        """Treat the next bytes as a new answer: the exchange with the proxy is over."""
        self.first_byte_at = 0.0
        if self._reader is not None:
            self._reader.detach()
            self._reader = None

    def close(self) -> None:
        """Drop the connection at once; a pending exchange is left to its caller."""
        self._closed = True
        if self._waiter is not None:
            self._discard_unsent()
        self._waiter = None
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
        if self._transport is not None:
            # close() would wait for unsent bytes and, with TLS, for the receiver's goodbye.
            self._transport.abort()
            self._transport = None
        if self._reader is not None:
            self._reader.detach()
            self._reader = None

    def _arm(self, deadline: float) -> None:
        """Keep one timer over many requests: re-arming is dearer than an early wake-up."""
        self._deadline = deadline
        if self._timer is not None:
            if self._timer.when() <= deadline + _TICK:
                return
            self._timer.cancel()
        self._timer = self._loop.call_at(deadline, self._on_timer)

    def _on_timer(self) -> None:
        self._timer = None
        if self._waiter is None:
            return
        if self._deadline - self._loop.time() > _TICK:
            self._timer = self._loop.call_at(self._deadline, self._on_timer)
            return
        self._fail(DeliveryError("timeout_total", "The answer was not complete in time."))

    def _succeed(self, reader: ResponseReader) -> None:
        waiter, self._waiter = self._waiter, None
        if waiter is not None and not waiter.done():
            waiter.set_result(reader)

    def _fail(self, error: DeliveryError) -> None:
        waiter, self._waiter = self._waiter, None
        if waiter is not None and not waiter.done():
            waiter.set_exception(error)
        self._discard_unsent()
        self.close()

    def _discard_unsent(self) -> None:
        """Make the kernel drop unsent bytes, and reset the connection at once.

        It would go on sending for minutes: a request that was given up would arrive after the one
        that was made in its place.
        """
        # A transport that is closing may have no descriptor any more, or one of another socket.
        if self._transport is None or self._transport.is_closing():
            return
        raw = self._transport.get_extra_info("socket")
        if raw is not None:
            raw.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, _NO_LINGER)

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Take the transport; with TLS a second time, for the encrypted one."""
        # uvloop's transports do not inherit from asyncio's.
        self._transport = cast(asyncio.Transport, transport)
        raw = transport.get_extra_info("socket")
        if raw is not None:
            self._poll = select.poll()
            self._poll.register(raw.fileno(), select.POLLIN)

    def data_received(self, data: bytes) -> None:
        """Feed the response; unrequested bytes end the connection."""
        if self._waiter is None:
            self.close()
            return
        reader = self._reader if self.first_byte_at else self._begin()
        assert reader is not None  # noqa: S101 - only close() drops it, with the waiter
        try:
            complete = reader.feed(data)
        except DeliveryError as error:
            self._fail(error)
            return
        if complete:
            self._succeed(reader)

    def _begin(self) -> ResponseReader:
        self.first_byte_at = perf_counter()
        reader = self._reader
        if reader is None:
            reader = self._reader = ResponseReader()
        reader.begin(self._capture_bytes, expects_body=self._expects_body)
        return reader

    def eof_received(self) -> None:
        """Judge a receiver that has closed its side: it will send nothing further."""
        self._end(None)

    def connection_lost(self, exc: Exception | None) -> None:
        """Judge an exchange that the end of the connection cut short."""
        self._end(exc)

    def _end(self, exc: Exception | None) -> None:
        if self._waiter is not None:
            reader = self._reader if self.first_byte_at else None
            if exc is None and reader is not None and reader.finish_at_eof():
                self._succeed(reader)
            else:
                self._fail(_cut_short(exc, started=reader is not None))
        self.close()


def _cut_short(exc: Exception | None, *, started: bool) -> DeliveryError:
    if isinstance(exc, ssl.SSLError):
        return DeliveryError("tls_failed", f"TLS failed: {exc}")
    if exc is None and started:
        return DeliveryError("response_invalid", "The answer ended before its announced end.")
    if exc is None:
        return DeliveryError("connection_reset", "The receiver closed without an answer.")
    return DeliveryError("connection_reset", "The receiver reset the connection.")
