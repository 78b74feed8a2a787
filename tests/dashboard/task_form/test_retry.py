"""The fields of a retry policy: its backoffs, its words, and rules in rows."""

from __future__ import annotations

from typing import Any

import pytest

from dashboard.task_form.retry import (
    EMPTY,
    PLAIN,
    WORDS,
    read_retry,
    rule_field,
    rule_rows,
    show_retry,
)
from dashboard.task_form.values import Form
from tasks.definition import RETRY_DEFAULTS

RULES = [
    {"statuses": ["429"], "max_attempts": None, "delay_seconds": 60},
    {"statuses": ["5xx", "408"], "max_attempts": 2, "delay_seconds": None},
]


def read(fields: dict[str, str], base: dict[str, Any] | None = None) -> tuple[dict[str, Any], Form]:
    shown = show_retry(base) if base else {}
    form = Form({**EMPTY, **shown, **fields}, shown, {}, [])
    return read_retry(form, base or {}), form


def test_every_field_of_a_policy_has_its_place_in_the_form():
    assert {*PLAIN, *WORDS, "rules", "delays_seconds"} == {*RETRY_DEFAULTS}


@pytest.mark.parametrize(
    "changes",
    [
        {},
        {"backoff": "listed", "delays_seconds": [1, 2.5]},
        {"rules": RULES, "stop_on": ["501"], "stop_header": "X-Stop", "max_age_seconds": 0.5},
        {"retry_on": []},
    ],
)
def test_what_is_shown_is_read_again(changes):
    policy = {**RETRY_DEFAULTS, **changes}

    found, form = read({}, policy)

    assert {"delays_seconds": None, **found} == policy
    assert form.errors == []


def test_rows_that_are_emptied_are_no_rules():
    policy = {**RETRY_DEFAULTS, "rules": RULES}

    found, _ = read({"rule_0_statuses": " ", "rule_0_delay_seconds": ""}, policy)

    assert found["rules"] == RULES[1:]
    assert [row["statuses"] for row in rule_rows(show_retry(policy))] == ["429", "5xx, 408", "", ""]


def test_a_row_without_statuses_is_left_to_validation():
    found, _ = read({"rule_3_statuses": "", "rule_3_max_attempts": "2"})

    assert found["rules"] == [{"statuses": [], "max_attempts": 2, "delay_seconds": None}]


def test_what_is_no_number_is_said_in_its_row():
    fields = {"rule_4_statuses": "429", "rule_4_delay_seconds": "long"}

    _, form = read({**fields, "delays_seconds": "1, x", "backoff": "listed"})

    pointers = [error.pointer for error in form.errors]
    assert pointers == ["#/retry_policy/rules/0/delay_seconds", "#/retry_policy/delays_seconds"]
    assert rule_field(pointers[0]) == "rule_0_delay_seconds"


@pytest.mark.parametrize(
    ("pointer", "field"),
    [
        ("#/retry_policy/rules", "rule_0_statuses"),
        ("#/retry_policy/rules/3", "rule_3_statuses"),
        ("#/retry_policy/rules/3/statuses/1", "rule_3_statuses"),
        ("#/retry_policy/rules/0/unknown", "rule_0_statuses"),
    ],
)
def test_an_error_in_a_rule_stands_in_its_row(pointer, field):
    assert rule_field(pointer) == field
