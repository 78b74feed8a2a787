from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from executions.engine.another_try import Ended, Verdict, judge

NOW = datetime(2026, 11, 20, 8, 0, tzinfo=UTC)
FIXED: dict[str, Any] = {"backoff": "fixed", "initial_delay_seconds": 10, "jitter": "none"}


def ended(number: int = 1, *, cancel_requested: bool = False) -> Ended:
    return Ended(number, 3, NOW - timedelta(minutes=1), cancel_requested)


def test_another_attempt_follows_by_the_policy():
    assert judge(ended(), FIXED, NOW, reason="worker_lost") == Verdict(
        "RETRYING", "worker_lost", 10.0
    )


def test_the_holders_delay_stands_for_the_policys():
    assert judge(ended(), FIXED, NOW, delay=0.0) == Verdict("RETRYING", "", 0.0)


@pytest.mark.parametrize(
    ("what", "options", "reason"),
    [
        (ended(3), {}, "attempts_exhausted"),
        (ended(), {"refusal": "not_retryable"}, "not_retryable"),
        (ended(3), {"refusal": "poisoned"}, "poisoned"),
    ],
)
def test_what_stands_against_it_fails_it(what: Ended, options: dict[str, Any], reason: str):
    assert judge(what, FIXED, NOW, **options) == Verdict("FAILED", reason)


def test_what_is_to_be_cancelled_is_whatever_else_stands_against_it():
    assert judge(ended(3, cancel_requested=True), FIXED, NOW, refusal="x") == Verdict(
        "CANCELLED", "cancelled"
    )


@pytest.mark.parametrize(
    ("longest", "verdict"),
    [(70, Verdict("RETRYING", "", 10.0)), (69.9, Verdict("FAILED", "max_age_exceeded"))],
)
def test_none_begins_later_than_its_age_allows(longest: float, verdict: Verdict):
    assert judge(ended(), {**FIXED, "max_age_seconds": longest}, NOW) == verdict
