from __future__ import annotations

import math

import pytest

from bench.fairness_priority import BEGIN_SECONDS, MOST_MS, overtakes, times_of
from operations.proof.percentiles import distribution

ALONE = distribution([3.0] * 100)


def test_urgent_work_may_wait_fifty_milliseconds_longer_beside_a_backlog():
    assert overtakes(ALONE, distribution([3.0 + MOST_MS] * 100))
    assert not overtakes(ALONE, distribution([3.1 + MOST_MS] * 100))


@pytest.mark.parametrize("count", [0, 94])
def test_urgent_work_that_never_started_overtook_nothing(count: int):
    assert not overtakes(ALONE, distribution([3.0] * count))


def test_without_any_urgent_work_nothing_is_proved():
    assert not overtakes(distribution([]), distribution([]))


def test_the_wait_of_low_priority_is_compared_with_the_order_of_due_time():
    # A thousand at 500 a second end in two seconds, in order of due time.
    waits = [BEGIN_SECONDS + 20.0 * place / 1000 for place in range(1, 1001)]

    assert times_of(waits, 500.0) == pytest.approx(10.0)


def test_low_priority_that_never_started_waits_for_ever():
    assert times_of([], 500.0) == math.inf
    assert times_of([1.0], 0.0) == math.inf
