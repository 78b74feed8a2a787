from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any
from uuid import UUID

import pytest

from executions.engine.clocks import database_now
from executions.models import Attempt, Execution
from executions.presentation_detail import (
    present_attempt,
    present_execution_detail,
    present_timings,
    waiting_for,
)
from tasks.models import Task
from tenants.models import Tenant
from tests.factories import make_execution

NOW = datetime(2026, 11, 20, 8, 0, 0, tzinfo=UTC)
LATER = NOW + timedelta(minutes=1)
TASK = Task(id=UUID(int=1), paused_until=LATER, pause_note="Maintenance")


def waits(status: str, due_at: datetime = NOW, **parts: Any) -> dict[str, Any] | None:
    execution = Execution(status=status, due_at=due_at, attempt=1, max_attempts=5, **parts)
    return waiting_for(execution, TASK, NOW)


@pytest.mark.parametrize(
    ("found", "what", "until"),
    [
        (waits("PENDING", LATER), "due_time", "2026-11-20T08:01:00.000Z"),
        (waits("PENDING"), "worker", None),
        (waits("PENDING", LATER, held=True), "resume", "2026-11-20T08:01:00.000Z"),
        (waits("RETRYING", LATER), "retry", "2026-11-20T08:01:00.000Z"),
        (waits("RETRYING"), "worker", None),
        (waits("QUEUED", LATER), "due_time", "2026-11-20T08:01:00.000Z"),
        (waits("QUEUED", lease_expires_at=LATER), "start", "2026-11-20T08:01:00.000Z"),
    ],
)
def test_what_waits_says_for_what_and_until_when(found: Any, what: str, until: str | None):
    assert (found["what"], found["until"]) == (what, until)
    assert found["detail"].endswith(".")


@pytest.mark.parametrize("status", ["RUNNING", "SUCCEEDED", "FAILED", "CANCELLED", "SKIPPED"])
def test_what_runs_or_has_ended_waits_for_nothing(status: str):
    assert waits(status, LATER) is None


def test_the_note_of_a_pause_and_the_next_attempt_are_told():
    held, retry = waits("PENDING", held=True), waits("RETRYING", LATER)

    assert held is not None
    assert retry is not None
    assert held["detail"] == "The task is paused (Maintenance)."
    assert retry["detail"] == "Attempt 2 of 5 follows."


def test_every_phase_is_there_and_rounded():
    assert present_timings({"dns": 0.12345, "total": 5}) == {
        "dns_ms": 0.123,
        "connect_ms": None,
        "tls_ms": None,
        "first_byte_ms": None,
        "total_ms": 5,
    }


def test_a_lost_attempt_shows_what_is_known():
    attempt = Attempt(
        number=1,
        outcome="WORKER_LOST",
        error_code="worker_lost",
        error_message="The worker went silent.",
        started_at=NOW,
        finished_at=LATER,
    )

    shown = present_attempt(attempt)

    assert shown["outcome"] == "WORKER_LOST"
    assert shown["error"] == {"code": "worker_lost", "message": "The worker went silent."}
    assert (shown["duration_ms"], shown["worker"], shown["due_at"]) == (60_000, None, None)


@pytest.mark.django_db
@pytest.mark.parametrize("status", ["PENDING", "QUEUED", "RUNNING", "RETRYING", "SUCCEEDED"])
def test_the_single_view_has_its_own_fields_in_every_state(alpha: Tenant, status: str):
    shown = present_execution_detail(make_execution(alpha, status), now=database_now())

    assert {"attempts", "request", "response", "timings", "waiting_for"} <= shown.keys()
    assert shown["request"]["body"] == {"n": 1}
    assert len(shown["attempts"]) == (status in ("RETRYING", "SUCCEEDED"))
