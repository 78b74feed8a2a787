from __future__ import annotations

from collections import Counter

import pytest

from operations.storm.order import FLUSH, Order, moments

KINDS = ("scheduler", "worker", "recorder")


def order(**changes) -> Order:
    return Order(**{"seconds": 600.0, "kinds": KINDS, "seed": 1, **changes})


def test_the_same_seed_gives_the_same_storm_and_another_one_another():
    assert moments(order()) == moments(order())
    assert moments(order()) != moments(order(seed=2))


def test_every_kind_gets_its_turn_before_one_comes_again():
    first = [moment.kinds[0] for moment in moments(order(flush=True))]

    for begin in range(0, len(first) - 3, 4):
        assert Counter(first[begin : begin + 4]) == Counter((*KINDS, FLUSH))


def test_each_moment_names_the_other_kinds_behind_the_first():
    assert all(sorted(moment.kinds) == sorted(KINDS) for moment in moments(order()))


def test_strikes_come_as_often_as_asked_and_leave_a_calm_at_the_end():
    after = [moment.after_seconds for moment in moments(order(every_seconds=10.0))]

    assert after == sorted(after)
    assert 45 <= len(after) <= 75
    assert after[-1] <= 590


@pytest.mark.parametrize("seconds", [10.0, 20.0])
def test_a_short_storm_still_strikes_once(seconds: float):
    found = moments(order(seconds=seconds, every_seconds=3600.0))

    assert [moment.after_seconds for moment in found] == [seconds / 3]
