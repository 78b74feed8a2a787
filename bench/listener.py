"""A console's end of the live socket: stays connected as a browser does and notes what it hears.

Sends nothing while it is idle, not even pings of the protocol. A socket that ends is opened
again, first after a second, then with growing waits.
"""

from __future__ import annotations

import asyncio
import json
import time
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import Any

from websockets.asyncio.client import connect
from websockets.exceptions import ConnectionClosed, WebSocketException
from websockets.typing import Origin

_FIRST_WAIT, _LONGEST_WAIT = 1.0, 10.0
_OPEN_SECONDS = 10.0


@dataclass(frozen=True, slots=True)
class Heard:
    """One message and when it came."""

    at_ns: int
    message: dict[str, Any]

    @property
    def topic(self) -> str:
        """Return what the message is about."""
        return str(self.message.get("topic", ""))


class Listener:
    """One member's socket over all its connections."""

    def __init__(self, base_url: str, session: str) -> None:
        self._origin = base_url
        self._url = base_url.replace("http", "ws", 1) + "/ws/live"
        self._cookie = f"sessionid={session}"
        self.heard: list[Heard] = []
        #: When each connection ended, and how.
        self.ends: list[tuple[int, str]] = []
        self._news = asyncio.Condition()

    async def run(self) -> None:
        """Listen until cancelled."""
        wait = _FIRST_WAIT
        while True:
            try:
                async with self._connection() as connection:
                    async for text in connection:
                        wait = _FIRST_WAIT
                        await self._note(json.loads(text))
                    ended = f"closed {connection.close_code}"
            except ConnectionClosed as error:
                ended = f"closed {error.rcvd.code if error.rcvd else 'without a word'}"
            except (OSError, TimeoutError, WebSocketException) as error:
                ended = f"not opened: {type(error).__name__}"
            self.ends.append((time.time_ns(), ended))
            await asyncio.sleep(wait)
            wait = min(_LONGEST_WAIT, 2 * wait)

    async def wait_for(
        self, matches: Callable[[Heard], bool], since_ns: int, seconds: float
    ) -> Heard | None:
        """Return the first message since then that matches, None when none comes in time."""

        def find() -> Heard | None:
            found = (one for one in self.heard if one.at_ns >= since_ns and matches(one))
            return next(found, None)

        try:
            async with asyncio.timeout(seconds), self._news:
                await self._news.wait_for(find)
        except TimeoutError:
            return None
        return find()

    def _connection(self) -> connect:
        # As a browser: no pings of its own, and a freeze of the server does not end the socket.
        return connect(
            self._url,
            origin=Origin(self._origin),
            additional_headers={"Cookie": self._cookie},
            ping_interval=None,
            open_timeout=_OPEN_SECONDS,
            proxy=None,
            compression=None,
        )

    async def _note(self, message: dict[str, Any]) -> None:
        async with self._news:
            self.heard.append(Heard(time.time_ns(), message))
            self._news.notify_all()


@asynccontextmanager
async def listening(base_url: str, session: str) -> AsyncIterator[Listener]:
    """Listen during a block, which begins when the server has said hello."""
    listener = Listener(base_url, session)
    task = asyncio.create_task(listener.run())
    try:
        if await listener.wait_for(lambda one: one.topic == "hello", 0, 60.0) is None:
            raise ConnectionError(f"no hello on {listener._url}: {listener.ends[-3:]}")
        yield listener
    finally:
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)
