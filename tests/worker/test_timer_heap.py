"""What a worker holds until its time."""

from __future__ import annotations

from typing import Any

import pytest

from worker.entries import Held
from worker.timer_heap import Waiting


def held(token: int, due: float, *, priority: int = 5, limits: str = "") -> Held:
    entry: Any = {"id": str(token), "limits": limits, "start_by": 0}
    batch: Any = {}
    return Held(due, priority, token, entry, batch)


def waiting(*all_held: Held) -> Waiting:
    made = Waiting()
    for one in all_held:
        made.put(one)
    return made


def tokens(found: list[Held]) -> list[int]:
    return [one.token for one in found]


def test_what_is_due_goes_soonest_first_then_by_priority():
    kept = waiting(held(1, 10.0), held(2, 9.0), held(3, 10.0, priority=0))

    assert tokens(kept.take(10.0)) == [2, 3, 1]
    assert not len(kept)


def test_what_is_due_in_a_moment_goes_with_it():
    kept = waiting(held(1, 10.0), held(2, 10.0345), held(3, 10.037))

    assert tokens(kept.take(10.0)) == [1, 2]
    assert len(kept) == 1


def test_limited_work_goes_at_its_time():
    kept = waiting(held(1, 10.003, limits="1,5,"))

    assert kept.take(10.0029) == []
    assert tokens(kept.take(10.003)) == [1]


@pytest.mark.parametrize(("limits", "seconds"), [("", 4.9855), ("1,5,", 5.0005)])
def test_the_next_look_is_a_question_ahead_of_the_soonest(limits: str, seconds: float):
    kept = waiting(held(1, 15.0, limits=limits), held(2, 16.0))

    assert kept.next_in(10.0) == [pytest.approx(seconds)]
    assert waiting().next_in(10.0) == []


def test_what_is_overdue_is_looked_at_at_once():
    assert waiting(held(1, 5.0)).next_in(10.0) == [0.0005]


def test_everything_can_be_handed_back():
    kept = waiting(held(1, 10.0), held(2, 99.0))

    assert sorted(tokens(kept.clear())) == [1, 2]
    assert not len(kept)
