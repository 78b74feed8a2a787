from __future__ import annotations

import threading
from collections.abc import Iterator
from concurrent.futures import Future, ThreadPoolExecutor

import pytest

from shared import single_flight
from shared.single_flight import SingleFlight

#: Bounds a test that would hang; nothing waits so long.
_PATIENCE = 60


class Looks:
    """Looks at a value that changes. A look of a key that is held waits until that is let go."""

    def __init__(self, *errors: Exception | None) -> None:
        self.value = "old"
        self.seen: list[str] = []
        self.began = threading.Semaphore(0)
        self.held = {"key": threading.Event()}
        #: What each look raises, in turn.
        self.errors = list(errors)

    def look(self, key: str) -> str:
        found = f"{key} is {self.value}"
        self.seen.append(found)
        self.began.release()
        if key in self.held:
            assert self.held[key].wait(_PATIENCE)
        error = self.errors.pop(0) if self.errors else None
        if error is not None:
            raise error
        return found


@pytest.fixture
def waiting(monkeypatch: pytest.MonkeyPatch) -> threading.Semaphore:
    """Count the callers that have joined a flight and wait."""
    joined = threading.Semaphore(0)

    class Watched(Future[str]):
        def result(self, timeout: float | None = None) -> str:
            joined.release()
            return super().result(timeout)

    monkeypatch.setattr(single_flight, "Future", Watched)
    return joined


@pytest.fixture
def pool() -> Iterator[ThreadPoolExecutor]:
    with ThreadPoolExecutor(8) as threads:
        yield threads


def crowd(
    looks: Looks,
    flights: SingleFlight[str, str],
    pool: ThreadPoolExecutor,
    waiting: threading.Semaphore,
) -> tuple[Future[str], list[Future[str]]]:
    """Let one caller look, five more come, and the value change; then let the look go on."""
    first = pool.submit(flights.get, "key")
    assert looks.began.acquire(timeout=_PATIENCE)
    others = [pool.submit(flights.get, "key") for _ in range(5)]
    for _ in others:
        assert waiting.acquire(timeout=_PATIENCE)
    looks.value = "new"
    looks.held["key"].set()
    return first, others


def test_who_comes_during_a_look_shares_the_next_one(
    waiting: threading.Semaphore, pool: ThreadPoolExecutor
):
    looks = Looks()
    flights = SingleFlight(looks.look)

    first, others = crowd(looks, flights, pool, waiting)

    assert first.result(_PATIENCE) == "key is old"
    assert [one.result(_PATIENCE) for one in others] == ["key is new"] * 5
    assert looks.seen == ["key is old", "key is new"]
    assert not flights._under_way


def test_an_error_is_one_for_all_who_wait_and_nobody_asks_again(
    waiting: threading.Semaphore, pool: ThreadPoolExecutor
):
    looks = Looks(LookupError("away"))
    flights = SingleFlight(looks.look)

    first, others = crowd(looks, flights, pool, waiting)

    errors = [one.exception(_PATIENCE) for one in (first, *others)]
    assert [str(error) for error in errors] == ["away"] * 6
    assert looks.seen == ["key is old"]
    assert not flights._under_way


def test_an_error_of_the_shared_look_is_one_for_all_who_share_it(
    waiting: threading.Semaphore, pool: ThreadPoolExecutor
):
    looks = Looks(None, LookupError("away"))
    flights = SingleFlight(looks.look)

    first, others = crowd(looks, flights, pool, waiting)

    assert first.result(_PATIENCE) == "key is old"
    assert [str(one.exception(_PATIENCE)) for one in others] == ["away"] * 5
    assert len(looks.seen) == 2


def test_an_error_is_forgotten():
    looks = Looks(LookupError("away"))
    looks.held = {}
    flights = SingleFlight(looks.look)
    with pytest.raises(LookupError):
        flights.get("key")

    assert flights.get("key") == "key is old"


def test_callers_one_after_the_other_look_each():
    looks = Looks()
    looks.held = {}
    flights = SingleFlight(looks.look)

    first = flights.get("key")
    looks.value = "new"

    assert (first, flights.get("key")) == ("key is old", "key is new")


def test_a_look_holds_up_nobody_who_asks_for_something_else(pool: ThreadPoolExecutor):
    looks = Looks()
    flights = SingleFlight(looks.look)
    held = pool.submit(flights.get, "key")
    assert looks.began.acquire(timeout=_PATIENCE)

    assert flights.get("other") == "other is old"

    assert not held.done()
    looks.held["key"].set()
    assert held.result(_PATIENCE) == "key is old"
