"""The live socket: one per tab; reports which topics of the tenant changed, without content.

Close codes: 4401 without a valid session or ticket, also when it ends later; 4429 when the
process, or the tenant in it, has its most sockets; 1012 when messages may have been missed; 1013
when Redis cannot be reached. After the last two the client connects again and reads everything
anew on ``hello``.
"""

from __future__ import annotations

import asyncio
import logging
import random
from contextlib import suppress
from typing import Any
from uuid import UUID

import orjson
from channels.db import database_sync_to_async
from channels.generic.websocket import AsyncWebsocketConsumer
from django.db import Error as DatabaseError

from notifications.live import EVERYONE, current_version, group_of, group_of_key, group_of_session
from notifications.live_access import (
    Access,
    admit_by_session,
    admit_by_ticket,
    is_still_valid,
    seconds_left,
)
from notifications.origins import ticket_of
from shared.client_address import socket_address
from shared.redis_client import ConnectionFailed

log = logging.getLogger(__name__)

NO_ACCESS, NO_ROOM, MISSED, NO_REDIS = 4401, 4429, 1012, 1013
#: The most sockets of one process.
MOST_SOCKETS = 1000
#: The most of one tenant: a quarter of the process is left to others.
MOST_OF_TENANT = MOST_SOCKETS * 3 // 4
#: Shortest interval between two messages of one topic to one socket.
SPACING_SECONDS = 0.5
#: Longest interval between checks of a socket's right to listen.
CHECK_SECONDS = 45.0
_LONGEST_TEXT = 1024
#: Shortest sleep before the end of a key.
_SOONEST_SECONDS = 0.1

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
        #: Set after a change of the socket's key, whose end may be another one now.
        self._changed = asyncio.Event()

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
            if _count_of(self._access.tenant_id) > MOST_OF_TENANT:
                await self._refuse(NO_ROOM)
                return
            await self._listen(*_groups_of(self._access))
            # The race: the right may have ended before the socket listened for its end.
            if not await self._is_valid(self._access):
                await self._refuse(NO_ACCESS)
                return
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

    async def live_recheck(self, message: dict[str, Any]) -> None:
        """Ask at once whether the socket may still listen: a member or a key was changed."""
        if self._access is not None:
            await self._check(self._access)
            self._changed.set()

    async def live_ended(self, message: dict[str, Any]) -> None:
        """Close: the session by which the socket was opened has ended."""
        await self._refuse(NO_ACCESS)

    async def live_lost(self, message: dict[str, Any]) -> None:
        """Close: messages may have been missed, so the client has to read everything again."""
        await self._refuse(MISSED)

    async def _admit(self) -> Access | None:
        ticket = ticket_of(self.scope)
        if ticket:
            by_ticket: Access | None = await database_sync_to_async(admit_by_ticket)(
                ticket, socket_address(self.scope)
            )
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
        """Close the socket when its key ends, within a minute after any other end of its right."""
        while not self._closed:
            wait = CHECK_SECONDS * random.uniform(0.7, 1.0)  # noqa: S311 - spreads load, no secret
            self._changed.clear()
            left = await self._seconds_left(access)
            if left is not None:
                wait = min(wait, max(left, _SOONEST_SECONDS))
            with suppress(TimeoutError):
                async with asyncio.timeout(wait):
                    await self._changed.wait()
                continue
            await self._check(access)

    async def _check(self, access: Access) -> None:
        """Close the socket where its right to listen has ended; an outage of the database waits."""
        try:
            valid = await self._is_valid(access)
        except DatabaseError as error:
            log.warning("live_access.not_checked", extra={"reason": type(error).__name__})
            return
        if not valid:
            await self._refuse(NO_ACCESS)

    async def _is_valid(self, access: Access) -> bool:
        found: bool = await database_sync_to_async(is_still_valid)(access)
        return found

    async def _seconds_left(self, access: Access) -> float | None:
        """Return the time until the socket's key or token ends; None where that is unknown."""
        if access.user_id is not None:
            return None
        try:
            left: float | None = await database_sync_to_async(seconds_left)(access)
        except DatabaseError:
            return None
        return left

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
            log.debug("live_socket.gone")  # the client was faster

    @property
    def tenant_id(self) -> UUID | None:
        """The tenant that the socket listens to; None until it is admitted."""
        return self._access.tenant_id if self._access else None

    async def _end(self) -> None:
        self._closed = True
        _open.discard(self)
        if self._timer is not None:
            self._timer.cancel()
        for task in list(self._tasks):
            task.cancel()
        for group in self._groups:
            await self.channel_layer.group_discard(group, self.channel_name)


def _count_of(tenant_id: UUID) -> int:
    return sum(socket.tenant_id == tenant_id for socket in _open)


def _groups_of(access: Access) -> list[str]:
    """Return the groups that tell a socket of changes, and of the end of its right."""
    groups = [group_of(access.tenant_id), EVERYONE]
    if access.key_id is not None:
        groups.append(group_of_key(access.key_id))
    if access.sign_in_id:
        groups.append(group_of_session(access.sign_in_id))
    return groups
