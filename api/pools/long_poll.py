"""Waiting for work without a thread or a connection to the database: the long poll of leases.

An ASGI application around Django's. A lease is an ordinary call. When it finds no work and its body
asks to wait, the view notes that on the request's scope, and the caller waits here. Four times a
second one query for all waiting callers of this process finds the ones that could lease now. Their
calls are then made again, with all their checks. A caller that leaves while waiting gets no lease.
"""

from __future__ import annotations

import asyncio
import logging
import re
from collections import deque
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field
from typing import NamedTuple, cast
from uuid import UUID

from channels.db import database_sync_to_async
from django.db import Error as DatabaseError
from rest_framework.request import Request

from api.protocol.body_limit import Application, Message, Receive, Send
from api.protocol.request_counts import HELD_BACK
from executions.external import pull_leases
from shared import tenant_scope
from shared.tenant_scope import Purpose

log = logging.getLogger("executions.api.long_poll")

#: Interval between the queries for all waiting callers of this process.
LOOK_SECONDS = 0.25
#: Interval after the database has failed to answer.
_AWAY_SECONDS = 1.0
#: The most callers that wait in a process; further ones are answered at once.
MOST_WAITING = 10_000
#: The most callers of one tenant: a quarter of the process is left to others.
MOST_OF_TENANT = MOST_WAITING * 3 // 4
#: The most pairs of pool and labels that a tenant waits for: each is a part of every query.
MOST_GROUPS_OF_TENANT = 500
#: A lease's body is small; a larger one is Django's to refuse.
MAX_BODY_BYTES = 64 * 1024

_PATH = re.compile(r"/v1/pools/[^/]+/lease")
_ASKED = "punctual.wait"

#: Tenant, pool of the ledger, labels as text.
Group = tuple[UUID, str, str]
Look = Callable[[Mapping[int, tuple[UUID, str, str, int]]], Mapping[int, int]]


class Wait(NamedTuple):
    """A lease that found nothing and waits."""

    tenant_id: UUID
    pool: str
    labels: str
    most: int
    seconds: float


def ask_to_wait(request: Request, wait: Wait) -> None:
    """Note on the scope that the caller waits; without LongPoll around, it is answered at once."""
    scope = getattr(request._request, "scope", {})
    if wait.seconds > 0 and _ASKED in scope:
        scope[_ASKED].append(wait)


@dataclass(slots=True)
class WaitingRoom:
    """The waiting callers of this process by tenant, pool and labels; all on one event loop."""

    look: Look
    look_seconds: float = LOOK_SECONDS
    closed: bool = False
    _groups: dict[Group, deque[tuple[asyncio.Future[bool], int]]] = field(default_factory=dict)
    _looker: asyncio.Task[None] | None = None

    def __len__(self) -> int:
        return sum(len(queue) for queue in self._groups.values())

    def enter(self, wait: Wait) -> asyncio.Future[bool]:
        """Return a future, done once the caller could lease; a caller that leaves cancels it."""
        woken: asyncio.Future[bool] = asyncio.get_running_loop().create_future()
        group = (wait.tenant_id, wait.pool, wait.labels)
        if self.closed or len(self) >= MOST_WAITING or not self._has_room(group):
            woken.cancel()
            return woken
        self._groups.setdefault(group, deque()).append((woken, wait.most))
        if self._looker is None or self._looker.done():
            self._looker = asyncio.get_running_loop().create_task(self._look_while_waited())
        return woken

    def _has_room(self, group: Group) -> bool:
        own = [len(queue) for (tenant, *_), queue in self._groups.items() if tenant == group[0]]
        return sum(own) < MOST_OF_TENANT and (
            group in self._groups or len(own) < MOST_GROUPS_OF_TENANT
        )

    def close(self) -> None:
        """End every wait and begin no new one: the process stops."""
        self.closed = True
        for queue in self._groups.values():
            for woken, _ in queue:
                woken.cancel()
        self._groups.clear()

    async def _look_while_waited(self) -> None:
        while self._forget_the_gone():
            pause = self.look_seconds
            numbered = dict(enumerate(self._groups))
            asked = {
                number: (*group, sum(most for _, most in self._groups[group]))
                for number, group in numbered.items()
            }
            try:
                found = await database_sync_to_async(self.look)(asked)
            except DatabaseError as error:
                # The callers wait on, and get their empty answer when their time is over.
                log.warning("long_poll.without_database", extra={"reason": type(error).__name__})
                found, pause = {}, _AWAY_SECONDS
            for number, count in found.items():
                self._wake(numbered[number], count)
            await asyncio.sleep(pause)

    def _forget_the_gone(self) -> bool:
        for group, queue in list(self._groups.items()):
            kept = deque(one for one in queue if not one[0].done())
            if kept:
                self._groups[group] = kept
            else:
                del self._groups[group]
        return bool(self._groups)

    def _wake(self, group: Group, count: int) -> None:
        """Wake as many callers of a group as the work suffices for, in the order of arrival."""
        queue = self._groups.get(group, deque())
        while queue and count > 0:
            woken, most = queue.popleft()
            if not woken.done():
                woken.set_result(True)
                count -= most


def _ready(waiting: Mapping[int, tuple[UUID, str, str, int]]) -> dict[int, int]:
    """Ask for the callers of all tenants at once."""
    with tenant_scope.across(Purpose.LONG_POLL):
        return pull_leases.ready(waiting)


#: The waiting callers of this process.
ROOM = WaitingRoom(_ready)


class LongPoll:
    """Wrap an ASGI application; all calls but leases pass through unchanged."""

    def __init__(self, application: Application, room: WaitingRoom = ROOM) -> None:
        self._application = application
        self._room = room

    async def __call__(self, scope: Message, receive: Receive, send: Send) -> None:
        """Pass a call on; repeat a waiting lease when there may be work for it."""
        with tenant_scope.of_request():
            await self._pass(scope, receive, send)

    async def _pass(self, scope: Message, receive: Receive, send: Send) -> None:
        if not _is_lease(scope):
            await self._application(scope, receive, send)
            return
        body, whole = await _read(receive)
        if not whole:
            await self._application(scope, _chained(body, receive), send)
            return
        gone = asyncio.ensure_future(_until_gone(receive))
        try:
            answer = await self._answer(scope, body, gone)
        finally:
            gone.cancel()
        for message in answer:
            await send(message)

    async def _answer(
        self, scope: Message, body: list[Message], gone: asyncio.Future[None]
    ) -> list[Message]:
        """Return the answer to be sent; an empty list for a caller that has left."""
        ends_at: float | None = None
        loop = asyncio.get_running_loop()
        while True:
            asked: list[Wait] = []
            answer: list[Message] = []
            counts: list[Callable[[], None]] = []
            within = {**scope, _ASKED: asked, HELD_BACK: counts}
            await self._application(within, _replayed(body), _gather(answer))
            if not asked:
                return _counted(answer, counts)
            ends_at = ends_at or loop.time() + asked[0].seconds
            woken = self._room.enter(asked[0])
            await asyncio.wait(
                (woken, gone),
                timeout=max(0.0, ends_at - loop.time()),
                return_when=asyncio.FIRST_COMPLETED,
            )
            if gone.done():
                woken.cancel()
                return []
            if not woken.done() or woken.cancelled():
                woken.cancel()
                return _counted(answer, counts)


def _counted(answer: list[Message], counts: list[Callable[[], None]]) -> list[Message]:
    """Return the answer that the caller gets, counted: one request, however often it was asked."""
    for count in counts:
        count()
    return answer


def _is_lease(scope: Message) -> bool:
    return (
        scope["type"] == "http"
        and scope["method"] == "POST"
        and _PATH.fullmatch(scope["path"]) is not None
    )


async def _read(receive: Receive) -> tuple[list[Message], bool]:
    """Return the messages that arrived, and whether they are a whole body of a lease's size."""
    body: list[Message] = []
    size = 0
    while True:
        message = await receive()
        body.append(message)
        if message["type"] != "http.request":
            return body, False
        size += len(message.get("body", b""))
        if size > MAX_BODY_BYTES:
            return body, False
        if not message.get("more_body", False):
            return body, True


async def _until_gone(receive: Receive) -> None:
    while (await receive())["type"] != "http.disconnect":
        pass


def _replayed(body: list[Message]) -> Receive:
    """Return a receive that gives the body again, then blocks: a begun call is never aborted."""
    left = iter(body)

    async def receive() -> Message:
        for message in left:
            return message
        return cast(Message, await asyncio.get_running_loop().create_future())

    return receive


def _chained(body: list[Message], receive: Receive) -> Receive:
    left = iter(body)

    async def chained() -> Message:
        for message in left:
            return message
        return await receive()

    return chained


def _gather(answer: list[Message]) -> Callable[[Message], Awaitable[None]]:
    async def send(message: Message) -> None:
        answer.append(message)

    return send
