from __future__ import annotations

from datetime import timedelta

import pytest

from executions.loop.clocks import database_now
from executions.models import BulkJob, BulkJobItem, Execution
from shared.instants import format_instant
from tests.executions.bulk.bulk import run_job
from tests.factories import make_task
from tests.support.hostile_json import HOSTILE
from tests.support.runs_api import pointers, post, problem
from tests.support.workflows import calls, make_workflow

SCHEMA = {
    "type": "object",
    "properties": {"day": {"type": "string"}},
    "required": ["day"],
    "additionalProperties": False,
}


@pytest.fixture
def task(alpha):
    return make_workflow(alpha, [calls("a")])


def start(client, task, body=None, **headers):
    return post(client, f"/v1/workflows/{task.id}/runs", body, **headers)


def test_a_run_is_started_beside_the_schedule(client, task):
    answer = start(client, task, {"input": {"day": "2026-11-29"}})

    assert answer.status_code == 202, answer.content
    run = answer.json()
    assert answer["Location"] == f"/v1/workflow-runs/{run['id']}"
    assert (run["status"], run["input"]) == ("PENDING", {"day": "2026-11-29"})
    assert client.get(answer["Location"]).json() == run


@pytest.mark.parametrize("body", [None, {}, {"input": None}])
def test_an_input_may_be_left_out(client, task, body):
    assert start(client, task, body).json()["input"] is None


def test_a_repeat_gives_the_first_run_and_a_key_is_required(client, task):
    first, again = (start(client, task, idempotency_key="x") for _ in range(2))

    assert again.json() == first.json()
    assert Execution.objects.count() == 1
    assert client.post(f"/v1/workflows/{task.id}/runs").status_code == 400


def test_a_paused_workflow_runs_when_asked(client, task):
    client.post(f"/v1/workflows/{task.id}/pause")

    assert start(client, task).status_code == 202


@pytest.mark.parametrize(
    ("value", "pointer"),
    [({"day": 5}, "#/input/day"), ({}, "#/input"), (None, "#/input"), ({"day": "x", "b": 1}, None)],
)
def test_the_schema_judges_the_input(client, alpha, value, pointer):
    task = make_workflow(alpha, [calls("a")], input_schema=SCHEMA)

    answer = start(client, task, {"input": value})

    assert {code for _, code in pointers(answer)} == {"schema_mismatch"}
    assert pointer is None or {at for at, _ in pointers(answer)} == {pointer}
    assert not Execution.objects.exists()
    assert start(client, task, {"input": {"day": "2026-11-29"}}).status_code == 202


@pytest.mark.parametrize(("raw", "code"), HOSTILE.values(), ids=HOSTILE)
def test_hostile_bodies_are_refused(client, task, raw, code):
    answer = start(client, task, raw)

    assert answer.status_code == 400
    assert not Execution.objects.exists()


def test_an_unknown_field_is_refused(client, task):
    assert pointers(start(client, task, {"payload": 1})) == {("#/payload", "unknown_field")}


def test_an_input_that_is_too_large_is_413(client, task):
    assert start(client, task, {"input": "x" * 300_000}).status_code == 413
    assert not Execution.objects.exists()


def test_a_plain_task_a_foreign_workflow_and_a_viewer_are_refused(
    client, stranger, viewer, alpha, task
):
    assert start(client, make_task(alpha)).status_code == 404
    assert start(stranger, task).status_code == 404
    assert problem(start(viewer, task)) == (403, "forbidden")
    assert not Execution.objects.filter(task_id=task.id).exists()


def test_a_payload_is_no_input(client, task):
    answer = post(client, f"/v1/tasks/{task.id}/run", {"payload": {"a": 1}})

    assert problem(answer) == (409, "is_workflow")
    assert f"/v1/workflows/{task.id}/runs" in answer.json()["detail"]
    assert post(client, f"/v1/tasks/{task.id}/run", {}).status_code == 202


@pytest.mark.parametrize("call", ["run", "backfill"])
def test_the_calls_of_tasks_judge_the_missing_input_too(client, alpha, call):
    task = make_workflow(alpha, [calls("a")], input_schema=SCHEMA, schedule={"every": "PT1H"})
    now = database_now()
    times = {"start": now - timedelta(hours=3), "end": now - timedelta(seconds=1)}
    body = {key: format_instant(at) for key, at in times.items()} if call == "backfill" else {}

    answer = post(client, f"/v1/tasks/{task.id}/{call}", body)

    assert pointers(answer) == {("#/input", "schema_mismatch")}
    assert not Execution.objects.filter(trigger__in=["manual", "backfill"]).exists()


def test_a_bulk_run_of_tasks_judges_the_missing_input_too(client, alpha):
    task = make_workflow(alpha, [calls("a")], input_schema=SCHEMA)
    chosen = {"action": "run", "filter": {"ids": [str(task.id)]}}

    answer = post(client, "/v1/tasks/actions", chosen)

    job = run_job(BulkJob.objects.get(pk=answer.json()["id"]))
    assert (job.done_count, job.failed_count) == (0, 1)
    assert BulkJobItem.objects.get(job=job).message == "None is not of type 'object'."
    assert not Execution.objects.exists()
