"""What is remembered from look to look, while looking past what is done is dear."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest

from executions.engine import lower_bounds
from executions.engine.lower_bounds import NEVER, LowerBounds

NOON = datetime(2026, 11, 27, 12, tzinfo=UTC)
LATER = NOON + timedelta(hours=1)
#: What a look takes, and what lies between two whole ones.
DEAR, BETWEEN = 1.0, 20.0


class Clock:
    """Time that passes between the begin and the end of a look."""

    def __init__(self) -> None:
        self.now, self.step = 1000.0, DEAR

    def monotonic(self) -> float:
        self.now += self.step
        return self.now


@pytest.fixture(autouse=True)
def clock(monkeypatch: pytest.MonkeyPatch, _no_look_is_dear: None) -> Clock:
    made = Clock()
    monkeypatch.setattr(lower_bounds, "time", made)
    monkeypatch.setattr(lower_bounds, "_CHEAP_SECONDS", DEAR)
    return made


def look(bounds: LowerBounds, *found: datetime, scope: object = None) -> list[datetime]:
    asked = list(bounds.begin(scope))
    bounds.end(found, NOON)
    return asked


def test_a_look_begins_where_the_last_one_has_found_something():
    bounds = LowerBounds(2)

    assert look(bounds, NOON, LATER) == [NEVER, NEVER]
    assert bounds.since == [NOON, LATER]
    assert look(bounds, LATER, LATER) == [NOON, LATER]
    assert look(bounds, LATER, LATER) == [LATER, LATER]


def test_a_look_that_is_cheap_is_always_a_whole_one(clock: Clock):
    clock.step = DEAR * 0.9
    bounds = LowerBounds()

    assert [look(bounds, NOON) for _ in range(5)] == [[NEVER]] * 5
    assert bounds.since == [NEVER]
    assert bounds.whole_in == float("inf")


def test_a_whole_look_comes_back_after_twenty_times_what_the_last_one_took(clock: Clock):
    bounds = LowerBounds()
    look(bounds, NOON)
    clock.step = 0.0

    assert bounds.whole_in == pytest.approx(BETWEEN)
    clock.now += BETWEEN * 0.9
    assert look(bounds, NOON) == [NOON]
    clock.now += BETWEEN * 0.1
    assert bounds.whole_in == 0.0
    assert look(bounds, NOON) == [NEVER]


def test_once_what_lay_in_front_is_gone_each_look_is_whole_again(clock: Clock):
    bounds = LowerBounds()
    look(bounds, NOON)
    clock.now += BETWEEN
    clock.step = 0.0

    assert [look(bounds, NOON) for _ in range(3)] == [[NEVER]] * 3


def test_what_is_said_to_be_written_below_is_looked_for():
    bounds = LowerBounds(2)
    look(bounds, NOON, LATER)

    bounds.lower(NOON + timedelta(minutes=1))

    assert bounds.since == [NOON, NOON + timedelta(minutes=1)]


def test_what_others_write_is_looked_for_from_shortly_before_the_last_look_on():
    bounds = LowerBounds(2)
    bounds.heard()
    look(bounds, NOON - timedelta(hours=1), LATER)

    bounds.heard()

    assert bounds.since == [NOON - timedelta(hours=1), NOON - timedelta(seconds=10)]


def test_what_others_say_when_it_comes_is_looked_for_from_there_on():
    bounds = LowerBounds(2)
    look(bounds, NOON, LATER)

    bounds.heard(NOON + timedelta(minutes=5))

    assert bounds.since == [NOON, NOON + timedelta(minutes=5)]


@pytest.mark.parametrize("forgotten", [True, False])
def test_what_is_asked_anew_is_looked_for_from_the_first_on(forgotten: bool):
    bounds = LowerBounds()
    look(bounds, NOON, scope="a")

    if forgotten:
        bounds.forget()

    assert look(bounds, NOON, scope="a" if forgotten else "b") == [NEVER]
    assert look(bounds, NOON, scope="a" if forgotten else "b") == [NOON]
