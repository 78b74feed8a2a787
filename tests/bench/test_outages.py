"""What the report of outages accepts, and what it calls a broken promise."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from bench.outages import Told, faults_of

SINCE = datetime(2026, 11, 25, 12, tzinfo=UTC)
VERDICT = "It ran late: no scheduler ran from 12:00:00 to 12:00:48."
ON_TIME = (None, "SUCCEEDED")
LATE = ("late_no_scheduler", "SUCCEEDED")
SKIPPED = ("misfire_skipped", "SKIPPED")
LEFT_OUT = ("misfire_coalesced", "SKIPPED")
COALESCED = ("misfire_coalesced", "SUCCEEDED")
REPLAYED = ("misfire_replayed", "SUCCEEDED")
BEYOND = ("misfire_grace_exceeded", "SKIPPED")


def told(
    policy: str, *kinds: tuple[tuple[str | None, str], int], pace: float = 0.5, says: str = VERDICT
) -> Told:
    """Return what a task would tell whose instants, one a second, are of these kinds in order."""
    instants: list[dict[str, Any]] = []
    for (reason, status), count in kinds:
        for _ in range(count):
            at = SINCE + timedelta(seconds=len(instants))
            instants.append(
                {
                    "scheduled_for": at.isoformat(),
                    "reason": reason,
                    "status": status,
                    "execution_id": f"exe_{len(instants)}",
                }
            )
    started = {
        one["execution_id"]: SINCE + timedelta(seconds=60 + pace * place)
        for place, one in enumerate(instants)
    }
    return Told(policy, instants, started, [says])


@pytest.mark.parametrize(
    ("one", "seconds"),
    [
        (told("skip", (ON_TIME, 3), (LATE, 2)), 5),
        (told("grace", (ON_TIME, 3), (BEYOND, 1), (LATE, 1)), 5),
        (told("skip", (ON_TIME, 3), (SKIPPED, 31), (LATE, 14)), 48),
        (told("coalesce", (LEFT_OUT, 30), (COALESCED, 1), (LATE, 14)), 48),
        (told("replay", (SKIPPED, 29), (REPLAYED, 3), (LATE, 14)), 48),
        (told("grace", (BEYOND, 45), (LATE, 1)), 48),
    ],
)
def test_counts_as_the_policy_says_are_kept(one: Told, seconds: int) -> None:
    assert faults_of(one, seconds) == []


@pytest.mark.parametrize(
    ("one", "seconds"),
    [
        (told("skip", (ON_TIME, 3), (LATE, 2), (SKIPPED, 1)), 5),
        (told("skip", (SKIPPED, 10), (LATE, 14)), 48),
        (told("skip", (SKIPPED, 44)), 48),
        (told("skip", (SKIPPED, 31), (COALESCED, 1)), 48),
        (told("coalesce", (LEFT_OUT, 29), (COALESCED, 2)), 48),
        (told("coalesce", (LEFT_OUT, 31)), 48),
        (told("replay", (SKIPPED, 28), (REPLAYED, 4)), 48),
        (told("grace", (BEYOND, 10), (LATE, 3)), 48),
        (told("grace", (BEYOND, 42), (LATE, 4)), 48),
    ],
)
def test_other_counts_break_a_promise(one: Told, seconds: int) -> None:
    assert [fault.split(" are ")[0] for fault in faults_of(one, seconds)] == [f"{one.name}: counts"]


def test_more_late_starts_than_the_threshold_allows_break_a_promise() -> None:
    one = told("skip", (SKIPPED, 31), (LATE, 17))
    assert faults_of(one, 48) == ["skip: 17 ran late by the outage"]


def test_a_gap_or_a_double_among_the_instants_breaks_a_promise() -> None:
    one = told("skip", (ON_TIME, 5))
    del one.instants[2]
    assert faults_of(one, 5) == ["skip: an instant is missing or there twice"]


def test_late_starts_in_one_burst_break_a_promise() -> None:
    one = told("skip", (SKIPPED, 31), (LATE, 14), pace=0.002)
    assert faults_of(one, 48) == ["skip: two late starts are 2 ms apart at 10 a second"]


def test_an_explanation_without_the_outage_breaks_a_promise() -> None:
    one = told("skip", (SKIPPED, 31), says="No worker had room.")
    assert faults_of(one, 48) == ["skip: Explain does not name the outage: ['No worker had room.']"]
