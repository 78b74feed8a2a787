from __future__ import annotations

from typing import Any

import pytest

from executions.models import BulkJob
from executions.payloads import payload_of
from tenants.models import Tenant
from tests.executions.answers import problem
from tests.executions.bulk.bulk import counts, run_job
from tests.factories import (
    ApiClient,
    daily,
    executions_of,
    make_task,
    once,
    reload,
)

URL = "/v1/tasks/actions"


def act(client: ApiClient, action: str = "pause", key: str = "1", **body: Any) -> Any:
    return client.post(URL, {"action": action, "filter": {}, **body}, idempotency_key=key)


def ran(answer: Any) -> BulkJob:
    assert answer.status_code == 202, answer.content
    return run_job(BulkJob.objects.get(pk=answer.json()["id"]))


def test_tasks_of_a_label_are_paused(client: ApiClient, alpha: Tenant):
    task, other = make_task(alpha), make_task(alpha, daily(labels={}))

    job = ran(act(client, filter={"label": "team:billing"}, note="Holiday."))

    assert counts(job) == (1, 0, 0)
    assert (reload(task).status, reload(task).pause_note) == ("PAUSED", "Holiday.")
    assert reload(other).status == "SCHEDULED"


def test_tasks_run_with_another_payload(client: ApiClient, alpha: Tenant):
    task = make_task(alpha)

    ran(act(client, "run", filter={"ids": [str(task.id)]}, payload={"n": 9}))

    (execution,) = executions_of(task)
    assert payload_of(execution) == {"n": 9}


def test_tasks_that_have_ended_are_skipped_with_the_reason(client: ApiClient, alpha: Tenant):
    task = make_task(alpha)
    ran(act(client, "cancel"))
    make_task(alpha)

    job = ran(act(client, "pause", key="2"))

    assert counts(job) == (1, 1, 0)
    assert reload(task).status == "CANCELLED"


def test_a_dry_run_shows_the_tasks(client: ApiClient, alpha: Tenant):
    task = make_task(alpha, once())
    make_task(alpha)

    shown = act(client, "delete", filter={"type": "ONE_TIME"}, dry_run=True).json()

    assert (shown["count"], shown["tasks"]) == (1, 1)
    assert shown["sample"][0]["task_name"] == task.name
    assert reload(task).deleted_at is None


def test_fields_are_set_on_what_matches(client: ApiClient, alpha: Tenant, beta: Tenant):
    task, other = make_task(alpha), make_task(beta)
    body = {"filter": {"label": "team:billing"}, "set": {"schedule": {"jitter_seconds": 30}}}

    counted = act(client, "set", "0", dry_run=True, **body).json()["count"]
    job = ran(act(client, "set", "1", **body))

    assert (counted, counts(job)) == (1, (1, 0, 0))
    assert reload(task).schedule["jitter_seconds"] == 30
    assert reload(other).version == 1
    assert client.get(f"/v1/bulk-jobs/{job.id}").json()["options"] == {"set": body["set"]}


@pytest.mark.parametrize(
    ("patch", "pointer"),
    [
        ({"sett": 1}, "#/set/sett"),
        ({"schedule": {"jitter": 1}}, "#/set/schedule/jitter"),
        ({"status": "PAUSED"}, "#/set/status"),
        ({}, "#/set"),
        ([], "#/set"),
    ],
)
@pytest.mark.parametrize("dry_run", [True, False])
def test_a_patch_that_no_task_can_take_is_refused(
    client: ApiClient, alpha: Tenant, patch: Any, pointer: str, dry_run: bool
):
    make_task(alpha)

    answer = act(client, "set", set=patch, dry_run=dry_run)

    assert answer.status_code == 400
    assert [error["pointer"] for error in answer.json()["errors"]] == [pointer]
    assert not BulkJob.objects.exists()


def test_only_set_takes_a_patch(client: ApiClient, alpha: Tenant):
    make_task(alpha)

    assert problem(act(client, "pause", set={"priority": 1})) == (400, "invalid")
    assert problem(act(client, "set", "2")) == (400, "invalid")


@pytest.mark.parametrize(
    "body",
    [
        {"action": "retry"},
        {"action": ["set"]},
        {"action": "set"},
        {"filter": {"status": []}},
        {"filter": {"status": "PAUSED"}},
        {"filter": {"type": "DAILY"}},
        {"filter": {"task": "x"}},
        {"resolution": "fixed"},
        {"canary": 1},
    ],
)
def test_wrong_bodies_are_refused(client: ApiClient, alpha: Tenant, body: dict[str, Any]):
    make_task(alpha)

    assert act(client, **body).status_code == 400
    assert not BulkJob.objects.exists()
