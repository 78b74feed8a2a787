"""Outcomes are gathered, sent in bounded entries, and kept while Redis is away."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from dataclasses import replace
from typing import Any, cast

import pytest
import redis
from pytest_django import Settings

from shared.conf import conf
from shared.redis_client import OUTCOME_PROMPT, OUTCOME_STREAM, async_client, client
from wire import outcomes
from worker.outbox import Outbox


class Stream:
    """Takes entries, and fails as often as it is told."""

    def __init__(self, failures: int = 0, error: Exception | None = None) -> None:
        self.failures = failures
        self.error = error or redis.ConnectionError("away")
        self.entries: list[list[Any]] = []
        self.incarnation: bytes | None = b"run:one"

    async def get(self, name: str) -> bytes | None:
        return self.incarnation

    async def xadd(self, name: str, fields: dict[str, bytes]) -> None:
        if self.failures:
            self.failures -= 1
            raise self.error
        self.entries.append([outcomes.decode(frame) for frame in outcomes.split(fields["d"])])


class PromptStream(Stream):
    """Takes entries that others wait for; calls ``meanwhile`` while it does."""

    meanwhile: Callable[[], None] = staticmethod(lambda: None)

    def pipeline(self, transaction: bool) -> PromptPipeline:
        return PromptPipeline(self)


class PromptPipeline:
    """Adds its entry to the stream when it is executed."""

    def __init__(self, stream: PromptStream) -> None:
        self.stream = stream
        self.fields: dict[str, bytes] = {}

    async def __aenter__(self) -> PromptPipeline:
        return self

    async def __aexit__(self, *_: object) -> None:
        pass

    def xadd(self, name: str, fields: dict[str, bytes]) -> None:
        self.fields = fields

    def lpush(self, name: str, value: bytes) -> None:
        assert (name, value) == (OUTCOME_PROMPT, b"1")

    def ltrim(self, name: str, start: int, end: int) -> None:
        assert (name, start, end) == (OUTCOME_PROMPT, 0, 0)

    async def execute(self) -> None:
        self.stream.meanwhile()
        await self.stream.xadd(OUTCOME_STREAM, self.fields)


def put(outbox: Outbox, *, prompt: bool = False, **row: Any) -> None:
    given: Any = row
    outbox.put(given, prompt=prompt)


async def send(stream: Stream, count: int) -> None:
    outbox = Outbox(stream)  # type: ignore[arg-type]  # only xadd is called
    sender = asyncio.create_task(outbox.run())
    for number in range(count):
        put(outbox, token=number)
    await asyncio.wait_for(outbox.flushed(), 60)
    sender.cancel()
    assert len(outbox) == 0


async def test_outcomes_that_come_together_travel_in_one_entry() -> None:
    stream = Stream()

    await send(stream, 3)

    assert stream.entries == [[{"token": 0}, {"token": 1}, {"token": 2}]]


@pytest.mark.usefixtures("django_db_modify_db_settings")
async def test_a_prompt_outcome_does_not_wait_for_the_usual_time(settings: Settings) -> None:
    # The usual time would outlast the test.
    usual = conf()
    settings.PUNCTUAL = replace(conf(), outcome_flush_seconds=3600.0)
    connection = async_client()
    outbox = Outbox(connection)
    sender = asyncio.create_task(outbox.run())
    put(outbox, token=1)
    put(outbox, prompt=True, token=2)

    await asyncio.wait_for(outbox.flushed(), 60)

    [(_, entry)] = cast(Any, client().xrange(OUTCOME_STREAM))
    assert [outcomes.decode(frame)["token"] for frame in outcomes.split(entry[b"d"])] == [1, 2]
    assert client().llen(OUTCOME_PROMPT) == 1

    client().delete(OUTCOME_PROMPT)
    settings.PUNCTUAL = usual
    put(outbox, token=3)
    await asyncio.wait_for(outbox.flushed(), 60)
    sender.cancel()
    await connection.aclose()

    assert (client().xlen(OUTCOME_STREAM), client().llen(OUTCOME_PROMPT)) == (2, 0)


@pytest.mark.usefixtures("django_db_modify_db_settings")
async def test_of_any_number_of_prompt_entries_one_is_told(settings: Settings) -> None:
    settings.PUNCTUAL = replace(conf(), outcome_batch=1)
    connection = async_client()
    outbox = Outbox(connection)
    sender = asyncio.create_task(outbox.run())
    for token in range(3):
        put(outbox, prompt=True, token=token)
    await asyncio.wait_for(outbox.flushed(), 60)
    sender.cancel()
    await connection.aclose()

    assert (client().xlen(OUTCOME_STREAM), client().llen(OUTCOME_PROMPT)) == (3, 1)


@pytest.fixture
def patient(monkeypatch: pytest.MonkeyPatch, settings: Settings) -> None:
    """Let the times of gathering outlast the test."""
    settings.PUNCTUAL = replace(conf(), outcome_flush_seconds=3600.0)
    monkeypatch.setattr("worker.outbox._PROMPT_SECONDS", 3600.0)


@pytest.mark.usefixtures("patient")
async def test_prompt_entries_keep_their_distance() -> None:
    stream = PromptStream()
    outbox = Outbox(stream)  # type: ignore[arg-type]  # only pipeline is called
    sender = asyncio.create_task(outbox.run())
    put(outbox, prompt=True, token=1)
    await asyncio.wait_for(outbox.flushed(), 60)

    for token in (2, 3):
        put(outbox, prompt=True, token=token)
        for _ in range(20):
            await asyncio.sleep(0)
    sender.cancel()

    assert stream.entries == [[{"token": 1}]]
    assert len(outbox) == 2


@pytest.mark.usefixtures("patient")
async def test_what_is_put_while_an_entry_is_sent_keeps_its_distance() -> None:
    stream = PromptStream()
    outbox = Outbox(stream)  # type: ignore[arg-type]  # only pipeline is called
    stream.meanwhile = lambda: put(outbox, prompt=True, token=2)
    sender = asyncio.create_task(outbox.run())
    put(outbox, prompt=True, token=1)
    # Its turns: it wakes, gathers, sends the first, and waits with the second.
    for _ in range(100):
        await asyncio.sleep(0)
    sender.cancel()

    assert (stream.entries, len(outbox)) == ([[{"token": 1}]], 1)


async def test_an_entry_is_bounded(settings: Settings) -> None:
    settings.PUNCTUAL = replace(conf(), outcome_batch=2)
    stream = Stream()

    await send(stream, 5)

    assert [len(entry) for entry in stream.entries] == [2, 2, 1]


async def test_nothing_is_lost_or_reordered_while_redis_is_away() -> None:
    stream = Stream(failures=2)

    await send(stream, 4)

    assert [row["token"] for entry in stream.entries for row in entry] == [0, 1, 2, 3]


async def test_an_entry_is_bounded_by_size_too() -> None:
    stream = Stream()
    outbox = Outbox(stream)  # type: ignore[arg-type]  # only xadd is called
    for _ in range(3):
        put(outbox, sealed=b"x" * 700_000)
    sender = asyncio.create_task(outbox.run())
    await asyncio.wait_for(outbox.flushed(), 60)
    sender.cancel()

    assert [len(entry) for entry in stream.entries] == [1, 1, 1]


@pytest.mark.parametrize(
    "error",
    [
        redis.ResponseError("OOM command not allowed when used memory > 'maxmemory'."),
        redis.exceptions.ReadOnlyError("You can't write against a read only replica."),
        redis.TimeoutError("slow"),
        BrokenPipeError(),
    ],
)
@pytest.mark.logs("outcomes.held_back")
async def test_it_outlives_a_server_that_cannot_take_outcomes_now(error: Exception) -> None:
    stream = Stream(failures=1, error=error)

    await send(stream, 2)

    assert [len(entry) for entry in stream.entries] == [2]


async def _look_and_send(outbox: Outbox) -> None:
    await outbox.look()
    sender = asyncio.create_task(outbox.run())
    await asyncio.wait_for(outbox.flushed(), 60)
    sender.cancel()


@pytest.mark.parametrize("incarnation", [None, b"run:two"])
@pytest.mark.logs("outcomes.sent_again")
async def test_outcomes_of_the_last_seconds_are_sent_again_to_a_server_that_lost_its_data(
    incarnation: bytes | None,
) -> None:
    stream = Stream()
    outbox = Outbox(stream)  # type: ignore[arg-type]  # only xadd and get are called
    put(outbox, token=1)
    await _look_and_send(outbox)

    stream.incarnation = incarnation
    await _look_and_send(outbox)

    assert stream.entries == [[{"token": 1}]] * 2


async def test_nothing_is_sent_again_to_the_same_server() -> None:
    stream = Stream()
    outbox = Outbox(stream)  # type: ignore[arg-type]  # only xadd and get are called
    put(outbox, token=1)

    await _look_and_send(outbox)
    await _look_and_send(outbox)

    assert stream.entries == [[{"token": 1}]]


async def test_what_was_accepted_long_ago_is_not_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("worker.outbox._KEPT_SECONDS", -1.0)
    stream = Stream()
    outbox = Outbox(stream)  # type: ignore[arg-type]  # only xadd and get are called
    put(outbox, token=1)
    await _look_and_send(outbox)

    stream.incarnation = b"run:two"
    await _look_and_send(outbox)

    assert stream.entries == [[{"token": 1}]]
