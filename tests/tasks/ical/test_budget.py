from __future__ import annotations

import pytest

from tasks.ical.budget import Budget, TimeSpent
from tests.tasks.ical.files import spends_time

pytestmark = spends_time


def spin() -> None:
    while True:
        try:
            sum(range(1000))
        except Exception:  # noqa: BLE001 - as a library may do
            pytest.fail("a library that catches everything would catch it")


def test_what_never_ends_is_interrupted_and_the_next_block_has_its_own_time():
    budget = Budget(60.0, 0.01)

    for _ in range(2):
        with pytest.raises(TimeSpent), budget.limited():
            spin()

    assert not budget.spent


def test_the_time_of_the_file_bounds_every_block():
    budget = Budget(0.01, 60.0)

    with pytest.raises(TimeSpent), budget.limited():
        spin()
    # The timer and the clock may differ by a little.
    while not budget.spent:
        pass

    with pytest.raises(TimeSpent), budget.limited():
        pytest.fail("nothing is left")


def test_the_whole_time_of_the_file_may_be_for_one_block():
    with Budget(60.0, 0.0).limited(whole_file=True):
        assert sum(range(10)) == 45
