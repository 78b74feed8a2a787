from __future__ import annotations

import pytest

from shared.exceptions import InvalidInput
from tasks.definition import from_stored, to_long, to_stored
from tasks.validation.bodies import parse_create, parse_patch
from tests.tasks.bodies import LIMITS, LONG, NOW

RUNS = {"unit": "runs", "limit": 5, "per": "day"}
ONCE = {"schedule": {"run_at": "2026-12-01T00:00:00Z"}, "target": LONG["target"]}


def read(budget, body=LONG):
    return parse_create({**body, "budget": budget}, now=NOW, limits=LIMITS)


def refused(budget, body=LONG):
    with pytest.raises(InvalidInput) as caught:
        read(budget, body)
    return [(error.pointer, error.code) for error in caught.value.errors]


def test_entries_come_in_normal_form():
    found = read([{"unit": "runs", "limit": 5}, {"unit": "eur", "limit": 2.50, "per": "month"}])

    assert found.budget == [RUNS, {"unit": "eur", "limit": 2.5, "per": "month"}]


@pytest.mark.parametrize("budget", [[], None])
def test_none_is_none_and_is_neither_stored_nor_shown(budget):
    found = read(budget)

    assert found.budget == []
    assert "budget" not in to_long(found)


def test_a_budget_is_stored_and_shown_and_sent_back_unchanged():
    found = read([RUNS])

    assert from_stored(to_stored(found)) == found
    assert to_long(found)["budget"] == [RUNS]
    assert parse_create(to_long(found), now=NOW, limits=LIMITS) == found


def test_an_edit_replaces_it_whole_and_null_removes_it():
    found = read([RUNS])

    def edited(**body):
        return parse_patch(found, body, now=NOW, limits=LIMITS)[0].budget

    assert edited(name="Other") == [RUNS]
    assert edited(budget=[{**RUNS, "limit": 1}]) == [{**RUNS, "limit": 1}]
    assert edited(budget=None) == []


@pytest.mark.parametrize(
    ("budget", "errors"),
    [
        ({}, [("#/budget", "invalid_type")]),
        ([1], [("#/budget/0", "invalid_type")]),
        ([{}], [("#/budget/0/unit", "required"), ("#/budget/0/limit", "required")]),
        ([{**RUNS, "unit": "Big Words"}], [("#/budget/0/unit", "invalid")]),
        ([RUNS, RUNS], [("#/budget/1/unit", "not_unique")]),
        ([{**RUNS, "limit": 0}], [("#/budget/0/limit", "out_of_range")]),
        ([{**RUNS, "limit": 1.5}], [("#/budget/0/limit", "invalid_type")]),
        ([{**RUNS, "unit": "eur", "limit": -1}], [("#/budget/0/limit", "out_of_range")]),
        ([{**RUNS, "unit": "eur", "limit": 1e300}], [("#/budget/0/limit", "out_of_range")]),
        ([{**RUNS, "limit": True}], [("#/budget/0/limit", "invalid_type")]),
        ([{**RUNS, "per": "week"}], [("#/budget/0/per", "invalid_choice")]),
        ([{**RUNS, "more": 1}], [("#/budget/0/more", "unknown_field")]),
        ([RUNS] * 9, [("#/budget", "too_many")]),
    ],
)
def test_what_is_wrong_is_named_with_its_place(budget, errors):
    assert refused(budget) == errors


def test_a_task_that_runs_once_has_no_budget():
    assert refused([RUNS], ONCE) == [("#/budget", "not_applicable")]
    assert read([], ONCE).budget == []
