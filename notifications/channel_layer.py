"""The Channels layer of live updates: groups over Redis pub/sub, for this process's sockets.

Chosen by ``CHANNEL_LAYERS``. Delivers at most once and keeps no backlog, which suits messages of
the kind "read again". Unlike Channels' own layers it reports losses: when the connection to Redis
is lost, or a socket does not keep up, each affected socket gets a ``live.lost`` message, so that
its client reads everything again. There is a connection only while there are groups.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Mapping
from typing import Any
from uuid import uuid4
from weakref import WeakKeyDictionary

import orjson
import redis
from redis.asyncio.client import PubSub
from redis.asyncio.retry import Retry
from redis.backoff import NoBackoff

from shared import cancelling
from shared.redis_client import ConnectionFailed, async_client, client

log = logging.getLogger(__name__)

LOST = {"type": "live.lost"}
_PREFIX = "punctual:live:"
#: The most messages that wait for one socket.
_BACKLOG = 100
#: A silent connection gets a ping after this time, and counts as lost after the same time again.
_SILENCE_SECONDS = 10.0
_CONFIRM_SECONDS = 5.0


def publish(group: str, message: Mapping[str, Any]) -> None:
    """Send a message to the group's sockets of all processes; raise ConnectionFailed."""
    client().publish(_PREFIX + group, orjson.dumps(message))


class LiveChannelLayer:
    """The interface of a Channels layer; each event loop that uses it has its own state."""

    extensions = ("groups",)

    def __init__(self) -> None:
        self._hubs: WeakKeyDictionary[asyncio.AbstractEventLoop, Hub] = WeakKeyDictionary()

    @property
    def _hub(self) -> Hub:
        loop = asyncio.get_running_loop()
        hub = self._hubs.get(loop)
        if hub is None:
            hub = self._hubs[loop] = Hub()
        return hub

    async def new_channel(self, prefix: str = "live") -> str:
        """Return the name of a new channel of this process."""
        return self._hub.open(f"{prefix}.{uuid4().hex}")

    async def receive(self, channel: str) -> Any:
        """Return the channel's next message; a cancellation closes the channel."""
        hub = self._hub
        try:
            return await hub.queue(channel).get()
        except asyncio.CancelledError:
            await hub.close(channel)
            raise

    async def send(self, channel: str, message: Mapping[str, Any]) -> None:
        """Send to a channel of this process."""
        self._hub.put(channel, message)

    async def group_add(self, group: str, channel: str) -> None:
        """Add the channel to the group; raise ConnectionFailed."""
        await self._hub.join(group, channel)

    async def group_discard(self, group: str, channel: str) -> None:
        """Take the channel out of the group."""
        await self._hub.leave(group, channel)

    async def group_send(self, group: str, message: Mapping[str, Any]) -> None:
        """Send to the group; raise ConnectionFailed."""
        await asyncio.to_thread(publish, group, message)


class Hub:
    """The channels of one event loop and their one connection."""

    def __init__(self) -> None:
        self._queues: dict[str, asyncio.Queue[Any]] = {}
        self._members: dict[str, set[str]] = {}
        self._confirmations: dict[str, asyncio.Future[None]] = {}
        self._lock = asyncio.Lock()
        self._pubsub: PubSub | None = None
        self._reader: asyncio.Task[None] | None = None

    def open(self, channel: str) -> str:
        """Make a channel."""
        self._queues[channel] = asyncio.Queue(_BACKLOG)
        return channel

    def queue(self, channel: str) -> asyncio.Queue[Any]:
        """Return the queue of messages that wait for a channel."""
        return self._queues[channel]

    def put(self, channel: str, message: Mapping[str, Any]) -> None:
        """Queue a message for a channel; a full queue is replaced by one ``live.lost``."""
        queue = self._queues.get(channel)
        if queue is None:
            return
        if queue.full():
            while not queue.empty():
                queue.get_nowait()
            message = LOST
        queue.put_nowait(message)

    async def close(self, channel: str) -> None:
        """Forget a channel and take it out of its groups."""
        self._queues.pop(channel, None)
        for group in [group for group, members in self._members.items() if channel in members]:
            await self.leave(group, channel)

    async def join(self, group: str, channel: str) -> None:
        """Add a channel to a group; the subscription is in force when this returns."""
        async with self._lock:
            if group not in self._members:
                await self._subscribe(group)
            self._members.setdefault(group, set()).add(channel)

    async def leave(self, group: str, channel: str) -> None:
        """Take a channel out of a group; without groups the connection is closed."""
        async with self._lock:
            members = self._members.get(group)
            if members is None or channel not in members:
                return
            members.remove(channel)
            if members:
                return
            del self._members[group]
            if not self._members:
                await self._disconnect()
            elif self._pubsub is not None:
                await _quietly_unsubscribe(self._pubsub, group)

    async def _subscribe(self, group: str) -> None:
        pubsub = self._connected()
        confirmed = asyncio.get_running_loop().create_future()
        self._confirmations[group] = confirmed
        try:
            await pubsub.subscribe(_PREFIX + group)
            if self._reader is None:
                self._reader = asyncio.create_task(self._read(pubsub))
            # wait_for would lose a cancellation that meets the confirmation (Python 3.11).
            async with asyncio.timeout(_CONFIRM_SECONDS):
                await confirmed
            if self._pubsub is not pubsub:
                raise redis.ConnectionError("lost while subscribing")
        except (*ConnectionFailed, TimeoutError, asyncio.CancelledError):
            if not self._members:
                await self._disconnect()
            raise
        finally:
            self._confirmations.pop(group, None)

    def _connected(self) -> PubSub:
        if self._pubsub is None:
            # No silent reconnection: messages missed meanwhile would go unnoticed.
            connection = async_client(
                socket_timeout=None, retry=Retry(NoBackoff(), 0), health_check_interval=0
            )
            self._pubsub = connection.pubsub()
        return self._pubsub

    async def _disconnect(self) -> None:
        reader, pubsub = self._reader, self._pubsub
        self._reader = self._pubsub = None
        if reader is not None and reader is not asyncio.current_task():
            await cancelling.end(reader)
        if pubsub is not None:
            await _close(pubsub)

    async def _read(self, pubsub: PubSub) -> None:
        try:
            while True:
                self._take(await _next(pubsub))
        except (*ConnectionFailed, TimeoutError) as error:
            log.warning("live_connection.lost", extra={"reason": type(error).__name__})
        self._lose(pubsub)
        await _close(pubsub)

    def _lose(self, pubsub: PubSub) -> None:
        if self._pubsub is not pubsub:
            return
        self._reader = self._pubsub = None
        for confirmed in self._confirmations.values():
            if not confirmed.done():
                confirmed.set_exception(redis.ConnectionError("lost while subscribing"))
        members, self._members = self._members, {}
        for channel in set().union(*members.values()):
            self.put(channel, LOST)

    def _take(self, message: Mapping[str, Any]) -> None:
        group = message["channel"].decode().removeprefix(_PREFIX)
        if message["type"] == "subscribe":
            confirmed = self._confirmations.get(group)
            if confirmed is not None and not confirmed.done():
                confirmed.set_result(None)
        elif message["type"] == "message":
            try:
                content = orjson.loads(message["data"])
            except orjson.JSONDecodeError:
                log.warning("live_message.not_understood", extra={"group": group})
                return
            for channel in self._members.get(group, ()):
                self.put(channel, content)


async def _next(pubsub: PubSub) -> Mapping[str, Any]:
    """Return the next message about a group; raise TimeoutError when the server does not answer."""
    asked = False
    while True:
        message: Mapping[str, Any] | None = await pubsub.get_message(timeout=_SILENCE_SECONDS)
        if message is None:
            if asked:
                raise TimeoutError
            await pubsub.ping()
        asked = message is None
        if message is not None and message["type"] != "pong":
            return message


async def _quietly_unsubscribe(pubsub: PubSub, group: str) -> None:
    try:
        await pubsub.unsubscribe(_PREFIX + group)
    except ConnectionFailed:
        log.debug("live_unsubscribe.failed")  # the reader notices, and notifies every socket


async def _close(pubsub: PubSub) -> None:
    connection = pubsub.connection_pool
    await pubsub.aclose()
    await connection.disconnect()
