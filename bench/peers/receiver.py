"""The receiver that every contender calls: answers at once and notes when each call arrived.

A process of its own, on one uvloop. ``POST /hook/<number>`` is noted with the wall clock (ns) and
answered 200; a body of another size than every contender has to send is answered 422 and not
noted. ``GET /count`` tells how many different numbers have come, ``GET /arrivals`` lists "number
ns" a line, ``POST /reset`` forgets them. It speaks as much HTTP/1.1 as its callers need:
keep-alive, pipelining, Content-Length; a body without a stated length is answered 411.
Run: ``python -m bench.peers.receiver --host 127.0.0.1 --port 0``.
"""

from __future__ import annotations

import argparse
import asyncio
import signal
import time
from array import array
from typing import cast

import uvloop

from bench.peers.plan import BODY_BYTES

_OK = b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok"
_HEAD_END = b"\r\n\r\n"
_HOOK = b"/hook/"
#: Of connections that wait to be accepted: hundreds are opened in the same moment.
_WAITING = 4096
_MOST_HEAD_BYTES = 64 * 1024


class Arrivals:
    """The calls in the order in which they came; plain arrays, which no collector walks."""

    def __init__(self) -> None:
        self._numbers = array("q")
        self._moments = array("q")
        self._seen: set[int] = set()

    def note(self, number: int) -> None:
        """Note that the call of this number is complete now."""
        self._moments.append(time.time_ns())
        self._numbers.append(number)
        self._seen.add(number)

    def reset(self) -> None:
        """Forget every call."""
        del self._numbers[:]
        del self._moments[:]
        self._seen.clear()

    @property
    def count(self) -> int:
        """How many different numbers have come."""
        return len(self._seen)

    def lines(self) -> bytes:
        """Return "number ns" a line."""
        pairs = zip(self._numbers, self._moments, strict=True)
        return "".join(f"{number} {moment}\n" for number, moment in pairs).encode()


class Receiver(asyncio.Protocol):
    """One connection: takes requests apart as bytes come, and answers all that are complete."""

    def __init__(self, arrivals: Arrivals) -> None:
        self._arrivals = arrivals
        self._rest = b""
        self._transport: asyncio.Transport | None = None

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Keep the way back."""
        self._transport = cast(asyncio.Transport, transport)

    def data_received(self, data: bytes) -> None:
        """Answer every request that is complete now, in order and with one write."""
        assert self._transport is not None  # noqa: S101 - data comes after the connection
        if self._rest:
            data = self._rest + data
        answers, used, goes_on = self._answer_complete(data)
        self._rest = data[used:]
        if answers:
            self._transport.write(b"".join(answers))
        if not goes_on or len(self._rest) > _MOST_HEAD_BYTES:
            self._transport.close()

    def _answer_complete(self, data: bytes) -> tuple[list[bytes], int, bool]:
        """Return the answers, how many bytes they cover, and whether the connection goes on."""
        answers: list[bytes] = []
        begin = 0
        while (end := data.find(_HEAD_END, begin)) >= 0:
            head = data[begin : end + 2]
            lower = head.lower()
            length = body_length(lower)
            if length is None:
                answers.append(answer_of(411, b""))
                return answers, len(data), False
            body_end = end + 4 + length
            if body_end > len(data):
                break
            answers.append(self._answer(head, length))
            begin = body_end
            if wants_close(lower):
                return answers, begin, False
        return answers, begin, True

    def _answer(self, head: bytes, length: int) -> bytes:
        method, path = method_and_path(head)
        if path.startswith(_HOOK) and path[len(_HOOK) :].isdigit():
            if length != BODY_BYTES:
                return answer_of(422, b"")
            self._arrivals.note(int(path[len(_HOOK) :]))
            return _OK
        if (method, path) == (b"GET", b"/arrivals"):
            return answer_of(200, self._arrivals.lines())
        if (method, path) == (b"GET", b"/count"):
            return answer_of(200, b"%d" % self._arrivals.count)
        if (method, path) == (b"POST", b"/reset"):
            self._arrivals.reset()
            return _OK
        return answer_of(404, b"")


def method_and_path(head: bytes) -> tuple[bytes, bytes]:
    """Return the first two words of a request's first line; empty where there are none."""
    words = head[: head.find(b"\r\n")].split(b" ")
    return (words[0], words[1]) if len(words) > 1 else (b"", b"")


def body_length(lower: bytes) -> int | None:
    """Return the length stated in a head of small letters, 0 without one; None for chunks."""
    if b"\r\ntransfer-encoding:" in lower:
        return None
    value = header(lower, b"content-length")
    return int(value) if value.isdigit() else 0


def wants_close(lower: bytes) -> bool:
    """Say whether a head of small letters ends the connection after this request."""
    return header(lower, b"connection") == b"close"


def header(lower: bytes, name: bytes) -> bytes:
    """Return the value of a header in a head of small letters, empty without it."""
    begin = lower.find(b"\r\n" + name + b":")
    if begin < 0:
        return b""
    begin += len(name) + 3
    return lower[begin : lower.find(b"\r\n", begin)].strip()


def answer_of(status: int, body: bytes) -> bytes:
    """Return an answer with a body."""
    return b"HTTP/1.1 %d -\r\nContent-Length: %d\r\n\r\n%b" % (status, len(body), body)


async def serve(host: str, port: int) -> None:
    """Listen on the address until SIGTERM or Ctrl-C; print the URL when calls may come."""
    loop = asyncio.get_running_loop()
    arrivals = Arrivals()
    server = await loop.create_server(lambda: Receiver(arrivals), host, port, backlog=_WAITING)
    ended = asyncio.Event()
    for number in (signal.SIGTERM, signal.SIGINT):
        loop.add_signal_handler(number, ended.set)
    print(f"http://{host}:{server.sockets[0].getsockname()[1]}", flush=True)
    await ended.wait()
    server.close()


def main() -> None:
    """Serve from a command line."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--host", default="127.0.0.1")
    parser.add_argument("--port", type=int, default=0)
    chosen = parser.parse_args()
    uvloop.run(serve(chosen.host, chosen.port))


if __name__ == "__main__":
    main()
