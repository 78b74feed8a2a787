from __future__ import annotations

from random import Random

import pytest

from tasks.workflow.fans import Fan
from tasks.workflow.step_states import StepState


def test_items_begin_in_order_as_the_window_and_the_transaction_have_room():
    fan = Fan(total=10, max_parallel=4)

    assert list(fan.begin(3)) == [0, 1, 2]
    assert list(fan.begin(1000)) == [3]
    assert list(fan.begin(1000)) == []
    fan.succeeded += 2
    assert list(fan.begin(1000)) == [4, 5]


def test_the_last_items_are_no_more_than_there_are():
    fan = Fan(total=3, max_parallel=100)

    assert list(fan.begin(1000)) == [0, 1, 2]
    assert list(fan.begin(1000)) == []


def test_without_items_it_succeeds_at_once():
    assert Fan(total=0, max_parallel=1).end(early=True) is StepState.SUCCEEDED


@pytest.mark.parametrize(
    ("share", "succeeded", "failed", "skipped", "expected"),
    [
        (1.0, 10, 0, 0, StepState.SUCCEEDED),
        (1.0, 9, 1, 0, StepState.FAILED),
        (0.9, 9, 1, 0, StepState.SUCCEEDED),
        (0.9, 8, 2, 0, StepState.FAILED),
        (1.0, 4, 0, 6, StepState.SUCCEEDED),
        (0.5, 2, 2, 6, StepState.SUCCEEDED),
        (0.5, 1, 3, 6, StepState.FAILED),
        (1.0, 0, 0, 10, StepState.SUCCEEDED),
        (0.0, 0, 10, 0, StepState.SUCCEEDED),
        (0.3, 3, 7, 0, StepState.SUCCEEDED),
        (1.0, 5, 1, 0, None),
    ],
)
def test_it_ends_by_the_share_of_the_items_that_were_not_skipped(
    share: float, succeeded: int, failed: int, skipped: int, expected: StepState | None
):
    fan = Fan(10, 10, share, 10, succeeded, failed, skipped)

    assert fan.end(early=False) is expected


def test_where_it_cannot_succeed_any_more_it_may_fail_early():
    fan = Fan(10, 10, 0.8, 10, failed=2)

    assert fan.end(early=True) is None
    fan.failed += 1
    assert fan.end(early=True) is StepState.FAILED
    assert fan.end(early=False) is None


def test_an_item_that_may_still_be_skipped_does_not_fail_it_early():
    """Of ten items one failed: were the other nine skipped, none of one would have succeeded."""
    fan = Fan(10, 10, 0.5, 10, failed=1)

    assert fan.end(early=True) is None


@pytest.mark.parametrize(
    ("share", "succeeded", "total"), [(0.07, 7, 100), (0.14, 7, 50), (0.28, 7, 25), (0.55, 55, 100)]
)
def test_a_decimal_share_is_no_less_than_it_says(share: float, succeeded: int, total: int):
    fan = Fan(total, total, share, total, succeeded, total - succeeded)

    assert fan.end(early=False) is StepState.SUCCEEDED


def test_every_item_begins_once_and_never_more_run_than_the_window_allows():
    for seed in range(200):
        random = Random(seed)
        fan = Fan(random.randint(0, 60), random.randint(1, 9), random.choice((0.0, 0.5, 1.0)))
        running: set[int] = set()
        seen: list[int] = []
        while fan.end(early=False) is None:
            begun = fan.begin(random.randint(1, 20))
            seen += begun
            running |= set(begun)
            assert len(running) <= fan.max_parallel
            item = random.choice(sorted(running))
            running.discard(item)
            kind = random.choice(("succeeded", "failed", "skipped"))
            setattr(fan, kind, getattr(fan, kind) + 1)
        assert seen == list(range(fan.total)), seed
