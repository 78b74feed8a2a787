"""What a worker holds is ordered by time, then priority; a fault of its own is tried again."""

from __future__ import annotations

import random
from typing import Any

import pytest

from shared.fair_slots import Caller
from worker.entries import Flying, Held, caller_of, internal_failure, weight_of


def held(due: float, priority: int, token: int) -> Held:
    nothing: Any = {}
    return Held(due, priority, token, nothing, nothing)


def test_the_sooner_comes_first_then_the_more_urgent_then_the_older() -> None:
    ordered = [held(1.0, 2, 9), held(2.0, 0, 5), held(2.0, 1, 3), held(2.0, 1, 4)]
    mixed = random.sample(ordered, len(ordered))

    assert [place[-1].token for place in sorted(one.place for one in mixed)] == [9, 5, 3, 4]


def test_two_copies_of_a_message_are_told_apart() -> None:
    first, second = held(1.0, 1, 7), held(1.0, 1, 7)

    assert first.nonce != second.nonce
    assert sorted([second.place, first.place]) == [first.place, second.place]


def of(**parts: Any) -> Held:
    entry: Any = {"tenant": "t", "start_by": 9, **parts}
    return Held(1.0, 5, 1, entry, entry)


def test_the_guard_is_asked_about_hosts_alone_and_processes_have_a_lane_each() -> None:
    webhook = of(destination="a.example", target={"kind": "webhook"})
    command = of(destination="", target={"kind": "command"})
    other = of(target={"kind": "of a later version"})

    assert [one.lane for one in (webhook, command, other)] == ["t:a.example", "t#command", ""]
    assert [one.question().destination for one in (webhook, command, other)] == [
        *("t:a.example", "", "")
    ]


@pytest.mark.parametrize(
    ("parts", "weight"),
    [({}, 1), ({"weight": 4}, 4), ({"weight": 0.5}, 0.5), ({"weight": 0}, 1), ({"weight": -1}, 1)],
)
def test_a_weight_is_that_of_the_message_or_one(parts: dict[str, Any], weight: float) -> None:
    held = of(**parts)

    assert (held.tenant, held.step, weight_of(held.entry)) == ("t", 1 / weight, weight)


def test_a_caller_for_a_slot_is_in_the_order_of_its_execution() -> None:
    entry: Any = {"tenant": "t", "weight": 2, "priority": 3, "due": 7.0}

    assert caller_of(entry) == Caller("t", 2, 3, 7.0)


async def test_what_was_let_go_ahead_starts_when_its_time_has_come() -> None:
    times = [999.998, 1000.001, 1000.002]
    waits = Flying(held(1000.0, 5, 1), started=999.99)
    late = Flying(held(1000.0, 5, 2), started=999.99)
    overdue = Flying(held(1000.0, 5, 3), started=1000.5)

    await waits.until_due(lambda: times.pop(0))
    # Its task has begun so late that there is nothing to wait for.
    await late.until_due(lambda: 1000.004)
    await overdue.until_due(lambda: 1000.6)

    assert (waits.started, late.started, overdue.started) == (1000.001, 1000.004, 1000.5)


@pytest.mark.parametrize(("attempt", "verb"), [(1, "retrying"), (2, "retrying"), (3, "failed")])
def test_a_fault_of_our_own_uses_an_attempt_like_any_other(attempt: int, verb: str) -> None:
    entry: Any = {
        "attempt": attempt,
        "max_attempts": 3,
        "scheduled_for": 1000.0,
        "retry_policy": {},
    }

    outcome: Any = internal_failure(entry, 1001.0)

    assert (outcome["verb"], outcome["outcome"], outcome["error_code"]) == (
        verb,
        "FAILED",
        "internal",
    )
    assert (outcome.get("retry_in", 0) > 0) == (verb == "retrying")


def test_a_fault_of_our_own_is_not_tried_again_when_it_is_too_late() -> None:
    policy = {"max_age_seconds": 60}
    entry: Any = {"attempt": 1, "max_attempts": 3, "scheduled_for": 1000.0, "retry_policy": policy}

    assert internal_failure(entry, 1040.0)["verb"] == "retrying"
    assert internal_failure(entry, 1055.0)["reason"] == "max_age_exceeded"
