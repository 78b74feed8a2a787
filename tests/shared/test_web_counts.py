"""Counts of web processes are added up in Redis, and wait while it is away."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any
from uuid import uuid4

import pytest
import redis

from shared import web_counts
from shared.redis_client import client
from tests.support.closed_redis import closed_redis
from tests.support.web_counts import counts_of_their_own


@pytest.fixture(autouse=True)
def _counts_of_their_own() -> Iterator[None]:
    with counts_of_their_own():
        yield


def test_a_request_is_counted_and_timed():
    web_counts.count_request("tasks", "GET", 200, "api", 0.02)

    assert web_counts.read() == {
        ("requests", "tasks", "GET", "2xx"): 1,
        ("seconds", "api", "2"): 1,
        ("seconds", "api", "sum"): 20_000,
    }


def test_counts_of_several_flushes_add_up():
    for _ in range(3):
        web_counts.count_request("tasks", "GET", 404, "api", 60.0)
        web_counts.flush()

    found = web_counts.read()

    assert found["requests", "tasks", "GET", "4xx"] == 3
    assert found["seconds", "api", str(len(web_counts.BOUNDS_MS))] == 3


def test_a_flush_adds_each_count_once():
    web_counts.count_request("tasks", "GET", 200, "api", 0.0)
    web_counts.flush()
    web_counts.flush()

    assert not web_counts.any_waits()
    assert web_counts.read()["requests", "tasks", "GET", "2xx"] == 1


def test_a_method_that_a_caller_invents_makes_no_series():
    for method in ("BREW", "X" * 1000, ""):
        web_counts.count_request("tasks", method, 405, "api", 0.0)

    assert web_counts.read()["requests", "tasks", "other", "4xx"] == 3


def test_names_without_end_are_bounded(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(web_counts, "_MOST_NAMES", 10)
    for number in range(100):
        web_counts.count_request(f"route{number}", "GET", 200, "api", 0.0)

    assert len(web_counts._counts) < 20


@pytest.mark.logs("web_counts.held_back")
def test_counts_wait_while_redis_is_away(monkeypatch: pytest.MonkeyPatch):
    web_counts.count_request("tasks", "GET", 200, "api", 0.0)
    with monkeypatch.context() as cut:
        away = closed_redis()
        cut.setattr(web_counts, "client", lambda: away)
        web_counts.flush()
    assert web_counts.any_waits()

    assert web_counts.read()["requests", "tasks", "GET", "2xx"] == 1


class AnswersLost:
    """A Redis that does what it is told, and whose answers to writes do not arrive."""

    def __getattr__(self, name: str) -> Any:
        return getattr(client(), name)

    def eval(self, *arguments: Any) -> Any:
        client().eval(*arguments)
        raise redis.TimeoutError("no answer")


def test_counts_whose_answer_was_lost_are_added_once(monkeypatch: pytest.MonkeyPatch):
    web_counts.count_request("tasks", "GET", 200, "api", 0.0)
    with monkeypatch.context() as cut:
        cut.setattr(web_counts, "client", AnswersLost)
        web_counts.flush()
        web_counts.count_request("tasks", "GET", 200, "api", 0.0)
        web_counts.flush()
    assert web_counts.any_waits()

    assert web_counts.read()["requests", "tasks", "GET", "2xx"] == 2
    assert not web_counts.any_waits()


def test_a_redis_that_refuses_keeps_counts_waiting(monkeypatch: pytest.MonkeyPatch):
    class Refuses(AnswersLost):
        def eval(self, *arguments: Any) -> Any:
            raise redis.ResponseError("BUSY")

    web_counts.count_request("tasks", "GET", 200, "api", 0.0)
    with monkeypatch.context() as cut:
        cut.setattr(web_counts, "client", Refuses)
        web_counts.flush()

    assert web_counts.read()["requests", "tasks", "GET", "2xx"] == 1


def test_counts_begin_anew_with_a_redis_that_came_back_with_its_data(
    monkeypatch: pytest.MonkeyPatch,
):
    run = uuid4().hex

    class Restarted(AnswersLost):
        def info(self, section: str) -> dict[str, str]:
            return {"run_id": run}

        def eval(self, *arguments: Any) -> Any:
            return client().eval(*arguments)

    web_counts.count_request("tasks", "GET", 200, "api", 0.0)
    web_counts.flush()
    web_counts.count_request("tasks", "GET", 200, "api", 0.0)
    with monkeypatch.context() as other:
        other.setattr(web_counts, "client", Restarted)
        assert web_counts.read()["requests", "tasks", "GET", "2xx"] == 1


def test_counts_of_a_former_redis_do_not_stay_for_ever():
    web_counts.count_request("tasks", "GET", 200, "api", 0.0)
    web_counts.flush()

    key = web_counts._key()
    assert all(0 < client().ttl(one) <= 86_400 for one in (key, f"{key}:{web_counts._PROCESS}"))
