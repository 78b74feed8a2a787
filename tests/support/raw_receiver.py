"""A TCP server whose every connection follows a script of the test, byte by byte.

Used where a receiver must break HTTP on purpose. Scripts end when the client goes away, so no
test waits for a length of time.
"""

from __future__ import annotations

import asyncio
import socket
import ssl
import struct
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager


class Conversation:
    """One connection, seen from the receiver."""

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self._reader = reader
        self._writer = writer

    async def read_request(self) -> bytes:
        """Return head and body of the next request; IncompleteReadError when there is none."""
        head = await self._reader.readuntil(b"\r\n\r\n")
        lengths = [line for line in head.lower().split(b"\r\n") if line.startswith(b"content-len")]
        length = int(lengths[0].partition(b":")[2]) if lengths else 0
        return head + await self._reader.readexactly(length)

    async def send(self, data: bytes) -> None:
        """Write and flush; ConnectionError once the client has gone, as uvloop does not call it."""
        if self._writer.is_closing():
            raise ConnectionResetError("the client has gone")
        self._writer.write(data)
        await self._writer.drain()

    async def send_forever(self, data: bytes) -> None:
        """Write as fast as the client reads, until it hangs up."""
        while True:
            await self.send(data)

    async def drip(self, data: bytes, interval: float = 0.02) -> None:
        """Send one byte after the other, over and over, until the client hangs up."""
        while True:
            for byte in data:
                await self.send(bytes([byte]))
                if await self.gone_within(interval):
                    return

    async def hold(self) -> None:
        """Say nothing until the client hangs up."""
        await self._reader.read()

    def reset(self) -> None:
        """Close with RST."""
        raw = self._writer.get_extra_info("socket")
        raw.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        self._writer.transport.abort()

    async def gone_within(self, seconds: float) -> bool:
        """Say whether the client hangs up within so many seconds."""
        try:
            return not await asyncio.wait_for(self._reader.read(65536), seconds)
        except TimeoutError:
            return False


Script = Callable[[Conversation], Awaitable[None]]


class RawReceiver:
    """What a test may ask of the running server."""

    def __init__(self, port: int) -> None:
        self.port = port
        self.connections = 0
        self.closed = False
        self.connected = asyncio.Event()
        #: Set whenever a script has ended.
        self.script_ended = asyncio.Event()


@asynccontextmanager
async def raw_receiver(
    script: Script,
    *,
    host: str = "127.0.0.1",
    port: int = 0,
    tls: ssl.SSLContext | None = None,
) -> AsyncIterator[RawReceiver]:
    """Run the server for a block; at its end every connection is gone."""
    tasks: set[asyncio.Task[None]] = set()

    async def follow(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.current_task()
        assert task is not None
        if receiver.closed:  # accepted before the end, begun after it
            writer.transport.abort()
            return
        tasks.add(task)
        receiver.connections += 1
        receiver.connected.set()
        try:
            await script(Conversation(reader, writer))
        except (ConnectionError, asyncio.IncompleteReadError, asyncio.CancelledError):
            pass  # the client, or the test, has had enough
        finally:
            writer.transport.abort() if tls else writer.close()
            receiver.script_ended.set()
            tasks.discard(task)

    server = await asyncio.start_server(follow, host, port, ssl=tls)
    receiver = RawReceiver(server.sockets[0].getsockname()[1])
    try:
        yield receiver
    finally:
        receiver.closed = True
        server.close()
        for task in list(tasks):
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        await server.wait_closed()
