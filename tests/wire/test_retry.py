from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from wire.retry import Ended, Known, Verdict, judge

NOW = datetime(2026, 11, 20, 8, 0, tzinfo=UTC)
FIXED: dict[str, Any] = {"backoff": "fixed", "initial_delay_seconds": 10, "jitter": "none"}


def half() -> float:
    return 0.5


def ended(number: int = 1, *, age: float = 60.0, cancel_requested: bool = False) -> Ended:
    return Ended(number, 3, NOW - timedelta(seconds=age), NOW, cancel_requested)


def test_another_attempt_follows_by_the_policy():
    assert judge(ended(), FIXED, half) == Verdict("RETRYING", "", 10.0)
    assert judge(ended(), FIXED, half, Known(reason="worker_lost")).reason == "worker_lost"


def test_the_policys_jitter_is_drawn_from_the_given_numbers():
    assert judge(ended(), {**FIXED, "jitter": "full"}, half).retry_in == 5.0


@pytest.mark.parametrize(
    ("known", "wait"),
    [
        (Known(delay=0.0), 0.0),
        (Known(rule={"delay_seconds": 3.5, "max_attempts": None}), 3.5),
        (Known(rule={"delay_seconds": 0, "max_attempts": None}), 0.0),
        (Known(rule={"delay_seconds": None, "max_attempts": 2}), 10.0),
        (Known(rule={"delay_seconds": 3.5}, delay=7.0), 7.0),
        (Known(at_least=120.0), 120.0),
        (Known(at_least=2.0), 10.0),
        (Known(rule={"delay_seconds": 3.5}, at_least=4.0), 4.0),
    ],
)
def test_a_given_delay_stands_for_the_rules_and_a_rules_for_the_policys(known: Known, wait: float):
    assert judge(ended(), FIXED, half, known) == Verdict("RETRYING", "", wait)


@pytest.mark.parametrize(
    ("number", "known", "reason"),
    [
        (3, Known(), "attempts_exhausted"),
        (2, Known(rule={"max_attempts": 2}), "attempts_exhausted"),
        (3, Known(rule={"max_attempts": 9}), "attempts_exhausted"),
        (1, Known(refusal="not_retryable"), "not_retryable"),
        (3, Known(refusal="poisoned"), "poisoned"),
    ],
)
def test_what_stands_against_it_fails_it(number: int, known: Known, reason: str):
    assert judge(ended(number), FIXED, half, known) == Verdict("FAILED", reason)


def test_what_is_to_be_cancelled_is_whatever_else_stands_against_it():
    assert judge(ended(3, cancel_requested=True), FIXED, half, Known(refusal="x")) == Verdict(
        "CANCELLED", "cancelled"
    )


@pytest.mark.parametrize(
    ("longest", "known", "verdict"),
    [
        (None, Known(at_least=9e9), Verdict("RETRYING", "", 9e9)),
        (70, Known(), Verdict("RETRYING", "", 10.0)),
        (69.9, Known(), Verdict("FAILED", "max_age_exceeded")),
        (70, Known(at_least=10.1), Verdict("FAILED", "max_age_exceeded")),
        (60, Known(delay=0.0), Verdict("RETRYING", "", 0.0)),
        (59.9, Known(delay=0.0), Verdict("FAILED", "max_age_exceeded")),
        (69.9, Known(refusal="poisoned"), Verdict("FAILED", "poisoned")),
    ],
)
def test_none_begins_later_than_its_age_allows(
    longest: float | None, known: Known, verdict: Verdict
):
    assert judge(ended(), {**FIXED, "max_age_seconds": longest}, half, known) == verdict


def test_one_that_ended_before_its_nominal_time_is_young():
    assert judge(ended(age=-100), {**FIXED, "max_age_seconds": 1}, half).status == "RETRYING"
