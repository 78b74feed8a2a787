from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest

from executions.loop.clocks import database_now
from executions.models import BulkJob, Execution
from shared.instants import format_instant
from tenants.models import Tenant
from tests.executions.bulk.bulk import counts, run_job
from tests.factories import ApiClient, make_execution

URL = "/v1/executions/actions"


def act(client: ApiClient, action: str = "cancel", key: str = "1", **body: Any) -> Any:
    return client.post(URL, {"action": action, "filter": {}, **body}, idempotency_key=key)


def ran(answer: Any) -> BulkJob:
    assert answer.status_code == 202, answer.content
    return run_job(BulkJob.objects.get(pk=answer.json()["id"]))


def test_unfinished_executions_of_a_task_are_cancelled(client: ApiClient, alpha: Tenant):
    waiting, queued = make_execution(alpha), make_execution(alpha, "QUEUED")
    other = make_execution(alpha)

    first = ran(act(client, filter={"task": str(waiting.task_id)}))
    second = ran(act(client, key="2", filter={"status": ["QUEUED"]}))

    assert (counts(first), counts(second)) == ((1, 0, 0), (1, 0, 0))
    states = [Execution.objects.get(pk=row.id).status for row in (waiting, queued, other)]
    assert states == ["CANCELLED", "CANCELLED", "PENDING"]


def test_failed_executions_of_a_time_are_retried(client: ApiClient, alpha: Tenant):
    failed = make_execution(alpha, "FAILED")
    make_execution(alpha, "SUCCEEDED")
    since = format_instant(database_now() - timedelta(hours=1))

    job = ran(act(client, "retry", filter={"since": since}))

    assert counts(job) == (1, 0, 0)
    assert Execution.objects.get(trigger="retry").parent_id == failed.id


def test_a_dry_run_shows_the_executions(client: ApiClient, alpha: Tenant):
    execution = make_execution(alpha)

    shown = act(client, dry_run=True).json()

    assert shown["count"] == 1
    assert shown["sample"][0]["id"] == str(execution.id)
    assert shown["sample"][0]["state"] == "PENDING"


@pytest.mark.parametrize(
    "body",
    [
        {"action": "pause"},
        {"filter": {"status": ["DONE"]}},
        {"filter": {"since": "yesterday"}},
        {"filter": {"pool": "default"}},
        {"note": "x"},
        {"canary": 1},
    ],
)
def test_wrong_bodies_are_refused(client: ApiClient, alpha: Tenant, body: dict[str, Any]):
    make_execution(alpha)

    assert act(client, **body).status_code == 400
    assert not BulkJob.objects.exists()
