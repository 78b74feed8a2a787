"""One connection of the test receiver: HTTP/1.1 with keep-alive and pipelining.

Parses requests, hands them to the receiver one after another and sends the answers in order:
at once, later, byte by byte, as fast as they are read, or never. Bounds head, body and the queue of
requests.
"""

from __future__ import annotations

import asyncio
import time
from collections import deque
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Protocol, cast

import httptools

from receiver.messages import (
    Answer,
    Request,
    Stream,
    answer_json,
    framed_pieces,
    render,
)

MAX_BODY = 4 * 1024 * 1024
MAX_HEAD = 64 * 1024
#: Pipelined requests that wait on one connection before reading from it stops.
MAX_WAITING = 100


class Owner(Protocol):
    """The parts of a receiver that a connection needs."""

    stopping: bool

    def opened(self, connection: Connection) -> None:
        """Count a connection that was made."""

    def closed(self, connection: Connection) -> None:
        """Forget a connection that was lost."""

    def take(self, request: Request, reply: Callable[[Answer], None]) -> None:
        """Record the request and reply, now or later."""


class Connection(asyncio.Protocol):
    """One connection: parses, queues pipelined requests, answers them in order."""

    def __init__(self, owner: Owner) -> None:
        self._owner = owner
        self._waiting: deque[tuple[Request, bool]] = deque()
        self._busy = self._in_loop = self._write_paused = self._read_paused = False
        self._last = False
        self._timer: asyncio.TimerHandle | None = None
        self._pieces: Iterator[bytes] | None = None
        self._keep_after_stream = False
        self._refusal = 0
        self._in_head = self._head_began = False
        self._begin()

    # --- transport -----------------------------------------------------------------------
    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        # The transports of uvloop are no subclasses of asyncio.Transport.
        self._transport = cast(asyncio.Transport, transport)
        self._parser = httptools.HttpRequestParser(self)
        self._owner.opened(self)

    def connection_lost(self, exc: Exception | None) -> None:
        if self._timer:
            self._timer.cancel()
        self._waiting.clear()
        self._pieces = None
        self._last = True
        self._owner.closed(self)

    def data_received(self, data: bytes) -> None:
        if self._last:
            return
        try:
            self._parser.feed_data(data)
            self._bound_head(len(data))
        except (httptools.HttpParserError, httptools.HttpParserUpgrade):
            self._refuse(self._refusal or 400)

    def _bound_head(self, read_bytes: int) -> None:
        if not self._in_head:
            return
        # The read in which a head began may hold whole requests before it: it does not count.
        self._head_bytes += 0 if self._head_began else read_bytes
        self._head_began = False
        if self._head_bytes > MAX_HEAD:
            self._refuse(431)

    def pause_writing(self) -> None:
        self._write_paused = True

    def resume_writing(self) -> None:
        self._write_paused = False
        if self._pieces is None:
            self._work()
        else:
            self._pour()

    def close_when_idle(self) -> None:
        """Close now, or after the answers that are under way."""
        self._last = True
        if not self._busy and not self._waiting:
            self._transport.close()

    def abort(self) -> None:
        """Close at once."""
        self._transport.abort()

    # --- parser --------------------------------------------------------------------------
    def _begin(self) -> None:
        self._url = b""
        self._headers: list[tuple[str, str]] = []
        self._body: list[bytes] = []
        self._body_bytes = self._head_bytes = self._wall_ns = self._monotonic_ns = 0
        self._in_head = self._head_began = False

    def on_message_begin(self) -> None:
        self._begin()
        self._in_head = self._head_began = True
        self._wall_ns, self._monotonic_ns = time.time_ns(), time.monotonic_ns()

    def on_url(self, url: bytes) -> None:
        self._url += url

    def on_header(self, name: bytes, value: bytes) -> None:
        self._headers.append((name.decode("latin-1").lower(), value.decode("latin-1")))
        if len(self._headers) > 200:
            self._refusal = 431
            raise ValueError("too many headers")

    def on_headers_complete(self) -> None:
        self._in_head = False
        if ("expect", "100-continue") in self._headers and not self._busy:
            self._transport.write(b"HTTP/1.1 100 Continue\r\n\r\n")

    def on_body(self, body: bytes) -> None:
        self._body_bytes += len(body)
        if self._body_bytes > MAX_BODY:
            self._refusal = 413
            raise ValueError("body too large")
        self._body.append(body)

    def on_message_complete(self) -> None:
        request = Request(
            self._parser.get_method().decode("latin-1"),
            self._url.decode("latin-1"),
            tuple(self._headers),
            b"".join(self._body),
            self._wall_ns,
            self._monotonic_ns,
        )
        self._waiting.append((request, self._parser.should_keep_alive()))
        if len(self._waiting) > MAX_WAITING and not self._read_paused:
            self._read_paused = True
            self._transport.pause_reading()
        self._work()

    # --- answers -------------------------------------------------------------------------
    def _refuse(self, status: int) -> None:
        self._last = True
        if self._busy or self._waiting:
            return
        answer = answer_json(status, {"error": "request refused"})
        head, body = render(answer, keep_alive=False, head_only=False)
        self._transport.write(head + body)
        self._transport.close()

    def _work(self) -> None:
        # A loop instead of recursion: one read may hold thousands of pipelined requests.
        if self._in_loop:
            return
        self._in_loop = True
        while self._waiting and not self._busy and not self._write_paused:
            request, keep_alive = self._waiting.popleft()
            self._busy = True
            self._owner.take(request, _Reply(self, request.method == "HEAD", keep_alive))
        self._in_loop = False
        if self._read_paused and len(self._waiting) < MAX_WAITING // 2 and not self._last:
            self._read_paused = False
            self._transport.resume_reading()
        if self._last and not self._waiting and not self._busy:
            self._transport.close()

    def reply(self, answer: Answer, head_only: bool, keep_alive: bool) -> None:
        """Send the answer when its delay is over; never when it has no status."""
        if answer.hang_up:
            self._transport.abort()
            return
        if answer.status is None or self._transport.is_closing():
            return
        if not answer.delay_ms:
            self._send(answer, head_only, keep_alive)
            return
        self._timer = asyncio.get_running_loop().call_later(
            answer.delay_ms / 1000, self._send, answer, head_only, keep_alive
        )

    def _send(self, answer: Answer, head_only: bool, keep_alive: bool) -> None:
        keep_alive = keep_alive and answer.keeps_open and not self._owner.stopping
        head, body = render(answer, keep_alive=keep_alive, head_only=head_only)
        if answer.drip_ms and body:
            self._transport.write(head)
            self._drip(body, answer.drip_ms / 1000, keep_alive)
        elif answer.stream and not head_only:
            self._transport.write(head)
            self._begin_stream(answer.stream, keep_alive)
        else:
            self._transport.write(head + body)
            self._sent(keep_alive)

    def _drip(self, rest: bytes, pause: float, keep_alive: bool) -> None:
        self._transport.write(rest[:1])
        if len(rest) == 1:
            self._sent(keep_alive)
            return
        self._timer = asyncio.get_running_loop().call_later(
            pause, self._drip, rest[1:], pause, keep_alive
        )

    def _begin_stream(self, stream: Stream, keep_alive: bool) -> None:
        self._pieces = framed_pieces(stream)
        self._keep_after_stream = keep_alive
        self._pour()

    def _pour(self) -> None:
        """Write one piece and give way to others; stop while the client reads slower."""
        self._timer = None
        if self._pieces is None or self._write_paused or self._transport.is_closing():
            return
        piece = next(self._pieces, None)
        if piece is None:
            self._pieces = None
            self._sent(self._keep_after_stream)
            return
        self._transport.write(piece)
        # Not in a loop: a client as fast as this process would stop all other answers.
        self._timer = asyncio.get_running_loop().call_later(0, self._pour)

    def _sent(self, keep_alive: bool) -> None:
        self._busy = False
        self._timer = None
        if not keep_alive:
            self._last = True
            self._waiting.clear()
        self._work()


@dataclass(frozen=True, slots=True)
class _Reply:
    connection: Connection
    head_only: bool
    keep_alive: bool

    def __call__(self, answer: Answer) -> None:
        self.connection.reply(answer, self.head_only, self.keep_alive)
