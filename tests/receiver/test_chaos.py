from __future__ import annotations

import asyncio
from urllib.parse import quote

import pytest

from receiver import chaos as receiver_chaos
from receiver.server import Receiver
from tests.receiver.calls import OTHER, OWN, arrived, ask, request, running, send
from tests.support.http_receiver import HttpReceiver, http_receiver
from tests.support.waiting import until


def chaos(receiver: HttpReceiver | str, query: str = "") -> str:
    url = receiver if isinstance(receiver, str) else receiver.url
    return f"/{OWN}/chaos?to={quote(url, safe='')}{query}"


async def post(receiver: Receiver, target: str, webhook_id: str = "a") -> bytes:
    data = request(target, "POST", b'{"n": 1}', connection="close", webhook_id=webhook_id)
    try:
        return await send(receiver, data)
    except ConnectionResetError:  # hung up on, as asked for
        return b""


async def test_without_trouble_request_and_answer_pass_through():
    with http_receiver() as users:
        users.status, users.body, users.headers = 503, b"later", {"Retry-After": "3"}
        async with running() as receiver:
            answer = await post(receiver, chaos(users))

    (got,) = users.requests
    assert (got.body, got.headers["webhook-id"]) == (b'{"n": 1}', "a")
    assert answer.startswith(b"HTTP/1.1 503")
    assert b"retry-after: 3" in answer
    assert b"X-Receiver-Chaos: none" in answer
    assert answer.endswith(b"later")


async def test_a_duplicated_request_arrives_twice_with_the_same_id():
    with http_receiver() as users:
        async with running() as receiver:
            answer = await post(receiver, chaos(users, "&duplicate=1"))

    assert [got.headers["webhook-id"] for got in users.requests] == ["a", "a"]
    assert b"X-Receiver-Chaos: sent twice" in answer


async def test_a_dropped_answer_was_processed():
    with http_receiver() as users:
        async with running() as receiver:
            answer = await post(receiver, chaos(users, "&drop_answers=1"))

    assert (answer, len(users.requests)) == (b"", 1)


async def test_later_requests_overtake_held_ones_and_none_is_lost():
    target = "&reorder=3&seed=1&hold_ms=50"
    with http_receiver() as users:
        async with running() as receiver:
            names = [f"{number:02}" for number in range(20)]
            calls = [post(receiver, chaos(users, target), name) for name in names]
            answers = await asyncio.gather(*calls)

    arrived = [got.headers["webhook-id"] for got in users.requests]
    assert sorted(arrived) == names
    assert arrived != names
    assert all(answer.startswith(b"HTTP/1.1 200") for answer in answers)
    assert any(b"held back" in answer for answer in answers)


async def test_the_same_seed_makes_the_same_trouble():
    async def troubled() -> list[bytes]:
        async with running() as receiver:
            target = chaos("/ok", "&duplicate=0.5&seed=7")
            return [await post(receiver, target) for _ in range(12)]

    first, second = await troubled(), await troubled()

    assert first == second
    assert 0 < sum(b"sent twice" in answer for answer in first) < 12


@pytest.mark.parametrize(
    "query",
    [
        "",
        "?to=x",
        "?to=http://10.1.2.3/",
        "?to=/ok&duplicate=2",
        "?to=/ok&reorder=101",
        "?to=/ok&hold_ms=0",
    ],
)
async def test_useless_queries_are_refused_with_the_reason(query: str):
    async with running() as receiver:
        status, body = await ask(receiver, f"/{OWN}/chaos{query}")

    assert status == 400
    assert body["error"]


async def test_what_webhooks_may_not_reach_is_not_reached_through_it():
    async with running(forward_to=()) as receiver:
        with http_receiver() as users:
            refused = await ask(receiver, chaos(users))
            allowed = await ask(receiver, chaos("/ok"))

    assert (refused[0], users.requests, allowed[0]) == (400, [], 200)


async def test_a_receiver_that_is_not_there_is_a_bad_gateway():
    with http_receiver() as users:
        pass
    async with running() as receiver:
        status, body = await ask(receiver, chaos(users))

    assert (status, body["error"]) == (502, "connection_refused")


async def test_requests_under_way_are_bounded(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(receiver_chaos, "MAX_UNDER_WAY", 1)
    with http_receiver() as users:
        users.silent = True
        async with running() as receiver:
            _, writer = await asyncio.open_connection("127.0.0.1", receiver.port)
            writer.write(request(chaos(users)))
            await asyncio.to_thread(until, lambda: users.requests)
            status, _ = await ask(receiver, chaos(users))
            other, _ = await ask(receiver, f"/{OTHER}/chaos?to=/ok")
            writer.close()

    assert (status, other) == (503, 200)


async def test_remembered_queries_are_bounded(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(receiver_chaos, "MAX_ROADS", 2)
    async with running() as receiver:
        for seed in range(5):
            await ask(receiver, chaos("/ok", f"&seed={seed}"))

        assert receiver._chaos is not None
        assert len(receiver._chaos._roads[f"/{OWN}"]) == 2


async def test_a_path_is_forwarded_to_below_the_own_segment():
    async with running() as receiver:
        await ask(receiver, chaos("/status/418"))

        found = await arrived(receiver)

    assert [one["path"] for one in found] == ["/chaos", "/status/418"]


async def test_queries_are_remembered_for_few_tenants(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(receiver_chaos, "_MAX_TENANTS", 1)
    async with running() as receiver:
        for segment in (OWN, OTHER):
            await ask(receiver, f"/{segment}/chaos?to=/ok")

        assert receiver._chaos is not None
        assert list(receiver._chaos._roads) == [f"/{OTHER}"]
