"""Small HTTP servers that answer by path, proxies among them, on the test's own event loop."""

from __future__ import annotations

import asyncio
import ssl
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field

from delivery.http_client import Request, Response


@dataclass
class Received:
    """One request as it arrived; header names in lower case."""

    method: str
    path: str
    headers: dict[str, str]
    body: bytes


@dataclass
class Answer:
    """What a site answers."""

    status: int = 200
    headers: Sequence[tuple[str, str]] = ()
    body: bytes = b""


@dataclass
class Site:
    """What a test may ask of a running site."""

    port: int = 0
    connections: int = 0
    requests: list[Received] = field(default_factory=list)


@asynccontextmanager
async def site(
    answer: Callable[[Received], Answer],
    *,
    tls: ssl.SSLContext | None = None,
    host: str = "127.0.0.1",
    port: int = 0,
) -> AsyncIterator[Site]:
    """Run a site for a block."""
    running = Site()

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        running.connections += 1
        while (received := await _read(reader)) is not None:
            running.requests.append(received)
            given = answer(received)
            head = "".join(f"{name}: {value}\r\n" for name, value in given.headers)
            length = f"Content-Length: {len(given.body)}\r\n"
            body = b"" if received.method == "HEAD" else given.body
            writer.write(f"HTTP/1.1 {given.status} X\r\n{head}{length}\r\n".encode() + body)

    async with _server(serve, host, port, tls) as running.port:
        yield running


@asynccontextmanager
async def proxy(
    lead_to: Callable[[str], int], *, status: int = 200, host: str = "127.0.0.1", port: int = 0
) -> AsyncIterator[Site]:
    """Run a proxy that tunnels to the local port that ``lead_to`` names for a CONNECT's place."""
    running = Site()

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        running.connections += 1
        received = await _read(reader)
        assert received is not None
        running.requests.append(received)
        writer.write(f"HTTP/1.1 {status} X\r\nVia: test\r\n\r\n".encode())
        if status != 200:
            return
        inner_reader, inner = await asyncio.open_connection("127.0.0.1", lead_to(received.path))
        try:
            await asyncio.gather(_pump(reader, inner), _pump(inner_reader, writer))
        finally:
            inner.close()

    async with _server(serve, host, port, None) as running.port:
        yield running


class FakeClient:
    """Answers requests by a function instead of the network, and keeps them."""

    def __init__(self, answer: Callable[[Request], Answer | Exception]) -> None:
        self._answer = answer
        self.requests: list[Request] = []
        self.tenants: list[str] = []

    async def send(self, request: Request, *, tenant: str = "") -> Response:
        self.requests.append(request)
        self.tenants.append(tenant)
        await asyncio.sleep(0)
        given = self._answer(request)
        if isinstance(given, Exception):
            raise given
        timings = {"first_byte": 1.0, "total": 2.0}
        return Response(given.status, list(given.headers), given.body, False, timings, "1.1.1.1")


@asynccontextmanager
async def _server(
    serve: Callable[[asyncio.StreamReader, asyncio.StreamWriter], object],
    host: str,
    port: int,
    tls: ssl.SSLContext | None,
) -> AsyncIterator[int]:
    tasks: set[asyncio.Task[None]] = set()

    async def follow(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.current_task()
        assert task is not None
        tasks.add(task)
        try:
            await serve(reader, writer)  # type: ignore[misc]  # both servers above are coroutines
        except (OSError, asyncio.IncompleteReadError, asyncio.CancelledError):
            pass  # the client, or the test, has had enough
        finally:
            writer.transport.abort() if tls else writer.close()
            tasks.discard(task)

    server = await asyncio.start_server(follow, host, port, ssl=tls)
    try:
        yield server.sockets[0].getsockname()[1]
    finally:
        server.close()
        for task in list(tasks):
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        await server.wait_closed()


async def _read(reader: asyncio.StreamReader) -> Received | None:
    try:
        head = (await reader.readuntil(b"\r\n\r\n")).decode("latin-1")
    except asyncio.IncompleteReadError:
        return None
    first, *lines = head.rstrip("\r\n").split("\r\n")
    method, path, _ = first.split(" ")
    pairs = (line.partition(":") for line in lines)
    headers = {name.lower(): value.strip() for name, _, value in pairs}
    body = await reader.readexactly(int(headers.get("content-length", 0)))
    return Received(method, path, headers, body)


async def _pump(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    while data := await reader.read(65536):
        writer.write(data)
        await writer.drain()
    writer.close()
