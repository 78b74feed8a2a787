from __future__ import annotations

import pytest

from bench.workflows.definitions import calls, fan_out, workflow
from bench.workflows.evidence import Call, ended_at, problems
from tests.support.step_calls import MS, URL, call

JOIN = workflow("join", [calls("a", URL), calls("b", URL), calls("join", URL, "a", "b")])


def test_a_join_that_begins_after_both_parents_have_ended_is_in_order():
    assert problems([call(1, 0, 10), call(2, 5, 20), call(3, 25)], JOIN) == []


def test_a_join_that_begins_before_a_parent_has_ended_is_found():
    found = problems([call(1, 0, 10), call(2, 5, 20), call(3, 24)], JOIN)

    assert found == ["step 3 of run run began before step 2 had ended"]


def test_a_join_whose_parent_never_ran_is_found():
    found = problems([call(1, 0), call(3, 24)], JOIN)

    assert found == ["step 3 of run run began although step 2 has not run"]


def test_a_step_for_any_end_may_run_without_those_before_it():
    tidy = calls("tidy", URL, "a", condition="all_done")

    assert problems([call(2, 5)], workflow("tidy", [calls("a", URL), tidy])) == []


def test_what_has_succeeded_and_was_recorded_runs_once():
    twice = [call(1, 0), call(1, 5)]

    assert problems(twice, JOIN) == ["step 1[-1] of run run ran 2 times"]
    assert problems(twice, JOIN, lambda arrival: arrival.wall_ns == 0) == []


def test_what_has_failed_may_be_tried_again():
    assert problems([call(1, 0, status=500), call(1, 5, attempt=2)], JOIN) == []


def test_one_attempt_makes_one_request():
    found = problems([call(1, 0, status=500), call(1, 5)], JOIN)

    assert found == ["step 1[-1] of run run ran 2 times"]


def test_what_an_earlier_take_has_done_is_not_done_again():
    assert problems([call(1, 0), call(1, 5, take=2)], JOIN)
    assert problems([call(1, 0, status=500), call(1, 5, take=2)], JOIN) == []


def test_each_item_of_a_fan_out_runs_once_and_the_join_waits_for_all():
    body = fan_out(URL, 2)
    items = [call(1, 0, 10, item=0), call(1, 5, 10, item=1)]

    assert problems([*items, call(2, 15)], body) == []
    assert problems([*items, call(2, 14)], body) == [
        "step 2 of run run began before step 1 had ended"
    ]


@pytest.mark.parametrize(
    ("made", "ended_ms"),
    [
        ([], None),
        ([call(1, 0, 3), call(1, 10, 3)], 3),
        ([call(1, 0, 3, status=500), call(1, 10, 3)], 13),
        ([call(1, 0, 3, status=500), call(1, 10, 3, status=500)], 13),
        ([call(1, 0, 3, item=0), call(1, 1, 9, item=1)], 10),
    ],
)
def test_a_step_has_ended_with_its_first_success_of_each_item_else_with_its_last_answer(
    made: list[Call], ended_ms: int | None
):
    assert ended_at(made) == (None if ended_ms is None else ended_ms * MS)
