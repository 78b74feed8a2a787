"""Bad links: a TCP proxy that delays, loses, holds, breaks and forgets, for each client apart.

A proxy cannot lose a segment, but it shows what the ends see of a loss: bytes that come late, after
one or more retransmissions, and now and then a connection that breaks. Links run in a thread of
their own, and may be told from anywhere.
"""

from __future__ import annotations

import asyncio
import random
import socket
import struct
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field

_CHUNK = 64 * 1024
_FIRST_RETRANSMISSION = 0.2
_RETRANSMISSIONS = 5
_HELD_LOOK = 0.05
_RESET = struct.pack("ii", 1, 0)


@dataclass(frozen=True, slots=True)
class Weather:
    """How a link is: seconds one way, share of segments lost, and which ways are open."""

    delay: float = 0.0
    loss: float = 0.0
    #: From client to server.
    up: bool = True
    #: From server to client.
    down: bool = True


FAIR = Weather()


def lag_of(weather: Weather, chance: random.Random) -> float | None:
    """Return how late a chunk arrives; None where its sender would give up."""
    lag, pause = weather.delay, _FIRST_RETRANSMISSION
    for _ in range(_RETRANSMISSIONS):
        if chance.random() >= weather.loss:
            return lag
        lag, pause = lag + pause, pause * 2
    return None


@dataclass(eq=False)
class Link:
    """One listening address whose connections go on to another."""

    target: tuple[str, int]
    host: str
    port: int = 0
    #: Client's address -> its weather; those not named have fair weather.
    weathers: dict[str, Weather] = field(default_factory=dict)
    #: What decides on losses.
    chance: random.Random = field(default_factory=random.Random)
    _writers: dict[str, set[asyncio.StreamWriter]] = field(default_factory=dict)
    _tasks: set[asyncio.Task[None]] = field(default_factory=set)
    _server: asyncio.Server | None = None

    async def open(self) -> None:
        """Listen; afterwards ``port`` is the port in use."""
        self._server = await asyncio.start_server(self._welcome, self.host, self.port)
        self.port = int(self._server.sockets[0].getsockname()[1])

    async def close(self) -> None:
        """Stop listening, break all connections, and return when they have ended."""
        if self._server is not None:
            self._server.close()
        for task in list(self._tasks):
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)

    def reset(self, client: str) -> None:
        """Break the connections of a client's address, towards both ends."""
        for writer in list(self._writers.get(client, ())):
            raw = writer.get_extra_info("socket")
            raw.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, _RESET)
            writer.transport.abort()

    def _welcome(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.create_task(self._accept(reader, writer))
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    async def _accept(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        client = str(writer.get_extra_info("peername")[0])
        ends = self._writers.setdefault(client, set())
        ends.add(writer)
        onward = None
        try:
            await self._while_held(client, up=True)
            there, onward = await asyncio.open_connection(*self.target)
            ends.add(onward)
            async with asyncio.TaskGroup() as both:
                both.create_task(self._pump(client, reader, onward, up=True))
                both.create_task(self._pump(client, there, writer, up=False))
        except* OSError:
            pass  # either end has gone; the other one is told below
        finally:
            for end in (writer, onward):
                if end is not None:
                    ends.discard(end)
                    end.transport.abort()

    async def _pump(
        self, client: str, reader: asyncio.StreamReader, writer: asyncio.StreamWriter, *, up: bool
    ) -> None:
        """Carry one way: what is read is due later, and arrives in the order of its sending."""
        way: asyncio.Queue[tuple[float, bytes]] = asyncio.Queue(256)
        carrier = asyncio.create_task(self._carry(client, way, writer, up=up))
        try:
            due, data = 0.0, b"first"
            while data:
                data = await reader.read(_CHUNK)
                lag = lag_of(self.weathers.get(client, FAIR), self.chance)
                if lag is None:
                    raise ConnectionResetError("too much of it was lost")
                due = max(due, asyncio.get_running_loop().time() + lag)
                await way.put((due, data))
            await carrier
        finally:
            carrier.cancel()
            with suppress(OSError, asyncio.CancelledError):
                await carrier

    async def _carry(
        self,
        client: str,
        way: asyncio.Queue[tuple[float, bytes]],
        writer: asyncio.StreamWriter,
        *,
        up: bool,
    ) -> None:
        while True:
            due, data = await way.get()
            await asyncio.sleep(due - asyncio.get_running_loop().time())
            await self._while_held(client, up=up)
            if not data:
                writer.write_eof()
                return
            writer.write(data)
            await writer.drain()

    async def _while_held(self, client: str, *, up: bool) -> None:
        # Weather is set by another thread, which could not set an event of this loop.
        while not self._is_open(client, up=up):  # noqa: ASYNC110 - see above
            await asyncio.sleep(_HELD_LOOK)

    def _is_open(self, client: str, *, up: bool) -> bool:
        weather = self.weathers.get(client, FAIR)
        return weather.up if up else weather.down


class Links:
    """The links of a stand, in a thread with an event loop of its own."""

    def __init__(self) -> None:
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._loop.run_forever, name="links", daemon=True)
        self._links: list[Link] = []
        self._weathers: dict[str, Weather] = {}

    def open(self, target: tuple[str, int], host: str, port: int = 0) -> Link:
        """Open a link and return it, listening."""
        link = Link(target, host, port, self._weathers)
        asyncio.run_coroutine_threadsafe(link.open(), self._loop).result(10.0)
        self._links.append(link)
        return link

    def set(self, client: str, weather: Weather) -> None:
        """Set the weather of all links of a client's address."""
        self._weathers[client] = weather

    def reset(self, client: str) -> None:
        """Break the connections of a client's address."""
        for link in self._links:
            self._loop.call_soon_threadsafe(link.reset, client)

    def start(self) -> None:
        """Start the thread."""
        self._thread.start()

    def stop(self) -> None:
        """Close every link and end the thread."""
        for link in self._links:
            asyncio.run_coroutine_threadsafe(link.close(), self._loop).result(10.0)
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join(10.0)


@contextmanager
def links() -> Iterator[Links]:
    """Yield a set of links that is closed at the end."""
    made = Links()
    made.start()
    try:
        yield made
    finally:
        made.stop()
