"""Receivers that cannot be reached as they should: names, addresses, connections, TLS."""

from __future__ import annotations

import asyncio
import socket
import ssl
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager

from tests.delivery.hostile.ground import Ground
from tests.delivery.hostile.rows import (
    HI,
    SHORT,
    Place,
    Row,
    Stage,
    ended,
    retried,
)
from tests.support.raw_receiver import Conversation, Script, raw_receiver

_CONNECTIONS = 8


async def _answer(conversation: Conversation) -> None:
    await conversation.read_request()
    await conversation.send(HI)
    await conversation.hold()


async def _read_and_hold(conversation: Conversation) -> None:
    await conversation.read_request()
    await conversation.hold()


async def _read_and_close(conversation: Conversation) -> None:
    await conversation.read_request()


async def _hold(conversation: Conversation) -> None:
    await conversation.hold()


async def _plain_http(conversation: Conversation) -> None:
    await conversation.send(b"HTTP/1.1 400 Bad Request\r\nContent-Length: 0\r\n\r\n")
    await conversation.hold()


async def _reset(conversation: Conversation) -> None:
    conversation.reset()


def _named(host: str, script: Script = _answer, scheme: str = "http") -> Stage:
    """Return a receiver of 127.0.0.1 under a name, without TLS on its side."""

    @asynccontextmanager
    async def stage(_: Ground) -> AsyncIterator[Place]:
        async with raw_receiver(script) as receiver:
            yield Place(f"{scheme}://{host}:{receiver.port}/hook")

    return stage


def _tls(host: str, side: Callable[[Ground], ssl.SSLContext], script: Script = _answer) -> Stage:
    """Return a receiver with TLS under a name."""

    @asynccontextmanager
    async def stage(ground: Ground) -> AsyncIterator[Place]:
        async with raw_receiver(script, tls=side(ground)) as receiver:
            yield Place(f"https://{host}:{receiver.port}/hook")

    return stage


@asynccontextmanager
async def _nobody(_: Ground) -> AsyncIterator[Place]:
    with socket.socket() as bound:  # keeps the port, does not listen
        bound.bind(("127.0.0.1", 0))
        yield Place(f"http://127.0.0.1:{bound.getsockname()[1]}/hook")


@asynccontextmanager
async def _thousand_refusals(_: Ground) -> AsyncIterator[Place]:
    with socket.socket() as bound:
        bound.bind(("0.0.0.0", 0))
        yield Place(f"http://thousand.test:{bound.getsockname()[1]}/hook")


@asynccontextmanager
async def _black_hole(_: Ground) -> AsyncIterator[Place]:
    """Listen with a full queue: the kernel drops every further SYN."""
    loop = asyncio.get_running_loop()
    with socket.create_server(("127.0.0.1", 0), backlog=0) as server:
        address = server.getsockname()
        callers = [socket.socket() for _ in range(_CONNECTIONS)]
        for caller in callers:
            caller.setblocking(False)
        calls = [asyncio.ensure_future(loop.sock_connect(one, address)) for one in callers]
        # Whichever came first has the one place in the queue.
        await asyncio.wait(calls, return_when=asyncio.FIRST_COMPLETED)
        try:
            yield Place(f"http://127.0.0.1:{address[1]}/hook")
        finally:
            for call in calls:
                call.cancel()
            await asyncio.gather(*calls, return_exceptions=True)
            for caller in callers:
                caller.close()


def _unreached(name: str, stage: Stage) -> Row:
    return retried(name, stage, "timeout_connect", connect_timeout=SHORT)


def _unresolved(name: str, host: str) -> Row:
    return retried(name, _named(host), "dns_failed")


def _forbidden(name: str, host: str) -> Row:
    return ended(name, _named(host), "address_forbidden")


_NAMES = [
    _unresolved("has a name that does not exist (NXDOMAIN)", "nowhere.test"),
    _unresolved("has a name server that fails (SERVFAIL)", "later.test"),
    _unresolved("has a name without an address", "empty.test"),
    _unresolved("has a name whose answer is no address", "junk.test"),
    _unreached("has a name server that never answers", _named("silent.test")),
    retried("has a thousand addresses that refuse", _thousand_refusals, "connection_refused"),
    _forbidden("has a thousand addresses, one of them private", "spoiled.test"),
    _forbidden("has a public and a private address", "halves.test"),
    _forbidden("has the address of a cloud's metadata", "metadata.test"),
    _forbidden("has an IPv4 address dressed up as IPv6", "mapped.test"),
    Row(
        "changes its address between check and call",
        _named("changing.test"),
        status=200,
        captured=2,
    ),
    Row("does not answer on IPv6", _named("sixfirst.test"), status=200, captured=2),
]
_CONNECTING = [
    retried("does not listen", _nobody, "connection_refused"),
    _unreached("drops every packet", _black_hole),
]
_TLS = [
    Row("has a good certificate", _tls("good.test", lambda g: g.good.server_context()),
        status=200, captured=2),
    retried("has an expired certificate",
            _tls("expired.test", lambda g: g.expired.server_context()), "tls_failed"),
    retried("has a certificate for another name",
            _tls("good.test", lambda g: g.other.server_context()), "tls_failed"),
    retried("has a certificate signed by itself",
            _tls("stranger.test", lambda g: g.stranger.server_context()), "tls_failed"),
    retried("speaks TLS 1.0 only", _tls("good.test", lambda g: g.old_protocol), "tls_failed"),
    retried("sends a chain of 400 certificates",
            _tls("good.test", lambda g: g.long_chain), "tls_failed"),
    _unreached("stops within the TLS handshake", _named("good.test", _hold, "https")),
    retried("speaks plain HTTP where TLS is expected",
            _named("good.test", _plain_http, "https"), "tls_failed"),
    retried("resets within the TLS handshake",
            _named("good.test", _reset, "https"), "tls_failed", "connection_reset"),
    retried("closes within TLS without an answer",
            _tls("good.test", lambda g: g.good.server_context(), _read_and_close),
            "connection_reset"),
    retried("says nothing within TLS",
            _tls("good.test", lambda g: g.good.server_context(), _read_and_hold),
            "timeout_total", timeout=SHORT),
]  # fmt: skip

ROWS = [*_NAMES, *_CONNECTING, *_TLS]
