"""What a call makes run continues the trace that the call named (K2)."""

from __future__ import annotations

from collections.abc import Callable
from datetime import timedelta
from typing import Any

import pytest

from executions.bulk.jobs import run_some
from executions.loop.clocks import database_now
from executions.models import BulkJob, Execution
from shared.instants import format_instant
from tenants.models import Tenant
from tests.executions.bulk.backfills import HOUR, minutely
from tests.factories import (
    ApiClient,
    daily,
    make_dead_letter,
    make_execution,
    make_task,
    once,
    prepare,
    release,
)
from wire import messages

TRACE = "4bf92f3577b34da6a3ce929d0e0e4736"
#: Not sampled: what the caller decided is handed on.
NAMED = {"traceparent": f"00-{TRACE}-00f067aa0ba902b7-00", "tracestate": "rojo=1,congo=t6"}
KEPT = f"{TRACE}-00 rojo=1,congo=t6"


def only_execution(**parts: Any) -> Execution:
    found: Execution = Execution.objects.get(**parts)
    return found


def run_jobs() -> None:
    for job in BulkJob.objects.all():
        while run_some(job.id):
            pass


def _create(client: ApiClient, alpha: Tenant, named: dict[str, str]) -> Execution:
    answer = client.post("/v1/tasks", once(), idempotency_key="1", **named)
    prepare()
    return only_execution(task_id=answer.json()["id"])


def _create_in_bulk(client: ApiClient, alpha: Tenant, named: dict[str, str]) -> Execution:
    body = {"tasks": [once()]}
    client.post("/v1/tasks/bulk", body, idempotency_key="1", **named)
    prepare()
    return only_execution()


def _put(client: ApiClient, alpha: Tenant, named: dict[str, str]) -> Execution:
    task = make_task(alpha, once(database_now() + timedelta(days=1)))
    client.put(f"/v1/tasks/{task.id}", once(), **named)
    prepare()
    return only_execution()


def _run(client: ApiClient, alpha: Tenant, named: dict[str, str]) -> Execution:
    task = make_task(alpha)
    answer = client.post(f"/v1/tasks/{task.id}/run", idempotency_key="1", **named)
    return only_execution(pk=answer.json()["id"])


def _retry(client: ApiClient, alpha: Tenant, named: dict[str, str]) -> Execution:
    execution = make_execution(alpha, "SUCCEEDED")
    answer = client.post(f"/v1/executions/{execution.id}/retry", idempotency_key="1", **named)
    return only_execution(pk=answer.json()["id"])


def _retry_letter(client: ApiClient, alpha: Tenant, named: dict[str, str]) -> Execution:
    letter = make_dead_letter(alpha)
    answer = client.post(f"/v1/dlq/{letter.id}/retry", idempotency_key="1", **named)
    return only_execution(pk=answer.json()["id"])


def _retry_many(client: ApiClient, alpha: Tenant, named: dict[str, str]) -> Execution:
    make_dead_letter(alpha)
    body = {"action": "retry", "filter": {}}
    answer = client.post("/v1/dlq/actions", body, idempotency_key="1", **named)
    assert answer.status_code == 202, answer.content
    run_jobs()
    return only_execution(trigger="retry")


def _run_many(client: ApiClient, alpha: Tenant, named: dict[str, str]) -> Execution:
    make_task(alpha)
    body = {"action": "run", "filter": {}}
    answer = client.post("/v1/tasks/actions", body, idempotency_key="1", **named)
    assert answer.status_code == 202, answer.content
    run_jobs()
    return only_execution(trigger="manual")


def _backfill(client: ApiClient, alpha: Tenant, named: dict[str, str]) -> Execution:
    task = make_task(alpha, minutely())
    body = {"start": format_instant(HOUR.start), "end": format_instant(HOUR.start)}
    answer = client.post(f"/v1/tasks/{task.id}/backfill", body, idempotency_key="1", **named)
    assert answer.status_code == 202, answer.content
    run_jobs()
    return only_execution(trigger="backfill")


#: Those of which the execution belongs to the call alone, whoever began its trace.
AT_ONCE = [_run, _retry, _retry_letter, _retry_many, _run_many, _backfill]
DOORS = [_create, _create_in_bulk, _put, *AT_ONCE]
Door = Callable[[ApiClient, Tenant, dict[str, str]], Execution]


@pytest.mark.parametrize("door", DOORS)
def test_what_a_call_makes_run_continues_the_callers_trace(
    client: ApiClient, alpha: Tenant, door: Door
):
    execution = door(client, alpha, NAMED)

    assert execution.trace_context == KEPT
    assert client.get(f"/v1/executions/{execution.id}").json()["trace_id"] == TRACE


@pytest.mark.parametrize("door", AT_ONCE)
def test_without_a_traceparent_it_continues_the_trace_that_the_answer_names(
    client: ApiClient, alpha: Tenant, door: Door, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr("api.protocol.trace.secrets.token_hex", lambda size: "ab" * size)

    execution = door(client, alpha, {})

    assert execution.trace_context == f"{'ab' * 16}-01"


@pytest.mark.parametrize("door", [_create, _create_in_bulk])
def test_a_task_of_a_call_without_a_traceparent_is_a_trace_of_its_own(
    client: ApiClient, alpha: Tenant, door: Door
):
    execution = door(client, alpha, {})

    assert execution.trace_context is None
    shown = client.get(f"/v1/executions/{execution.id}").json()
    assert shown["trace_id"] == execution.id.hex


def test_each_execution_of_a_task_that_recurs_is_a_trace_of_its_own(
    client: ApiClient, alpha: Tenant
):
    body = daily(schedule={"every": "PT1S"})
    task = client.post("/v1/tasks", body, idempotency_key="1", **NAMED).json()
    other = client.post("/v1/tasks", once(), idempotency_key="2", **NAMED).json()
    client.patch(f"/v1/tasks/{other['id']}", {"type": "RECURRING", "schedule": {"every": "PT1S"}})

    prepare()

    found = Execution.objects.filter(task_id__in=[task["id"], other["id"]])
    assert set(found.values_list("trace_context", flat=True)) == {None}
    assert found.count() > 2


def test_the_trace_travels_with_the_work(client: ApiClient, alpha: Tenant):
    _run(client, alpha, NAMED)
    make_execution(alpha)

    claimed = {row.task_id: row for row in release()}
    [traced] = [row for row in claimed.values() if row.trace_context]
    [untraced] = [row for row in claimed.values() if not row.trace_context]

    sent = messages.encode([traced, untraced], 0, "incarnation", {}, 0.0)
    entries = messages.decode(sent)["executions"]
    assert entries[0]["trace"] == KEPT
    # Nothing of it costs what continues none.
    assert "trace" not in entries[1]


def test_a_retry_stays_in_the_trace_of_its_own_call(client: ApiClient, alpha: Tenant):
    first = _run(client, alpha, NAMED)
    Execution.objects.filter(pk=first.pk).update(status="FAILED", finished_at=database_now())

    answer = client.post(f"/v1/executions/{first.id}/retry", idempotency_key="r")

    second = only_execution(pk=answer.json()["id"])
    assert second.parent_id == first.id
    assert second.trace_context == f"{answer['X-Trace-Id']}-01"
