"""The live socket: one per tab; reports which topics of the tenant changed, without content.

Close codes: 4401 without a valid session or ticket, also when it ends later; 4429 when the
process has its most sockets; 1012 when messages may have been missed; 1013 when Redis cannot be
reached. After the last two the client connects again and reads everything anew on ``hello``.
"""

from __future__ import annotations

import asyncio
import logging
import random
from typing import Any

import orjson
from channels.db import database_sync_to_async
from channels.generic.websocket import AsyncWebsocketConsumer
from django.db import Error as DatabaseError

from notifications.live import EVERYONE, current_version, group_of
from notifications.live_access import (
    Access,
    admit_by_session,
    admit_by_ticket,
    is_still_valid,
)
from notifications.origins import ticket_of
from shared.redis_client import ConnectionFailed

log = logging.getLogger(__name__)

NO_ACCESS, NO_ROOM, MISSED, NO_REDIS = 4401, 4429, 1012, 1013
#: The most sockets of one process.
MOST_SOCKETS = 1000
#: Shortest interval between two messages of one topic to one socket.
SPACING_SECONDS = 0.5
#: Longest interval between checks of a socket's right to listen.
CHECK_SECONDS = 45.0
_LONGEST_TEXT = 1024

_open: set[LiveConsumer] = set()


class LiveConsumer(AsyncWebsocketConsumer):
    """One socket."""

    def __init__(self, *args: Any, **options: Any) -> None:
        super().__init__(*args, **options)
        self._access: Access | None = None
        self._groups: list[str] = []
        self._version = 0
        self._pending: dict[str, int] = {}
        self._said_at: dict[str, float] = {}
        self._timer: asyncio.TimerHandle | None = None
        self._tasks: set[asyncio.Task[None]] = set()
        self._closed = False

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        """Serve the socket to its end, however it ends."""
        try:
            await super().__call__(scope, receive, send)
        finally:
            await self._end()

    async def connect(self) -> None:
        """Accept, then close with a code when refused: browsers show no code of a handshake."""
        await self.accept()
        if len(_open) >= MOST_SOCKETS:
            await self._refuse(NO_ROOM)
            return
        _open.add(self)
        try:
            self._access = await self._admit()
            if self._access is None:
                await self._refuse(NO_ACCESS)
                return
            await self._listen(group_of(self._access.tenant_id), EVERYONE)
            self._version = await asyncio.to_thread(current_version)
        except (*ConnectionFailed, TimeoutError):
            await self._refuse(NO_REDIS)
            return
        await self._say({"topic": "hello", "version": self._version})
        self._start(self._watch(self._access))

    async def receive(self, text_data: str | None = None, bytes_data: bytes | None = None) -> None:
        """Answer a ping; anything else is ignored."""
        if text_data is None or len(text_data) > _LONGEST_TEXT:
            return
        try:
            said = orjson.loads(text_data)
        except orjson.JSONDecodeError:
            return
        if isinstance(said, dict) and said.get("type") == "ping":
            await self._say({"type": "pong", "version": self._version})

    async def live_topics(self, message: dict[str, Any]) -> None:
        """Send which topics changed, each at most twice a second."""
        self._version = max(self._version, message["version"])
        self._pending.update((topic, self._version) for topic in message["topics"])
        await self._flush()

    async def live_alert(self, message: dict[str, Any]) -> None:
        """Show an alert."""
        await self._say({"topic": "alert", **message["alert"]})

    async def live_lost(self, message: dict[str, Any]) -> None:
        """Close: messages may have been missed, so the client has to read everything again."""
        await self._refuse(MISSED)

    async def _admit(self) -> Access | None:
        ticket = ticket_of(self.scope)
        if ticket:
            by_ticket: Access | None = await database_sync_to_async(admit_by_ticket)(ticket)
            return by_ticket
        by_session: Access | None = await database_sync_to_async(admit_by_session)(
            self.scope["user"], self.scope["session"]
        )
        return by_session

    async def _listen(self, *groups: str) -> None:
        for group in groups:
            await self.channel_layer.group_add(group, self.channel_name)
            self._groups.append(group)

    async def _watch(self, access: Access) -> None:
        """Close the socket within a minute after its right to listen has ended."""
        while not self._closed:
            await asyncio.sleep(CHECK_SECONDS * random.uniform(0.7, 1.0))  # noqa: S311 - spreads load, no secret
            try:
                valid = await database_sync_to_async(is_still_valid)(access)
            except DatabaseError as error:
                log.warning("live_access_not_checked", extra={"reason": type(error).__name__})
                continue
            if not valid:
                await self._refuse(NO_ACCESS)

    async def _flush(self) -> None:
        now = asyncio.get_running_loop().time()
        due = [
            topic
            for topic in self._pending
            if now - self._said_at.get(topic, -SPACING_SECONDS) >= SPACING_SECONDS
        ]
        self._said_at.update(dict.fromkeys(due, now))
        for topic, version in [(topic, self._pending.pop(topic)) for topic in due]:
            await self._say({"topic": topic, "version": version})
        if self._pending and self._timer is None and not self._closed:
            first = min(self._said_at[topic] for topic in self._pending)
            loop = asyncio.get_running_loop()
            self._timer = loop.call_at(first + SPACING_SECONDS, self._flush_later)

    def _flush_later(self) -> None:
        self._timer = None
        self._start(self._flush())

    def _start(self, work: Any) -> None:
        task = asyncio.get_running_loop().create_task(work)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    async def _say(self, content: dict[str, Any]) -> None:
        if self._closed:
            return
        try:
            await self.send(text_data=orjson.dumps(content).decode())
        except OSError:
            self._closed = True  # the client has gone; the server will say so

    async def _refuse(self, code: int) -> None:
        if self._closed:
            return
        self._closed = True
        try:
            await self.close(code)
        except OSError:
            log.debug("live_socket_gone")  # the client was faster

    async def _end(self) -> None:
        self._closed = True
        _open.discard(self)
        if self._timer is not None:
            self._timer.cancel()
        for task in list(self._tasks):
            task.cancel()
        for group in self._groups:
            await self.channel_layer.group_discard(group, self.channel_name)
