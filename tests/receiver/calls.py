"""A receiver in the test's own event loop, and raw calls to it."""

from __future__ import annotations

import asyncio
import json
import tempfile
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any
from uuid import UUID

from receiver.server import Receiver, ReceiverOptions
from shared.receiver_address import key_of, segment_of
from shared.unix_http import UnixConnection

KEY = key_of("the secret of these tests")
#: The segment of a tenant, and of another one.
OWN = segment_of(KEY, UUID(int=1))
OTHER = segment_of(KEY, UUID(int=2))


@asynccontextmanager
async def running(ledger: Path | None = None, **options: Any) -> AsyncIterator[Receiver]:
    """Run a receiver with a socket file in a directory of its own."""
    with tempfile.TemporaryDirectory(prefix="receiver-") as directory:
        control = Path(directory) / "receiver.sock"
        receiver = Receiver(ReceiverOptions(ledger=ledger, control=control, key=KEY, **options))
        await receiver.start()
        try:
            yield receiver
        finally:
            await receiver.stop()


def request(target: str, method: str = "GET", body: bytes = b"", **headers: str) -> bytes:
    lines = [f"{method} {target} HTTP/1.1"]
    lines += [f"{name.replace('_', '-')}: {value}" for name, value in headers.items()]
    if "host" not in headers:
        lines.append("host: 127.0.0.1:8001")
    lines.append(f"content-length: {len(body)}")
    return "\r\n".join(lines).encode() + b"\r\n\r\n" + body


async def send(receiver: Receiver, *data: bytes) -> bytes:
    """Send everything on one connection and return what comes until it is closed."""
    reader, writer = await asyncio.open_connection("127.0.0.1", receiver.port)
    try:
        for part in data:
            writer.write(part)
            await writer.drain()
        return await asyncio.wait_for(reader.read(), 20)
    finally:
        writer.close()


async def ask(receiver: Receiver, target: str, method: str = "GET", **headers: str) -> Any:
    """Make one call and return status and decoded body."""
    answer = await send(receiver, request(target, method, b"", connection="close", **headers))
    head, _, body = answer.partition(b"\r\n\r\n")
    return int(head.split()[1]), json.loads(body) if body else None


async def tell(receiver: Receiver, target: str, method: str = "GET") -> Any:
    """Ask on the socket file; return status and decoded body."""

    def call() -> Any:
        assert receiver._options.control is not None
        connection = UnixConnection(receiver._options.control, 20)
        try:
            connection.request(method, target)
            answer = connection.getresponse()
            body = answer.read()
        finally:
            connection.close()
        return answer.status, json.loads(body) if body else None

    return await asyncio.to_thread(call)


async def arrived(receiver: Receiver, segment: str = OWN, query: str = "") -> list[dict[str, Any]]:
    """Return what arrived below the segment, newest first."""
    status, found = await tell(receiver, f"/requests/{segment}{query}")
    assert status == 200, found
    listed: list[dict[str, Any]] = found["requests"]
    return listed


async def until_recorded(receiver: Receiver, count: int) -> None:
    """Wait until so many requests have come in below the own segment."""
    async with asyncio.timeout(20):
        while len(await arrived(receiver)) < count:
            pass
