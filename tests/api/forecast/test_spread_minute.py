from __future__ import annotations

from datetime import datetime, timedelta
from typing import Any

import pytest

from executions.loop.clocks import database_now
from executions.models import BulkJob
from shared.instants import format_instant
from tasks.models import Task
from tenants.models import Tenant
from tests.executions.answers import audited, problem
from tests.executions.bulk.bulk import counts, run_job
from tests.factories import ApiClient, daily, make_client, make_task, reload

URL = "/v1/forecast/spread"


@pytest.fixture
def at(alpha: Tenant, beta: Tenant) -> datetime:
    """Return the minute in which three tasks of alpha meet, one of them spread already."""
    tasks = [make_task(alpha) for _ in range(2)]
    spread = {"cron_expression": "0 8 * * *", "timezone": "Europe/Berlin", "jitter_seconds": 60}
    make_task(alpha, daily(schedule=spread))
    make_task(beta)
    assert tasks[0].next_run_at is not None
    return tasks[0].next_run_at


def body(at: datetime, **parts: Any) -> dict[str, Any]:
    return {"at": format_instant(at), **parts}


def test_a_dry_run_tells_what_would_be_spread(client: ApiClient, at: datetime):
    answer = client.post(URL, body(at + timedelta(seconds=30), dry_run=True))

    assert answer.status_code == 200
    assert answer.json() == {
        "at": format_instant(at),
        "tasks": 2,
        "left_out": 1,
        "limited": False,
        "jitter_seconds": 300,
    }
    assert not BulkJob.objects.exists()


def test_the_tasks_of_the_minute_get_a_jitter(client: ApiClient, alpha: Tenant, at: datetime):
    answer = client.post(URL, body(at, jitter_seconds=120, expected_count=2))

    assert answer.status_code == 202
    job = run_job(BulkJob.objects.get(pk=answer.json()["id"]))
    assert answer["Location"] == f"/v1/bulk-jobs/{job.id}"
    assert counts(job) == (2, 0, 0)
    jitters = sorted(task.schedule["jitter_seconds"] for task in Task.objects.for_tenant(alpha.id))
    assert jitters == [60, 120, 120]
    assert audited(job.id, "bulk_job.created")["actor"].startswith("api_key:")


def test_spread_tasks_are_not_spread_again(client: ApiClient, at: datetime):
    job = client.post(URL, body(at)).json()
    run_job(BulkJob.objects.get(pk=job["id"]))

    assert problem(client.post(URL, body(at))) == (400, "nothing_matches")


def test_another_count_than_expected_is_refused(client: ApiClient, at: datetime):
    assert problem(client.post(URL, body(at, expected_count=5))) == (409, "scope_changed")
    assert not BulkJob.objects.exists()


def test_the_same_key_makes_one_job(client: ApiClient, at: datetime):
    first, again = (client.post(URL, body(at), idempotency_key="1") for _ in range(2))

    assert first.json() == again.json()
    assert BulkJob.objects.count() == 1


@pytest.mark.parametrize(
    ("change", "pointer"),
    [
        ({"at": "tomorrow"}, "#/at"),
        ({"at": "2020-01-01T00:00:00Z"}, "#/at"),
        ({"at": "9999-12-31T23:59:59Z"}, "#/at"),
        ({"at": None}, "#/at"),
        ({"jitter_seconds": 0}, "#/jitter_seconds"),
        ({"jitter_seconds": 86_401}, "#/jitter_seconds"),
        ({"jitter_seconds": "60"}, "#/jitter_seconds"),
        ({"minute": 1}, "#/minute"),
    ],
)
def test_wrong_bodies_are_refused(
    client: ApiClient, at: datetime, change: dict[str, Any], pointer: str
):
    answer = client.post(URL, {**body(at), **change})

    assert answer.status_code == 400
    assert pointer in {error["pointer"] for error in answer.json()["errors"]}


def test_another_tenants_tasks_stay_as_they_are(beta: Tenant, at: datetime):
    task = make_task(beta)

    answer = make_client(beta).post(URL, body(at))

    assert counts(run_job(BulkJob.objects.get(pk=answer.json()["id"]))) == (2, 0, 0)
    assert reload(task).schedule["jitter_seconds"] == 300


def test_a_minute_without_tasks_has_nothing_to_spread(client: ApiClient, alpha: Tenant):
    later = database_now() + timedelta(hours=3)

    assert client.post(URL, body(later, dry_run=True)).json()["tasks"] == 0
    assert problem(client.post(URL, body(later))) == (400, "nothing_matches")
