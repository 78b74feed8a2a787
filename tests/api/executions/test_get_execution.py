from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest

from executions.loop.clocks import database_now
from executions.models import Execution
from tenants.models import Tenant
from tests.executions.answers import problem, sealed_answer
from tests.factories import ApiClient, finish, make_execution, once, release, start

MASK = "[redacted]"


def get(client: ApiClient, execution: Execution) -> dict[str, Any]:
    answer = client.get(f"/v1/executions/{execution.id}")
    assert answer.status_code == 200, answer.content
    shown: dict[str, Any] = answer.json()
    return shown


def deliver(execution: Execution, status: str, **parts: Any) -> None:
    (row,) = (row for row in release() if row.id == execution.id)
    start([row])
    finish(row, status, **parts)


def test_a_finished_execution_shows_what_was_sent_and_got(client: ApiClient, alpha: Tenant):
    target = {
        "url": "https://api.example.com/reports?day=1",
        "headers": {"X-Team": "billing", "Authorization": "Bearer abc", "X-Api-Key": "k"},
    }
    execution = make_execution(alpha, body=once(target=target, payload={"n": 1}))
    deliver(
        execution,
        "SUCCEEDED",
        timings='{"connect": 1.23456, "first_byte": 10, "total": 12.5}',
        sealed_response=sealed_answer(
            execution.id,
            b"fine \xff",
            [["Content-Type", "text/plain"], ["Set-Cookie", "s=1"], ["X-A", "1"], ["x-a", "2"]],
        ),
    )

    shown = get(client, execution)

    assert (shown["status"], shown["response_status"]) == ("SUCCEEDED", 200)
    request = shown["request"]
    assert (request["method"], request["url"]) == ("POST", target["url"])
    assert request["body"] == {"n": 1}
    assert request["headers"]["X-Team"] == "billing"
    assert request["headers"]["webhook-id"] == str(execution.id)
    assert request["headers"]["Idempotency-Key"] == str(execution.id)
    assert request["headers"]["X-Scheduler-Attempt"] == "1"
    assert request["headers"]["X-Scheduler-Scheduled-For"] == shown["scheduled_for"]
    assert request["headers"]["traceparent"].split("-")[1] == shown["trace_id"]
    secret = ("Authorization", "X-Api-Key", "webhook-signature")
    assert [request["headers"][name] for name in secret] == [MASK] * 3
    assert shown["response"] == {
        "status": 200,
        "headers": {"Content-Type": "text/plain", "Set-Cookie": MASK, "X-A": "1, 2"},
        "body": "fine �",
        "truncated": False,
    }
    assert shown["timings"] == {
        "dns_ms": None,
        "connect_ms": 1.235,
        "tls_ms": None,
        "first_byte_ms": 10,
        "total_ms": 12.5,
    }
    assert shown["waiting_for"] is None


def test_every_attempt_is_shown_in_order(client: ApiClient, alpha: Tenant):
    execution = make_execution(alpha)
    ended = database_now()
    deliver(
        execution,
        "RETRYING",
        started_at=ended - timedelta(milliseconds=20),
        finished_at=ended,
        outcome="TIMED_OUT",
        error_code="timeout_total",
        error_message="No answer within 30 seconds.",
        response_status=None,
    )
    deliver(execution, "SUCCEEDED", sealed_response=sealed_answer(execution.id, b"ok"))

    shown = get(client, execution)

    first, second = shown["attempts"]
    assert (first["number"], first["outcome"]) == (1, "TIMED_OUT")
    assert first["error"] == {
        "code": "timeout_total",
        "message": "No answer within 30 seconds.",
    }
    assert (first["response"], first["response_status"]) == (None, None)
    assert first["worker"] == "worker-1"
    assert first["duration_ms"] == pytest.approx(20)
    assert first["started_at"] < first["finished_at"]
    assert first["request"]["headers"]["X-Scheduler-Attempt"] == "1"
    # The body is the same for every attempt and shown once, with the execution.
    assert "body" not in first["request"]
    assert (second["number"], second["outcome"], second["error"]) == (2, "SUCCEEDED", None)
    assert second["response"]["body"] == "ok"
    assert shown["request"]["headers"]["X-Scheduler-Attempt"] == "2"
    assert (shown["attempt"], shown["max_attempts"]) == (2, 5)


def test_a_waiting_execution_shows_what_it_will_send_and_waits_for(
    client: ApiClient, alpha: Tenant
):
    execution = make_execution(alpha, body=once(database_now() + timedelta(seconds=10)))

    shown = get(client, execution)

    assert shown["attempts"] == []
    assert shown["response"] is None
    assert shown["request"] == {
        "method": "POST",
        "url": "https://api.example.com/reports",
        "headers": {},
        "body": {"n": 1},
    }
    assert shown["waiting_for"]["what"] == "due_time"
    assert shown["waiting_for"]["until"] == shown["due_at"] == shown["next_attempt_at"]


def test_an_execution_of_a_paused_task_waits_for_its_resumption(client: ApiClient, alpha: Tenant):
    execution = make_execution(alpha, "RETRYING")
    until = database_now() + timedelta(hours=1)
    paused = client.post(
        f"/v1/tasks/{execution.task_id}/pause",
        {"until": until.isoformat(), "note": "Maintenance"},
    )
    assert paused.status_code == 200, paused.content

    shown = get(client, execution)

    assert shown["waiting_for"]["what"] == "pause"
    assert shown["waiting_for"]["until"] == paused.json()["paused_until"]
    assert "Maintenance" in shown["waiting_for"]["detail"]
    assert shown["next_attempt_at"] is None


def test_a_request_without_a_body_shows_none(client: ApiClient, alpha: Tenant):
    target = {"url": "https://api.example.com/ping", "method": "GET"}
    execution = make_execution(alpha, "SUCCEEDED", once(target=target))

    request = get(client, execution)["request"]

    assert request["body"] is None
    assert "Content-Type" not in request["headers"]


def test_what_was_never_sent_has_no_request(client: ApiClient, alpha: Tenant):
    shown = get(client, make_execution(alpha, "CANCELLED"))

    assert (shown["request"], shown["response"], shown["reason"]) == (None, None, "cancelled")


def test_unknown_parameters_are_refused(client: ApiClient, alpha: Tenant):
    execution = make_execution(alpha)

    answer = client.get(f"/v1/executions/{execution.id}?expand=1")

    assert problem(answer) == (400, "invalid")
