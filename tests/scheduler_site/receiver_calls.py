"""A receiver in the test's own event loop, and raw calls to it."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

from scheduler_site.receiver import Receiver, ReceiverOptions


@asynccontextmanager
async def running(ledger: Path | None = None, secret: str = "") -> AsyncIterator[Receiver]:
    receiver = Receiver(ReceiverOptions(0, ledger, secret))
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


async def until_recorded(receiver: Receiver, count: int) -> None:
    """Wait until so many requests have come in; every look is a call of its own."""
    async with asyncio.timeout(20):
        while (await ask(receiver, "/requests?limit=1"))[1]["total"] < count:
            pass
