"""What the pictures of one execution are drawn from."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest

from dashboard.execution_facts import attempt_facts, state_visits, stay_of
from events.models import Event
from executions.engine.clocks import database_now
from executions.models import Execution
from executions.presentation_detail import present_execution_detail
from tasks.definition import TARGET_DEFAULTS
from tests.factories import make_execution
from tests.tasks.bodies import POOL

AT = datetime(2026, 11, 20, 8, 0, tzinfo=UTC)
HANDLER = {"kind": "handler", "cancel_grace_seconds": 5}
PATHS = {
    "PENDING": ["PENDING"],
    "QUEUED": ["PENDING", "QUEUED"],
    "RUNNING": ["PENDING", "QUEUED", "RUNNING"],
    "SUCCEEDED": ["PENDING", "QUEUED", "RUNNING", "SUCCEEDED"],
    "RETRYING": ["PENDING", "QUEUED", "RUNNING", "RETRYING"],
    "FAILED": ["PENDING", "QUEUED", "RUNNING", "FAILED"],
    "CANCELLED": ["PENDING", "CANCELLED"],
}


def facts_of(execution):
    shown = present_execution_detail(execution, now=database_now())
    return attempt_facts(shown["attempts"])


@pytest.mark.parametrize("status", PATHS)
def test_the_states_come_in_the_order_in_which_they_were_entered(alpha, status):
    execution = make_execution(alpha, status)

    visits = state_visits(execution, facts_of(execution))

    assert [visit.state for visit in visits if visit.state != "RUNNING"] == [
        state for state in PATHS[status] if state != "RUNNING"
    ]
    assert ("RUNNING" in [visit.state for visit in visits]) == ("RUNNING" in PATHS[status])
    assert visits == sorted(visits, key=lambda visit: visit.at)


def test_without_events_the_row_tells_its_own_times(alpha):
    execution = make_execution(alpha, "FAILED")
    Event.objects.all().delete()

    states = {visit.state for visit in state_visits(execution, facts_of(execution))}

    assert states == {"PENDING", "QUEUED", "RUNNING", "FAILED"}


def test_another_executions_events_are_not_mixed_in(alpha):
    make_execution(alpha, "FAILED")
    execution = make_execution(alpha, "PENDING")

    assert [visit.state for visit in state_visits(execution, [])] == ["PENDING"]


def test_an_attempt_is_taken_with_its_times_and_its_error(alpha):
    [facts] = facts_of(make_execution(alpha, "FAILED"))

    assert (facts.number, facts.state, facts.response_status) == (1, "FAILED", 500)
    assert facts.error_code == "http_status"
    assert facts.due_at is not None
    assert facts.started_at is not None
    assert facts.finished_at is not None
    assert facts.started_at < facts.finished_at


def test_an_execution_without_attempts_has_no_facts(alpha):
    assert facts_of(make_execution(alpha, "PENDING")) == []


@pytest.mark.parametrize("status", ["PENDING", "RETRYING", "SUCCEEDED", "CANCELLED"])
def test_nobody_has_what_is_not_handed_out(status):
    assert stay_of(Execution(status=status), HANDLER) is None


@pytest.mark.parametrize(
    ("target", "accepted", "words", "seconds"),
    [
        (HANDLER, None, "", 10),
        (TARGET_DEFAULTS, None, "", 5),
        (TARGET_DEFAULTS, AT, "It runs at the receiver", 30),
        (POOL, AT, "A worker of its pool has it", 30),
    ],
)
def test_a_cancelled_run_ends_at_the_latest_after_its_grace(target, accepted, words, seconds):
    execution = Execution(status="RUNNING", cancel_requested_at=AT, accepted_at=accepted)

    stay = stay_of(execution, target)

    assert stay is not None
    assert (stay.words, stay.since) == (words, accepted)
    assert stay.hard_end_at == AT + timedelta(seconds=seconds)


def test_a_run_that_nobody_cancels_has_no_end():
    stay = stay_of(Execution(status="QUEUED", lease_expires_at=AT), HANDLER)

    assert stay is not None
    assert (stay.hard_end_at, stay.lease_until) == (None, AT)
