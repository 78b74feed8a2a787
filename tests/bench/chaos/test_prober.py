from __future__ import annotations

import asyncio
from types import SimpleNamespace
from typing import Any

import pytest

from bench.chaos.prober import BROKEN, Probe, Prober, Probes
from operations.proof.client import Answer

AWAY = frozenset({200, 201, 503})


def _probes(*calls: Probe) -> Probes:
    return Probes(list(calls))


def test_answers_that_are_allowed_and_in_time_are_no_problem():
    seen = _probes(Probe("GET", 200, 0.1, 0.0), Probe("POST", 503, 1.9, 0.0, retry_after=True))

    assert seen.problems(AWAY, 2.0) == []


def test_each_wrong_status_is_told_with_its_count():
    seen = _probes(Probe("GET", 500, 0.1, 0.0), Probe("GET", BROKEN, 0.1, 0.0))

    assert seen.problems(AWAY, 2.0) == ["API answered {500: 1, 0: 1} (0: no connection, -1: hung)"]


def test_a_503_that_does_not_say_when_to_come_back_is_a_problem():
    assert _probes(Probe("GET", 503, 0.1, 0.0)).problems(AWAY, 2.0) == ["503 without Retry-After"]


def test_an_answer_that_took_too_long_is_a_problem():
    [problem] = _probes(Probe("POST", 201, 5.04, 0.0)).problems(AWAY, 2.0)

    assert problem == "API took 5.0 s for POST (201), bound 2 s"


def test_a_creation_that_never_succeeded_is_a_problem():
    seen = _probes(Probe("GET", 200, 0.1, 0.0))
    seen.unanswered.add("one")

    assert seen.problems(AWAY, 2.0) == ["1 creations never got a 201"]


def test_a_201_whose_task_is_gone_or_doubled_is_told():
    seen = Probes(created={"one": "1", "two": "2", "three": "3"})

    found = seen.kept([("one", "1"), ("two", "2"), ("two", "22")])

    assert found == ["1 tasks with a 201 are gone, as three", "1 keys made two tasks"]


def test_a_task_whose_201_was_lost_on_its_way_may_be_there():
    assert Probes(created={"one": "1"}).kept([("one", "1"), ("unanswered", "9")]) == []


async def test_a_creation_under_way_at_the_end_is_waited_for_and_not_repeated(
    monkeypatch: pytest.MonkeyPatch,
):
    begun, keys = asyncio.Event(), []

    async def call(
        self: Prober, client: Any, method: str, path: str, body: Any = None, *, key: str = ""
    ) -> Answer:
        if method == "POST":
            keys.append(key)
            begun.set()
            # Still under way when the block ends.
            for _ in range(3):
                await asyncio.sleep(0)
        return Answer(status=201, body=b'{"id": "1"}')

    monkeypatch.setattr(Prober, "_call", call)
    environment = {"RECEIVER_PORT": "1"}
    product = SimpleNamespace(base_url="http://127.0.0.1:1", api_key="", environment=environment)
    prober = Prober(SimpleNamespace(product=product))  # type: ignore[arg-type]  # a stand-in

    async with prober.probing() as seen:
        await begun.wait()

    assert len(keys) == len(set(keys)) == len(seen.created)
    assert not seen.unanswered
