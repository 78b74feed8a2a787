from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any
from uuid import UUID

import pytest

from executions.models import Execution
from insight.presentation.execution import (
    duration_ms,
    error_or_none,
    instant_or_none,
    present_execution,
    present_executions,
)
from tenants.models import Tenant
from tests.factories import make_execution, make_task, once

AT = datetime(2026, 11, 20, 8, 0, 0, 123456, tzinfo=UTC)
ID = UUID("019a9f3c-8000-8123-8456-0123456789ab")
TASK = UUID(int=2)


def execution(**parts: Any) -> Execution:
    facts = {"id": ID, "task_id": TASK, "scheduled_for": AT, "due_at": AT, "status": "PENDING"}
    return Execution(**{**facts, **parts})


def shown(**parts: Any) -> dict[str, Any]:
    return present_execution(execution(**parts), task_name="Report")


def test_a_waiting_execution_has_every_field():
    assert shown() == {
        "id": str(ID),
        "task_id": str(TASK),
        "task_name": "Report",
        "status": "PENDING",
        "reason": None,
        "trigger": "schedule",
        "scheduled_for": "2026-11-20T08:00:00.123Z",
        "due_at": "2026-11-20T08:00:00.123Z",
        "queued_at": None,
        "started_at": None,
        "finished_at": None,
        "start_delay_ms": None,
        "duration_ms": None,
        "attempt": 0,
        "max_attempts": 5,
        "next_attempt_at": "2026-11-20T08:00:00.123Z",
        "worker": None,
        "pool": "default",
        "log_url": None,
        "response_status": None,
        "error": None,
        "progress": None,
        "result": None,
        "trace_id": "019a9f3c8000812384560123456789ab",
        "parent_id": None,
    }


def test_a_finished_execution_says_how_it_went():
    answer = shown(
        status="FAILED",
        reason="attempts_exhausted",
        started_at=AT,
        finished_at=AT + timedelta(seconds=1, microseconds=500),
        start_delay_ms=12.34567,
        attempt=5,
        worker="worker-1",
        response_status=503,
        error_code="http_status",
        error_message="The receiver answered HTTP 503.",
        parent_id=TASK,
    )

    assert (answer["reason"], answer["worker"]) == ("attempts_exhausted", "worker-1")
    assert (answer["start_delay_ms"], answer["duration_ms"]) == (12.346, 1000.5)
    assert answer["error"] == {
        "code": "http_status",
        "message": "The receiver answered HTTP 503.",
    }
    assert (answer["next_attempt_at"], answer["parent_id"]) == (None, str(TASK))


@pytest.mark.parametrize(
    ("status", "held", "expected"),
    [
        ("PENDING", False, True),
        ("QUEUED", False, True),
        ("RETRYING", False, True),
        ("PENDING", True, False),
        ("RETRYING", True, False),
        ("RUNNING", False, False),
        ("SUCCEEDED", False, False),
        ("SKIPPED", False, False),
    ],
)
def test_only_unheld_waiting_work_has_a_next_attempt(status: str, held: bool, expected: bool):
    assert (shown(status=status, held=held)["next_attempt_at"] is not None) == expected


def test_a_running_execution_that_is_to_stop_says_so():
    assert shown(status="RUNNING", cancel_requested_at=AT)["reason"] == "cancel_requested"
    assert shown(status="SUCCEEDED", cancel_requested_at=AT)["reason"] is None


def test_details_are_added_to_the_answer():
    answer = present_execution(execution(), task_name="", detail={"attempts": []})

    assert answer["attempts"] == []


@pytest.mark.parametrize(
    ("started", "finished", "expected"),
    [
        (None, None, None),
        (AT, None, None),
        (None, AT, None),
        (AT, AT + timedelta(milliseconds=20), 20),
        # Two clocks may disagree by a little; nothing took less than no time.
        (AT, AT - timedelta(milliseconds=1), 0),
    ],
)
def test_a_duration_needs_both_ends(started: Any, finished: Any, expected: Any):
    assert duration_ms(started, finished) == expected


def test_missing_values_are_null():
    assert instant_or_none(None) is None
    assert error_or_none("", "text") is None
    assert error_or_none("internal", "") == {"code": "internal", "message": ""}


@pytest.mark.django_db
def test_the_names_of_all_tasks_come_in_one_query(alpha: Tenant, django_assert_num_queries: Any):
    one = make_execution(alpha, body=once(name="One"))
    two = make_execution(alpha, body=once(name="Two"))
    make_task(alpha)

    with django_assert_num_queries(1):
        answer = present_executions([two, one, two])

    assert [row["task_name"] for row in answer] == ["Two", "One", "Two"]


@pytest.mark.django_db
def test_nothing_to_present_costs_no_query(django_assert_num_queries: Any):
    with django_assert_num_queries(0):
        assert present_executions([]) == []
