from __future__ import annotations

import json

import pytest

from bench.peers.plan import BODY_BYTES, Plan, body, payload


def test_all_calls_of_a_burst_are_due_at_one_instant():
    plan = Plan("http://127.0.0.1:1", 3, 1000)

    assert [plan.due_ms(number) for number in range(3)] == [1000, 1000, 1000]


def test_calls_of_a_steady_load_are_due_one_after_the_other():
    plan = Plan("http://127.0.0.1:1", 6, 1000, step_ms=1000 / 3)

    assert [plan.due_ms(number) for number in range(4)] == [1000, 1333, 1666, 2000]


def test_each_call_has_a_path_with_its_number():
    assert Plan("http://127.0.0.1:1", 1, 0).url_of(7) == "http://127.0.0.1:1/hook/7"


def test_a_plan_survives_the_way_to_a_program():
    plan = Plan("http://127.0.0.1:1", 3, 1000, 0.5)

    assert Plan.from_line(plan.as_line() + "\n") == plan
    assert "\n" not in plan.as_line()


def test_receipts_of_different_plans_differ():
    assert Plan("", 3, 1000).receipt != Plan("", 3, 1001).receipt


def test_batches_hold_every_number_once():
    batches = list(Plan("", 5, 0).batches(2))

    assert [list(batch) for batch in batches] == [[0, 1], [2, 3], [4]]


@pytest.mark.parametrize("number", [0, 9, 10, 12_345])
def test_every_body_has_the_same_length_and_says_its_number(number: int):
    assert len(body(number).encode()) == BODY_BYTES
    assert json.loads(body(number)) == payload(number)
    assert payload(number)["number"] == number
