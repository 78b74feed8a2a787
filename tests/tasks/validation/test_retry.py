from __future__ import annotations

import pytest

from tests.tasks.bodies import LONG, MINIMAL, changed, create, problems

REFUSED = [
    ("max_attempts", 0, "out_of_range"),
    ("max_attempts", 26, "out_of_range"),
    ("max_attempts", -1, "out_of_range"),
    ("max_attempts", "5", "invalid_type"),
    ("max_attempts", 5.0, "invalid_type"),
    ("max_attempts", 2.5, "invalid_type"),
    ("max_attempts", True, "invalid_type"),
    ("max_attempts", None, "null"),
    ("backoff", "linear", "invalid_choice"),
    ("backoff", 2, "invalid_type"),
    ("backoff", None, "null"),
    ("initial_delay_seconds", -1, "out_of_range"),
    ("initial_delay_seconds", "1", "invalid_type"),
    ("initial_delay_seconds", 604_801, "out_of_range"),
    ("initial_delay_seconds", 7200, "out_of_range"),
    ("factor", 0.5, "out_of_range"),
    ("factor", 101, "out_of_range"),
    ("factor", "2", "invalid_type"),
    ("factor", False, "invalid_type"),
    ("max_delay_seconds", -1, "out_of_range"),
    ("max_delay_seconds", 604_801, "out_of_range"),
    ("max_delay_seconds", [], "invalid_type"),
    ("jitter", "half", "invalid_choice"),
    ("jitter", True, "invalid_type"),
    ("retry_on", "5xx", "invalid_type"),
    ("retry_on", None, "null"),
    ("retry_on", ["500"] * 51, "too_many"),
    ("delays_seconds", [1, 2], "not_applicable"),
    ("delays_seconds", 5, "not_applicable"),
    ("pause_after_failures", 0, "out_of_range"),
    ("pause_after_failures", 10_001, "out_of_range"),
    ("pause_after_failures", "5", "invalid_type"),
    ("stop_on", "404", "invalid_type"),
    ("stop_on", ["404"] * 51, "out_of_range"),
    ("stop_on", None, "null"),
    ("stop_header", "", "blank"),
    ("stop_header", "X Stop", "header_invalid"),
    ("stop_header", ["X-Stop"], "invalid_type"),
    ("rules", {}, "invalid_type"),
    ("rules", None, "null"),
    ("rules", [{"statuses": ["5xx"]}] * 21, "too_many"),
    ("max_age_seconds", 0, "out_of_range"),
    ("max_age_seconds", 31 * 86_400, "out_of_range"),
    ("max_age_seconds", "1d", "invalid_type"),
    ("attempts", 5, "unknown_field"),
    ("max_atempts", 5, "unknown_field"),
]


@pytest.mark.parametrize(("field", "value", "code"), REFUSED)
def test_wrong_fields_of_a_retry_policy_are_named(field, value, code):
    body = changed(LONG, f"retry_policy/{field}", value)

    assert (f"#/retry_policy/{field}", code) in problems(create, body)


@pytest.mark.parametrize(
    ("delays", "pointer", "code"),
    [
        ([], "", "out_of_range"),
        ([1] * 26, "", "out_of_range"),
        ("1, 2", "", "invalid_type"),
        (None, "", "required"),
        ([1, "2"], "/1", "invalid_type"),
        ([True], "/0", "invalid_type"),
        ([1, -1], "/1", "out_of_range"),
        ([700_000], "/0", "out_of_range"),
        ([[1]], "/0", "invalid_type"),
    ],
)
def test_listed_delays_are_checked_one_by_one(delays, pointer, code):
    body = changed(LONG, "retry_policy", {"backoff": "listed", "delays_seconds": delays})

    assert (f"#/retry_policy/delays_seconds{pointer}", code) in problems(create, body)


@pytest.mark.parametrize(
    ("word", "code"),
    [
        ("6xx", "invalid_choice"),
        ("dns", "invalid_choice"),
        ("Timeout", "invalid_choice"),
        ("", "invalid_choice"),
        (500, "invalid_type"),
        (None, "invalid_type"),
        ({}, "invalid_type"),
    ],
)
def test_words_that_name_no_failure_are_refused_by_place(word, code):
    body = changed(LONG, "retry_policy/retry_on", ["5xx", word])

    assert problems(create, body) == {("#/retry_policy/retry_on/1", code)}


@pytest.mark.parametrize(
    ("rule", "pointer", "code"),
    [
        (None, "", "invalid_type"),
        ("5xx", "", "invalid_type"),
        ({}, "/statuses", "required"),
        ({"statuses": []}, "/statuses", "out_of_range"),
        ({"statuses": None}, "/statuses", "null"),
        ({"statuses": ["timeout"]}, "/statuses/0", "invalid_choice"),
        ({"statuses": ["503", 5]}, "/statuses/1", "invalid_type"),
        ({"statuses": ["503"], "max_attempts": 0}, "/max_attempts", "out_of_range"),
        ({"statuses": ["503"], "max_attempts": 26}, "/max_attempts", "out_of_range"),
        ({"statuses": ["503"], "delay_seconds": -1}, "/delay_seconds", "out_of_range"),
        ({"statuses": ["503"], "delay_seconds": "1"}, "/delay_seconds", "invalid_type"),
        ({"statuses": ["503"], "status": "503"}, "/status", "unknown_field"),
    ],
)
def test_a_wrong_rule_is_named_by_its_place(rule, pointer, code):
    good = {"statuses": ["5xx"]}
    body = changed(LONG, "retry_policy/rules", [good, rule])

    assert problems(create, body) == {(f"#/retry_policy/rules/1{pointer}", code)}


def test_what_forbids_and_rules_retries_is_kept_in_its_normal_form():
    policy = {
        "stop_on": ["404", "501-502"],
        "stop_header": "X-Do-Not-Retry",
        "rules": [{"statuses": ["429"], "delay_seconds": 60.0}, {"statuses": ["503"]}],
        "max_age_seconds": 86_400,
    }

    made = create(changed(LONG, "retry_policy", policy)).retry_policy

    assert {key: made[key] for key in policy} == {
        **policy,
        "rules": [
            {"statuses": ["429"], "max_attempts": None, "delay_seconds": 60},
            {"statuses": ["503"], "max_attempts": None, "delay_seconds": None},
        ],
    }


@pytest.mark.parametrize("policy", [None, [], "exponential", 3])
def test_a_policy_that_is_no_object_is_refused(policy):
    found = problems(create, MINIMAL | {"retry_policy": policy})

    assert found <= {("#/retry_policy", "invalid_type"), ("#/retry_policy", "null")}


def test_defaults_are_those_of_the_long_form():
    assert create(MINIMAL).retry_policy == LONG["retry_policy"] | {
        "delays_seconds": None,
        "pause_after_failures": None,
    }


def test_listed_delays_may_be_decimals():
    policy = {"backoff": "listed", "delays_seconds": [0, 0.5, 10.0]}

    assert create(MINIMAL | {"retry_policy": policy}).retry_policy["delays_seconds"] == [0, 0.5, 10]


@pytest.mark.parametrize("words", [[], ["503"], ["4xx", "500-504", "timeout"]])
def test_statuses_classes_ranges_and_words_may_be_retried(words):
    policy = {"retry_on": words}

    assert create(MINIMAL | {"retry_policy": policy}).retry_policy["retry_on"] == words


def test_a_lowered_cap_below_the_first_delay_is_refused_where_it_was_written():
    body = MINIMAL | {"retry_policy": {"max_delay_seconds": 0.5}}

    assert problems(create, body) == {("#/retry_policy/max_delay_seconds", "out_of_range")}
