"""Waiting for work: on one event loop, woken by one look, answered by the same calls as ever."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping
from functools import partial
from typing import Any
from uuid import UUID, uuid4

import pytest
from django.db import OperationalError

from api.pools import long_poll
from api.pools.long_poll import LongPoll, Wait, WaitingRoom
from api.protocol.body_limit import Message, Receive, Send
from api.protocol.request_counts import HELD_BACK

PATH = "/v1/pools/batch/lease"
TENANT = uuid4()


class Ledger:
    """What may be leased, as the look and the application under it see it."""

    def __init__(self) -> None:
        self.due = 0
        self.looks: list[dict[int, tuple[UUID, str, str, int]]] = []
        self.fails = False

    def look(self, asked: Mapping[int, tuple[UUID, str, str, int]]) -> Mapping[int, int]:
        self.looks.append(dict(asked))
        if self.fails:
            raise OperationalError("away")
        return {number: self.due for number in asked if self.due}


class Pools:
    """Django's application in small: leases one of what is due, or says that it waits."""

    def __init__(
        self, ledger: Ledger, seconds: float = 10.0, tenant: UUID = TENANT, pool: str = "pull.batch"
    ) -> None:
        self.ledger = ledger
        self.seconds = seconds
        self.tenant = tenant
        self.pool = pool
        self.bodies: list[bytes] = []
        self.counted: list[int] = []

    async def __call__(self, scope: Message, receive: Receive, send: Send) -> None:
        self.bodies.append((await receive())["body"])
        if HELD_BACK in scope:
            scope[HELD_BACK].append(partial(self.counted.append, len(self.bodies)))
        leased = min(1, self.ledger.due)
        self.ledger.due -= leased
        if not leased and "punctual.wait" in scope:
            scope["punctual.wait"].append(Wait(self.tenant, self.pool, "{}", 1, self.seconds))
        await send({"type": "http.response.start", "status": 200, "headers": []})
        await send({"type": "http.response.body", "body": b"%d" % leased})


class Call:
    """One caller: what it sends, what it is answered, and when it leaves."""

    def __init__(self, poll: LongPoll, body: bytes = b"{}", path: str = PATH) -> None:
        self.sent: list[Message] = []
        self.left = asyncio.Event()
        self._body: list[Message] = [{"type": "http.request", "body": body, "more_body": False}]
        scope = {"type": "http", "method": "POST", "path": path}
        self.task = asyncio.create_task(poll(scope, self._receive, self._send))

    async def _receive(self) -> Message:
        if self._body:
            return self._body.pop()
        await self.left.wait()
        return {"type": "http.disconnect"}

    async def _send(self, message: Message) -> None:
        self.sent.append(message)

    async def answer(self) -> bytes:
        await asyncio.wait_for(self.task, 10)
        body: bytes = self.sent[1]["body"] if self.sent else b"nothing"
        return body


@pytest.fixture
def ledger() -> Ledger:
    return Ledger()


def room_of(ledger: Ledger) -> WaitingRoom:
    return WaitingRoom(ledger.look, look_seconds=0.01)


async def eventually(holds: Callable[[], bool]) -> None:
    async with asyncio.timeout(10):
        while not holds():  # noqa: ASYNC110 - nothing tells a test of what it waits for here
            await asyncio.sleep(0)


async def until_waiting(room: WaitingRoom, count: int) -> None:
    await eventually(lambda: len(room) == count)


async def test_work_that_is_there_is_leased_without_waiting(ledger: Ledger):
    ledger.due = 1

    assert await Call(LongPoll(Pools(ledger), room_of(ledger))).answer() == b"1"
    assert ledger.looks == []


async def test_who_waits_is_woken_by_work_and_asks_again_with_the_same_body(ledger: Ledger):
    room, pools = room_of(ledger), Pools(ledger)
    call = Call(LongPoll(pools, room), b'{"worker": "w"}')
    await until_waiting(room, 1)

    ledger.due = 1

    assert await call.answer() == b"1"
    assert pools.bodies == [b'{"worker": "w"}'] * 2
    # One request, whose answer is that of the second call.
    assert pools.counted == [2]
    assert [message["type"] for message in call.sent] == [
        "http.response.start",
        "http.response.body",
    ]


async def test_without_work_the_answer_comes_when_the_time_is_over(ledger: Ledger):
    pools = Pools(ledger, seconds=0.05)
    call = Call(LongPoll(pools, room_of(ledger)))

    assert await call.answer() == b"0"
    assert pools.counted == [1]


async def test_one_look_serves_all_who_wait_and_wakes_only_as_many_as_there_is_work_for(
    ledger: Ledger,
):
    room, pools = room_of(ledger), Pools(ledger)
    poll = LongPoll(pools, room)
    calls = [Call(poll) for _ in range(5)]
    await until_waiting(room, 5)

    ledger.due = 2
    await eventually(lambda: sum(call.task.done() for call in calls) >= 2)

    # Those who came first, and nobody else was asked for.
    assert [call.task.done() for call in calls] == [True, True, False, False, False]
    assert len(pools.bodies) == 7
    assert {len(asked) for asked in ledger.looks} == {1}
    room.close()
    for call in calls:
        await call.answer()


async def test_who_leaves_while_waiting_is_given_nothing(ledger: Ledger):
    room, pools = room_of(ledger), Pools(ledger)
    call = Call(LongPoll(pools, room))
    await until_waiting(room, 1)

    call.left.set()

    assert await call.answer() == b"nothing"
    assert len(pools.bodies) == 1
    assert pools.counted == []


async def test_nobody_looks_when_nobody_waits(ledger: Ledger):
    room = room_of(ledger)
    await Call(LongPoll(Pools(ledger, seconds=0.03), room)).answer()

    await eventually(lambda: room._looker is None or room._looker.done())

    assert len(room) == 0


@pytest.mark.logs("long_poll.without_database")
async def test_a_database_that_is_away_ends_no_wait(
    ledger: Ledger, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr(long_poll, "_AWAY_SECONDS", 0.01)
    ledger.fails = True
    room = room_of(ledger)
    call = Call(LongPoll(Pools(ledger), room))
    await eventually(lambda: bool(ledger.looks))

    ledger.fails, ledger.due = False, 1

    assert await call.answer() == b"1"


async def test_a_process_that_stops_lets_nobody_wait(ledger: Ledger):
    room = room_of(ledger)
    poll = LongPoll(Pools(ledger), room)
    waiting = Call(poll)
    await until_waiting(room, 1)

    room.close()

    assert await waiting.answer() == b"0"
    assert await Call(poll).answer() == b"0"


async def test_more_than_may_wait_are_answered_at_once(
    ledger: Ledger, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr(long_poll, "MOST_WAITING", 0)

    assert await Call(LongPoll(Pools(ledger), room_of(ledger))).answer() == b"0"


async def test_a_tenant_that_waits_with_its_most_leaves_room_to_others(
    ledger: Ledger, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr(long_poll, "MOST_OF_TENANT", 1)
    room = room_of(ledger)
    waiting = Call(LongPoll(Pools(ledger), room))
    await until_waiting(room, 1)

    assert await Call(LongPoll(Pools(ledger), room)).answer() == b"0"

    other = Call(LongPoll(Pools(ledger, tenant=uuid4()), room))
    await until_waiting(room, 2)
    room.close()
    assert [await call.answer() for call in (waiting, other)] == [b"0", b"0"]


async def test_a_tenant_makes_the_query_no_longer_than_it_may(
    ledger: Ledger, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr(long_poll, "MOST_GROUPS_OF_TENANT", 1)
    room = room_of(ledger)
    waiting = Call(LongPoll(Pools(ledger), room))
    await until_waiting(room, 1)

    assert await Call(LongPoll(Pools(ledger, pool="pull.other"), room)).answer() == b"0"

    other = Call(LongPoll(Pools(ledger), room))
    await until_waiting(room, 2)
    room.close()
    assert [await call.answer() for call in (waiting, other)] == [b"0", b"0"]


async def test_a_body_that_is_too_large_is_left_to_the_application(ledger: Ledger):
    pools = Pools(ledger)
    body = b" " * (long_poll.MAX_BODY_BYTES + 1)

    assert await Call(LongPoll(pools, room_of(ledger)), body).answer() == b"0"
    assert pools.bodies == [body]


@pytest.mark.parametrize("path", ["/v1/pools/batch", "/v1/pools/a/b/lease", "/x/v1/pools/b/lease"])
async def test_other_calls_pass_as_they_are(ledger: Ledger, path: str):
    seen: list[Any] = []

    async def application(scope: Message, receive: Receive, send: Send) -> None:
        seen.append(scope)

    call = Call(LongPoll(application, room_of(ledger)), path=path)
    await call.task

    assert seen == [{"type": "http", "method": "POST", "path": path}]
