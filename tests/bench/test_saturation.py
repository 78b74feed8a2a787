from __future__ import annotations

from typing import Any

import pytest

from bench.backlogs import Backlog, resting_task
from bench.saturation import HOLD, SETTLE_SECONDS, a_second, counts_of, errors_of, is_fair


def test_an_error_is_the_part_by_which_a_share_is_missed():
    assert errors_of([100, 200, 400], (1, 2, 4)) == pytest.approx([0.0, 0.0, 0.0])
    assert errors_of([110, 190, 400], (1, 2, 4))[0] == pytest.approx(0.1)


def test_without_any_start_every_share_is_missed():
    errors = errors_of([0, 0, 0], (1, 2, 4))

    assert errors == [-1.0, -1.0, -1.0]
    assert not is_fair(errors)


@pytest.mark.parametrize(("error", "fair"), [(0.05, True), (-0.05, True), (0.051, False)])
def test_a_share_may_be_missed_by_five_percent(error: float, fair: bool):
    assert is_fair([0.0, error]) is fair


def test_backlogs_last_longer_than_the_saturation_and_fill_the_hold():
    counts = counts_of(50, 300, (1, 2, 4))

    assert sum(counts) > a_second(50) * (300 + SETTLE_SECONDS) + HOLD
    # Each tenant's by its share of the slots: none runs out before the others.
    assert counts[0] * 4 == pytest.approx(counts[2], abs=4)


def test_a_backlog_calls_its_urls_in_turn():
    backlog = Backlog("http://a.example", 10, others=("http://b.example",))

    urls: list[Any] = [resting_task(backlog, number)["target"] for number in range(3)]

    assert [one["url"][7] for one in urls] == ["a", "b", "a"]
