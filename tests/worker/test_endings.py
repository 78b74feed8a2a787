from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from tests.support.entries import capture_of, entry_of, result_of
from worker.endings import Ending, Kind, interrupted, outcome_of
from worker.head_tail import HeadTail
from worker.interruption import Why

NOW = datetime(2026, 11, 20, 8, tzinfo=UTC)
LIMITED = {
    "retry_on": [],
    "backoff": "fixed",
    "jitter": "none",
    "initial_delay_seconds": 5,
    "max_age_seconds": 60,
}
TOO_OLD = {"scheduled_for": (NOW - timedelta(seconds=58)).timestamp(), "retry_policy": LIMITED}


def entry(**parts: Any) -> Any:
    return entry_of("handler", parts={"scheduled_for": NOW.timestamp(), **parts})


def test_a_success_carries_result_and_log_sealed():
    log = HeadTail(100)
    log.add(b"said")
    one = entry()

    said = outcome_of(one, Ending(Kind.SUCCEEDED, result=b'{"n":1}', log=log, exit_code=0), NOW)

    assert (said["verb"], said["outcome"], said["error_code"]) == ("succeeded", "SUCCEEDED", "")
    assert result_of(one, said) == {"n": 1}
    assert capture_of(one, said) == {"log": "c2FpZA==", "truncated": False, "exit_code": 0}


def test_a_silent_run_has_no_capture():
    said = outcome_of(entry(), Ending(Kind.SUCCEEDED, log=HeadTail(10)), NOW)

    assert "sealed" not in said
    assert "result" not in said


@pytest.mark.parametrize(
    ("kind", "parts", "expected"),
    [
        (Kind.FAILED, {}, ("retrying", "")),
        (Kind.FAILED, {"attempt": 5}, ("failed", "attempts_exhausted")),
        (Kind.REFUSED, {}, ("failed", "not_retryable")),
        (Kind.TIMED_OUT, {}, ("retrying", "")),
        (Kind.TIMED_OUT, {"retry_policy": {"retry_on": []}}, ("failed", "not_retryable")),
        (Kind.CANCELLED, {}, ("cancelled", "cancelled")),
        (Kind.STOPPED, {}, ("retrying", "worker_lost")),
        (Kind.STOPPED, {"attempt": 5}, ("failed", "attempts_exhausted")),
        (Kind.LOST, {}, ("retrying", "worker_lost")),
        (Kind.LOST, {"attempt": 5}, ("failed", "attempts_exhausted")),
        (Kind.LOST, {"lost": 1}, ("retrying", "worker_lost")),
        (Kind.LOST, {"lost": 2}, ("failed", "poisoned")),
        (Kind.LOST, {"lost": 2, "attempt": 5}, ("failed", "poisoned")),
        (Kind.FAILED, TOO_OLD, ("failed", "max_age_exceeded")),
        # It goes out again at once, and is not too old for that.
        (Kind.STOPPED, TOO_OLD, ("retrying", "worker_lost")),
    ],
)
def test_what_follows_is_decided_by_kind_and_policy(kind, parts, expected):
    said = outcome_of(entry(**parts), Ending(kind, "code", "message"), NOW)

    assert (said["verb"], said["reason"]) == expected
    assert said.get("lost", 0) == (1 if kind is Kind.LOST else 0)


def test_an_execution_too_old_for_its_policy_is_not_tried_again():
    policy = {"retry_on": [], "max_age_seconds": 60}

    said = outcome_of(entry(retry_policy=policy), Ending(Kind.FAILED), NOW + timedelta(seconds=61))

    assert said["verb"] == "failed"


def test_a_message_is_cut_and_holds_nothing_that_cannot_be_stored():
    said = outcome_of(entry(), Ending(Kind.FAILED, "c", "a\0" + "b" * 2000), NOW)

    assert said["error_message"] == "a" + "b" * 999


@pytest.mark.parametrize(
    ("why", "kind", "code"),
    [
        (Why.TIME_IS_UP, Kind.TIMED_OUT, "timeout_total"),
        (Why.CANCELLED, Kind.CANCELLED, ""),
        (Why.STOPPING, Kind.STOPPED, "worker_lost"),
    ],
)
def test_an_interruption_says_why(why, kind, code):
    ending = interrupted(why, 5.0, HeadTail(10))

    assert (ending.kind, ending.error_code) == (kind, code)
