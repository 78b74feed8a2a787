"""The worker's loop on a real Valkey and a real receiver."""

from __future__ import annotations

import asyncio
import base64
import itertools
import os
import threading
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import asynccontextmanager
from dataclasses import replace
from typing import Any
from uuid import uuid4

import orjson
import pytest
import redis
from pytest_django import Settings

from shared import redis_client
from shared.conf import conf
from shared.encryption import seal_json
from shared.redis_client import (
    CONTROL_CHANNEL,
    INCARNATION_KEY,
    OUTCOME_STREAM,
    WORKER_WISHES_KEY,
    client,
)
from tests.support.killable_valkey import KillableValkey
from tests.support.raw_receiver import Conversation, RawReceiver, raw_receiver
from tests.support.waiting import until
from wire import outcomes as outcome_bytes
from wire import start_guard
from wire.heartbeats import WorkerInfo, workers
from wire.worker_wishes import Word, change
from worker import loop as worker_loop
from worker.loop import WorkerLoop

TENANT = str(uuid4())
_tokens = itertools.count(1)


@pytest.fixture(scope="module")
def own_valkey(tmp_path_factory: pytest.TempPathFactory) -> Iterator[KillableValkey]:
    valkey = KillableValkey(tmp_path_factory.mktemp("valkey"))
    yield valkey
    valkey.remove()


@pytest.fixture
def valkey(own_valkey: KillableValkey, settings: Settings) -> Iterator[KillableValkey]:
    """Point everything at the module's own server, which is empty."""
    settings.REDIS_URL = own_valkey.url
    settings.PUNCTUAL = replace(conf(), webhook_allowed_networks=("127.0.0.0/8",))
    redis_client.client.cache_clear()
    client().flushall()
    yield own_valkey
    client().close()
    redis_client.client.cache_clear()


@asynccontextmanager
async def running(
    on_fault: Callable[[], Any] | None = None, on_drained: Callable[[], Any] | None = None
) -> AsyncIterator[WorkerLoop]:
    loop = WorkerLoop("default", on_fault or _unexpected, on_drained or _unexpected)
    await asyncio.to_thread(loop.start)
    try:
        yield loop
    finally:
        await asyncio.to_thread(loop.drain, 60.0)


def _unexpected() -> None:
    raise AssertionError("the loop reported a fault")


def message(
    receiver: RawReceiver | None,
    *,
    due_in: float = 0.0,
    incarnation: str | None = None,
    **parts: Any,
) -> Any:
    """Return a batch of one execution as dispatch sends it."""
    due = now() + due_in
    # Each has its own task: a worker keeps a definition that it has read, by task and version.
    task = str(uuid4())
    sealed = seal_json({"headers": {}, "payload": {"n": 1}}, f"revision:{task}:1".encode())
    entry = {
        "id": str(uuid4()),
        "tenant": TENANT,
        "task": task,
        "revision": 1,
        "token": next(_tokens),
        "attempt": 1,
        "max_attempts": 1,
        "priority": 5,
        "due": due,
        "start_by": int((due + 10) * 1000),
        "scheduled_for": due,
        "target": {
            "method": "POST",
            "success": {"statuses": ["2xx"]},
            "timeout_seconds": 10,
            "connect_timeout_seconds": 5,
        },
        "url": f"http://127.0.0.1:{receiver.port if receiver else 9}/",
        "retry_policy": {"retry_on": []},
        "sealed": base64.b64encode(sealed).decode(),
        "payload": None,
        **parts,
    }
    return {
        "incarnation": incarnation or start_guard.current_incarnation(),
        "offset": 0.0,
        "secrets": {TENANT: []},
        "executions": [entry],
    }


def now() -> float:
    seconds, microseconds = client().time()
    return float(seconds + microseconds / 1e6)


async def outcomes(count: int) -> list[Any]:
    """Wait until workers have said this much, and return it; what is said again counts once.

    That a request has begun is left out: only one that takes longer says so.
    """

    def said() -> list[Any]:
        found: Any = client().xrange(OUTCOME_STREAM)
        frames = [frame for _, fields in found for frame in outcome_bytes.split(fields[b"d"])]
        rows = [outcome_bytes.decode(frame) for frame in dict.fromkeys(frames)]
        return [row for row in rows if row["verb"] != "started"]

    await asyncio.to_thread(until, lambda: len(said()) >= count)
    return said()


async def beaten(check: Callable[[WorkerInfo], bool]) -> WorkerInfo:
    """Wait until a worker has said something of itself, and return it."""
    await asyncio.to_thread(until, lambda: any(check(worker) for worker in workers()))
    return next(worker for worker in workers() if check(worker))


async def _answer(conversation: Conversation) -> None:
    while True:
        await conversation.read_request()
        await conversation.send(b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nhi")


async def _hold(conversation: Conversation) -> None:
    await conversation.read_request()
    await conversation.hold()


async def test_an_execution_starts_at_its_time_and_its_outcome_is_streamed(
    valkey: KillableValkey,
) -> None:
    async with raw_receiver(_answer) as receiver, running() as loop:
        batch = message(receiver, due_in=0.15)
        loop.accept(batch, 100)
        (outcome,) = await outcomes(1)

    assert (outcome["verb"], outcome["status"]) == ("succeeded", 200)
    assert outcome["worker"] == loop.worker
    assert outcome["started"] >= batch["executions"][0]["due"]
    assert outcome["timings"]["total"] > 0


async def test_a_doubled_message_runs_once(valkey: KillableValkey) -> None:
    async with raw_receiver(_answer) as receiver, running() as loop:
        batch = message(receiver)
        loop.accept(batch, 100)
        loop.accept(orjson.loads(orjson.dumps(batch)), 100)
        loop.accept(message(receiver), 100)
        said = await outcomes(2)

    assert [row["verb"] for row in said] == ["succeeded", "succeeded"]
    assert receiver.connections <= 2


async def test_a_voided_token_never_starts(valkey: KillableValkey) -> None:
    async with raw_receiver(_answer) as receiver, running() as loop:
        voided, other = message(receiver, due_in=0.1), message(receiver, due_in=0.1)
        assert start_guard.void([voided["executions"][0]["token"]]) == [""]
        loop.accept(voided, 100)
        loop.accept(other, 100)
        (outcome,) = await outcomes(1)

    assert outcome["token"] == other["executions"][0]["token"]


async def test_what_has_started_cannot_be_voided_and_names_its_worker(
    valkey: KillableValkey,
) -> None:
    async with raw_receiver(_hold) as receiver, running() as loop:
        batch = message(receiver, target=_target(timeout=0.5))
        loop.accept(batch, 100)
        await receiver.connected.wait()

        assert start_guard.void([batch["executions"][0]["token"]]) == [loop.worker]


async def test_a_flushed_redis_voids_what_was_sent_before(valkey: KillableValkey) -> None:
    async with raw_receiver(_answer) as receiver, running() as loop:
        batch = message(receiver, due_in=0.2)
        loop.accept(batch, 100)
        client().flushall()
        start_guard.current_incarnation()
        (outcome,) = await outcomes(1)

    assert (outcome["verb"], receiver.connections) == ("released", 0)


async def test_work_of_another_run_of_the_server_is_handed_back(valkey: KillableValkey) -> None:
    async with raw_receiver(_answer) as receiver, running() as loop:
        # The value came back with the data, but the marks of the last second did not.
        client().set(INCARNATION_KEY, "another-run:1")
        loop.accept(message(receiver, incarnation="another-run:1"), 100)
        (outcome,) = await outcomes(1)

    assert (outcome["verb"], receiver.connections) == ("released", 0)


async def test_it_goes_on_after_the_server_was_killed_and_came_back(valkey: KillableValkey) -> None:
    async with raw_receiver(_answer) as receiver, running() as loop:
        loop.accept(message(receiver), 100)
        await outcomes(1)
        sent_before = message(receiver, due_in=1.0)
        loop.accept(sent_before, 100)
        valkey.kill()
        valkey.start()
        redis_client.client.cache_clear()

        loop.accept(message(receiver, due_in=0.1), 100)
        said = {row["token"]: row["verb"] for row in await outcomes(3)}
        await beaten(lambda worker: worker.id == loop.worker)

    assert said.pop(sent_before["executions"][0]["token"]) == "released"
    assert set(said.values()) == {"succeeded"}


async def test_outcomes_wait_while_the_server_is_away(valkey: KillableValkey) -> None:
    async with raw_receiver(_hold) as receiver, running() as loop:
        loop.accept(message(receiver, target=_target(timeout=0.4)), 100)
        await receiver.connected.wait()
        valkey.kill()
        await asyncio.wait_for(receiver.script_ended.wait(), 60)
        valkey.start()
        redis_client.client.cache_clear()

        said = await outcomes(1)

    assert said[-1]["error_code"] == "timeout_total"


async def test_the_heartbeat_says_what_the_worker_can_take_and_does(
    valkey: KillableValkey, settings: Settings, monkeypatch: pytest.MonkeyPatch
) -> None:
    settings.PUNCTUAL = replace(conf(), worker_heartbeat_seconds=0.05)
    async with raw_receiver(_hold) as receiver, running() as loop:
        monkeypatch.setattr(loop._kinds, "earliest_certificate_end", lambda: 4e9)
        flying = message(receiver, target=_target(timeout=60.0))
        loop.accept(flying, 100)
        loop.accept(message(receiver, due_in=600.0), 100)

        beat = await beaten(
            lambda worker: (worker.details["running"], worker.details["held"]) == (1, 1)
        )

        assert (beat.id, beat.pool, beat.details["pid"]) == (loop.worker, "default", os.getpid())
        assert (beat.slots, beat.hold) == (512, 8000)
        assert beat.details["certificate_ends_at"] == 4e9
        assert beat.takes_work
        token = flying["executions"][0]["token"]
        client().publish(CONTROL_CHANNEL, orjson.dumps({"cancel": [token]}))
        await asyncio.wait_for(receiver.script_ended.wait(), 60)
    assert workers() == []


@pytest.mark.logs("control_message.refused")
async def test_a_cancel_on_the_control_channel_aborts_the_request(valkey: KillableValkey) -> None:
    async with raw_receiver(_hold) as receiver, running() as loop:
        batch = message(receiver)
        loop.accept(batch, 100)
        await receiver.connected.wait()
        for nonsense in ("not json", "[]", '{"cancel": 5}', '{"stop": [1]}'):
            client().publish(CONTROL_CHANNEL, nonsense)

        token = batch["executions"][0]["token"]
        client().publish(CONTROL_CHANNEL, orjson.dumps({"cancel": [token]}))
        await asyncio.wait_for(receiver.script_ended.wait(), 60)
        said = await outcomes(1)

    assert [row["verb"] for row in said] == ["cancelled"]


@pytest.mark.logs("control_channel.lost")
async def test_cancelling_works_again_after_the_connection_was_lost(valkey: KillableValkey) -> None:
    async with raw_receiver(_hold) as receiver, running() as loop:
        await asyncio.to_thread(until, _listened)
        client().execute_command("CLIENT", "KILL", "TYPE", "pubsub")
        batch = message(receiver)
        loop.accept(batch, 100)
        await receiver.connected.wait()
        await asyncio.to_thread(until, _listened)

        token = batch["executions"][0]["token"]
        client().publish(CONTROL_CHANNEL, orjson.dumps({"cancel": [token]}))
        await asyncio.wait_for(receiver.script_ended.wait(), 60)


async def test_draining_hands_back_what_is_held_finishes_what_flies_and_says_goodbye(
    valkey: KillableValkey,
) -> None:
    async with raw_receiver(_hold) as receiver:
        async with running() as loop:
            target = _target(timeout=0.5)
            flying = message(receiver, target=target)
            held = message(receiver, due_in=60.0, target=target)
            loop.accept(flying, 100)
            loop.accept(held, 100)
            await receiver.connected.wait()
            loop.stop_taking()
            late = message(receiver)
            loop.accept(late, 100)
        said = {row["token"]: row for row in await outcomes(3)}

    assert said[held["executions"][0]["token"]]["verb"] == "released"
    assert said[late["executions"][0]["token"]]["verb"] == "released"
    assert said[flying["executions"][0]["token"]]["error_code"] == "timeout_total"
    assert workers() == []


async def test_a_worker_says_that_it_drains_before_it_hands_anything_back(
    valkey: KillableValkey,
) -> None:
    async with raw_receiver(_hold) as receiver, running() as loop:
        loop.accept(message(receiver, target=_target(timeout=1.0)), 100)
        loop.accept(message(receiver, due_in=60.0), 100)
        await receiver.connected.wait()

        loop.stop_taking()
        await outcomes(1)

        assert [worker.takes_work for worker in workers()] == [False]


async def test_a_quiet_worker_hands_back_finishes_works_again_and_drains_when_wished(
    valkey: KillableValkey, settings: Settings
) -> None:
    settings.PUNCTUAL = replace(conf(), worker_heartbeat_seconds=0.05)
    drained = threading.Event()
    intake: list[bool] = []
    async with raw_receiver(_hold) as receiver, running(on_drained=drained.set) as loop:
        loop.read_queues_by(intake.append)
        flying, held = message(receiver), message(receiver, due_in=600.0)
        loop.accept(flying, 100)
        loop.accept(held, 100)
        await receiver.connected.wait()
        await beaten(lambda worker: worker.details["running"] == 1)

        assert change(Word.QUIET, {loop.worker: 0}) == ""
        quiet = await beaten(lambda worker: worker.is_settled and worker.state == "quiet")
        assert (quiet.details["running"], intake[-1]) == (1, False)
        late = message(receiver)
        loop.accept(late, 100)
        said = {row["token"]: row["verb"] for row in await outcomes(2)}
        assert said == dict.fromkeys((_token(held), _token(late)), "released")

        # A flush loses the wish, and the worker puts it back.
        client().flushall()
        await beaten(lambda worker: (worker.state, worker.wish.version) == ("quiet", 1))
        assert change(Word.WORK, {loop.worker: 1}) == ""
        await beaten(lambda worker: worker.takes_work)
        assert intake[-1]

        assert change(Word.DRAIN, {loop.worker: 2}) == ""
        await beaten(lambda worker: worker.is_settled and worker.state == "draining")
        assert not drained.is_set()
        client().publish(CONTROL_CHANNEL, orjson.dumps({"cancel": [_token(flying)]}))
        await asyncio.to_thread(until, drained.is_set)
        assert workers()[0].wish.word == Word.END
    assert workers() == []
    assert client().hkeys(WORKER_WISHES_KEY) == []


async def test_a_part_that_drops_its_cancellation_does_not_keep_the_worker(
    valkey: KillableValkey,
) -> None:
    dropped = threading.Event()

    async def stubborn() -> None:
        try:
            await asyncio.Event().wait()
        except asyncio.CancelledError:
            dropped.set()
        await asyncio.Event().wait()

    async def add_to(loop: WorkerLoop) -> None:
        loop._tasks.append(asyncio.create_task(stubborn()))
        await asyncio.sleep(0)

    async with running() as loop:
        await asyncio.wrap_future(asyncio.run_coroutine_threadsafe(add_to(loop), loop._loop))

    assert dropped.is_set()
    assert workers() == []


@pytest.mark.logs("drain.without_redis")
async def test_draining_without_redis_still_waits_for_what_flies(
    valkey: KillableValkey, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with raw_receiver(_hold) as receiver:
        loop = WorkerLoop("default", on_fault=_unexpected)
        await asyncio.to_thread(loop.start)
        loop.accept(message(receiver, target=_target(timeout=0.5)), 100)
        await receiver.connected.wait()
        valkey.kill()

        monkeypatch.setattr(worker_loop, "_FLUSH_SECONDS", 60.0)
        drained = asyncio.create_task(asyncio.to_thread(loop.drain, 1.0))
        await asyncio.wait_for(receiver.script_ended.wait(), 60)
        valkey.start()
        redis_client.client.cache_clear()
        await drained

        # To its own end, not cut off by the stop; and its outcome found Redis again.
        assert (await outcomes(1))[-1]["error_code"] == "timeout_total"


@pytest.mark.logs("worker_part.crashed", part="control")
async def test_a_part_that_dies_is_reported(
    valkey: KillableValkey, monkeypatch: pytest.MonkeyPatch
) -> None:
    reported = asyncio.Event()
    here = asyncio.get_running_loop()

    def broken(*_: object) -> None:
        raise RuntimeError("planted")

    monkeypatch.setattr("worker.runner.Runner.cancel", broken)
    async with running(lambda: here.call_soon_threadsafe(reported.set)):
        await asyncio.to_thread(until, _listened)
        client().publish(CONTROL_CHANNEL, orjson.dumps({"cancel": [1]}))
        await asyncio.wait_for(reported.wait(), 60)


@pytest.mark.logs("worker.without_redis", reason="ConnectionError")
async def test_a_regular_job_goes_on_where_redis_was_away() -> None:
    done = asyncio.Event()

    async def job() -> None:
        if not tries:
            tries.append(1)
            raise redis.ConnectionError
        done.set()

    tries: list[int] = []
    regular = asyncio.create_task(WorkerLoop("default")._every(0, job))
    await asyncio.wait_for(done.wait(), 60)
    regular.cancel()


@pytest.mark.logs("worker.waiting", reason="ConnectionError")
async def test_a_worker_waits_for_redis_before_it_takes_work(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    class Clock:
        calibrated = False
        asked = 0

        async def calibrate(self, connection: object) -> None:
            self.asked += 1
            if self.asked == 1:
                raise redis.ConnectionError
            self.calibrated = True

    async def no_sleep(seconds: float) -> None:
        return

    clock: Any = Clock()
    loop = WorkerLoop("default")
    monkeypatch.setattr(loop, "_clock", clock, raising=False)
    monkeypatch.setattr(loop, "_redis", None, raising=False)
    monkeypatch.setattr(asyncio, "sleep", no_sleep)

    await loop._until_calibrated()

    assert clock.asked == 10


@pytest.mark.logs("worker_loop.crashed")
def test_a_loop_that_breaks_ends_its_process(monkeypatch: pytest.MonkeyPatch) -> None:
    class Broken:
        def run_until_complete(self, work: Any) -> None:
            work.close()

        def run_forever(self) -> None:
            raise RuntimeError("planted")

    ended: list[bool] = []
    loop = WorkerLoop("default")
    monkeypatch.setattr(worker_loop, "end_at_once", lambda: ended.append(True))
    monkeypatch.setattr(asyncio, "set_event_loop", lambda loop: None)
    monkeypatch.setattr(loop, "_loop", Broken())

    with pytest.raises(RuntimeError, match="planted"):
        loop._run()

    assert ended == [True]


def test_a_loop_that_cannot_be_set_up_says_so(valkey: KillableValkey, settings: Settings) -> None:
    settings.PUNCTUAL = replace(conf(), webhook_allowed_networks=("nonsense",))

    with pytest.raises(ValueError, match="nonsense"):
        WorkerLoop("default", on_fault=_unexpected).start()


def _token(batch: Any) -> int:
    token: int = batch["executions"][0]["token"]
    return token


def _target(timeout: float) -> Any:
    return {
        "method": "POST",
        "success": {"statuses": ["2xx"]},
        "timeout_seconds": timeout,
        "connect_timeout_seconds": 5,
    }


def _listened() -> bool:
    return bool(client().pubsub_numsub(CONTROL_CHANNEL)[0][1])
