"""The critical path goes back from the last end to what each step waited for."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

from insight.critical_path import critical_path, latest
from tasks.workflow.graph import Graph, Step

BEGAN = datetime(2026, 11, 20, 8, tzinfo=UTC)
#: a → b, c → d, and e beside them.
DIAMOND = Graph(
    [
        Step(1, "a"),
        Step(2, "b", (1,)),
        Step(3, "c", (1,)),
        Step(4, "d", (2, 3)),
        Step(5, "e"),
    ]
)


def at(**seconds: int) -> dict[int, datetime]:
    numbers = {step.key: number for number, step in DIAMOND.steps.items()}
    return {numbers[key]: BEGAN + timedelta(seconds=after) for key, after in seconds.items()}


def test_the_path_leads_back_to_what_each_step_waited_for():
    assert critical_path(DIAMOND, at(a=1, b=5, c=3, d=6, e=2), 4) == [1, 2, 4]
    assert critical_path(DIAMOND, at(a=1, b=2, c=3, d=6, e=9), 5) == [5]
    assert critical_path(DIAMOND, at(a=1, b=5, e=9), 3) == [1, 3]


def test_steps_that_kept_their_end_of_an_earlier_take_are_left_out():
    assert critical_path(DIAMOND, at(d=6), 4) == [4]


def test_a_run_without_a_last_step_has_no_path():
    assert critical_path(DIAMOND, {}, None) == []


def test_of_ends_at_one_time_the_later_step_is_the_latest():
    assert latest((1, 2, 3), at(a=1, b=5, c=5)) == 3
    assert latest((4,), at(a=1)) is None
