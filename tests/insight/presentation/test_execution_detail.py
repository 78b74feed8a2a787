from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest

from executions.loop.clocks import database_now
from executions.models import Attempt
from insight.presentation.execution_detail import (
    present_attempt,
    present_execution_detail,
    present_timings,
)
from tenants.models import Tenant
from tests.factories import make_execution

NOW = datetime(2026, 11, 20, 8, 0, 0, tzinfo=UTC)
LATER = NOW + timedelta(minutes=1)


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
    assert (shown["waiting_for"] is None) == (status in ("RUNNING", "SUCCEEDED"))
