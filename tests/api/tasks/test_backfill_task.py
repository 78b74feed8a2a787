from __future__ import annotations

from datetime import timedelta
from typing import Any
from uuid import uuid4

import pytest

from executions.bulk import backfill
from executions.changes import changing
from executions.models import BulkJob
from shared.instants import format_instant
from tasks.models import Task
from tenants.models import Tenant
from tests.executions.answers import audited, problem
from tests.executions.bulk.backfills import HOUR, made_by, minutely
from tests.executions.bulk.bulk import counts, run_job
from tests.factories import ACTOR, ApiClient, make_client, make_task

RANGE = {"start": format_instant(HOUR.start), "end": format_instant(HOUR.end)}


@pytest.fixture
def task(alpha: Tenant) -> Task:
    return make_task(alpha, minutely(timezone="Europe/Berlin"))


def ask(client: ApiClient, task: Any, key: str = "1", **body: Any) -> Any:
    path = f"/v1/tasks/{task.id}/backfill"
    return client.post(path, {**RANGE, **body}, idempotency_key=key)


def pointers(answer: Any) -> dict[str, str]:
    return {error["pointer"]: error["code"] for error in answer.json()["errors"]}


def test_the_answer_is_a_bulk_job_that_makes_each_instant(client: ApiClient, task: Task):
    answer = ask(client, task, max_parallel=3, name="Incident 7")

    assert answer.status_code == 202
    shown = answer.json()
    assert answer["Location"] == f"/v1/bulk-jobs/{shown['id']}"
    assert (shown["kind"], shown["action"], shown["total"]) == ("occurrences", "backfill", 61)
    assert shown["options"] == {"max_parallel": 3, "overlap_policy": "allow"}
    assert shown["filter"] == {"task": str(task.id), **RANGE}
    assert shown["name"] == "Incident 7"
    job = run_job(BulkJob.objects.get(pk=shown["id"]))
    assert counts(job) == (61, 0, 0)
    found = client.get(answer["Location"]).json()
    assert (found["status"], found["done"]) == ("COMPLETED", 61)
    assert found["executions"] == {
        "pending": 61, "running": 0, "succeeded": 0, "failed": 0, "cancelled": 0, "skipped": 0,
        "gone": 0,
    }  # fmt: skip


def test_the_executions_of_a_backfill_are_a_list(client: ApiClient, task: Task, beta: Tenant):
    job = run_job(BulkJob.objects.get(pk=ask(client, task).json()["id"]))
    ask(client, task, key="2")

    shown = client.get(f"/v1/executions?series={job.id}&page=1&ordering=scheduled_for").json()

    assert shown["pagination"]["total"] == 61
    first = shown["executions"][0]
    assert (first["trigger"], first["scheduled_for"]) == ("backfill", RANGE["start"])
    assert first["id"] == str(made_by(job)[0].id)
    assert make_client(beta).get(f"/v1/executions?series={job.id}").json()["executions"] == []


def test_a_dry_run_shows_the_plan_and_makes_nothing(client: ApiClient, task: Task):
    answer = ask(client, task, dry_run=True)

    assert answer.status_code == 200
    shown = answer.json()
    sample = shown.pop("sample")
    assert shown == {
        "count": 61,
        "first": "2026-03-02T10:00:00.000Z",
        "last": "2026-03-02T11:00:00.000Z",
        "excluded": 0,
        "max_parallel": 10,
        "overlap_policy": "allow",
        "estimated_seconds": None,
    }
    assert len(sample) == 5
    assert sample[0] == {
        "utc": "2026-03-02T10:00:00.000Z",
        "local": "2026-03-02T11:00:00.000+01:00",
        "notes": [],
    }
    assert not BulkJob.objects.exists()


@pytest.mark.parametrize(
    ("body", "pointer", "code"),
    [
        ({"start": "2026-03-02"}, "#/start", "invalid_time"),
        ({"start": None}, "#/start", "null"),
        ({"end": "2199-01-01T00:00:00Z"}, "#/end", "in_the_future"),
        ({"end": "2026-03-01T00:00:00Z"}, "#/end", "end_before_start"),
        ({"max_parallel": 0}, "#/max_parallel", "min_value"),
        ({"max_parallel": 1001}, "#/max_parallel", "max_value"),
        ({"max_parallel": "2"}, "#/max_parallel", "invalid_type"),
        ({"max_parallel": 2, "overlap_policy": "queue_all"}, "#/max_parallel", "conflict"),
        ({"overlap_policy": "skip"}, "#/overlap_policy", "invalid_choice"),
        ({"from": "2026-03-02T10:00:00Z"}, "#/from", "unknown_field"),
        ({"dry_run": "yes"}, "#/dry_run", "invalid_type"),
        ({"expected_count": -1}, "#/expected_count", "min_value"),
        ({"start": "0001-01-01T00:00:00Z"}, "#/end", "too_many"),
    ],
)
@pytest.mark.parametrize("dry_run", [False, True])
def test_what_is_not_valid_is_refused_with_a_pointer(
    client: ApiClient, task: Task, body: dict[str, Any], pointer: str, code: str, dry_run: bool
):
    answer = ask(client, task, **{"dry_run": dry_run, **body})

    assert answer.status_code == 400
    assert pointers(answer) == {pointer: code}
    assert not BulkJob.objects.exists()


def test_both_ends_are_needed(client: ApiClient, task: Task):
    answer = client.post(f"/v1/tasks/{task.id}/backfill", {}, idempotency_key="1")

    assert pointers(answer) == {"#/start": "required", "#/end": "required"}


def test_a_range_without_instants_and_one_with_too_many_have_codes_of_their_own(
    client: ApiClient, task: Task, monkeypatch: pytest.MonkeyPatch
):
    second = format_instant(HOUR.start + timedelta(seconds=1))
    nothing = ask(client, task, start=second, end=second)
    monkeypatch.setattr(backfill, "MAX_INSTANTS", 60)

    assert problem(nothing) == (400, "nothing_matches")
    assert problem(ask(client, task, key="2")) == (400, "too_many")


def test_another_number_of_instants_than_expected_is_409(client: ApiClient, task: Task):
    assert problem(ask(client, task, expected_count=60)) == (409, "scope_changed")
    assert ask(client, task, key="2", expected_count=61).status_code == 202


def test_a_cancelled_task_is_409_and_one_held_by_a_standing_pause_too(
    client: ApiClient, alpha: Tenant, task: Task
):
    held = make_task(alpha, minutely())
    Task.objects.filter(pk=held.pk).update(pause_id=uuid4())
    changing.cancel_task(alpha.id, task.id, actor=ACTOR)

    assert problem(ask(client, task)) == (409, "task_cancelled")
    assert problem(ask(client, held, key="2")) == (409, "task_paused")


def test_a_paused_task_can_be_run_again_and_waits(client: ApiClient, task: Task):
    client.post(f"/v1/tasks/{task.id}/pause")

    assert ask(client, task).status_code == 202


def test_a_deleted_task_is_404(client: ApiClient, alpha: Tenant, task: Task):
    changing.delete_task(alpha.id, task.id, actor=ACTOR)

    assert problem(ask(client, task)) == (404, "not_found")
    assert not BulkJob.objects.exists()


def test_without_a_key_it_is_400_and_with_the_same_one_the_first_answer(
    client: ApiClient, task: Task
):
    refused = client.post(f"/v1/tasks/{task.id}/backfill", RANGE)

    first, again = ask(client, task), ask(client, task)

    assert refused.status_code == 400
    assert again["Idempotent-Replayed"] == "true"
    assert first.json() == again.json()
    assert BulkJob.objects.count() == 1
    assert problem(ask(client, task, max_parallel=5)) == (422, "idempotency_mismatch")


def test_it_is_audited(client: ApiClient, task: Task):
    shown = ask(client, task).json()

    assert audited(shown["id"], "bulk_job.created")["after"] == {
        "kind": "occurrences",
        "action": "backfill",
        "filter": shown["filter"],
        "options": shown["options"],
        "edited": False,
        "total": 61,
    }


def test_cancelling_the_job_answers_with_what_never_starts(client: ApiClient, task: Task):
    job = run_job(BulkJob.objects.get(pk=ask(client, task).json()["id"]))

    answer = client.post(f"/v1/bulk-jobs/{job.id}/cancel")

    assert (answer.status_code, answer.json()["status"]) == (202, "CANCELLED")
    assert client.get(f"/v1/bulk-jobs/{job.id}").json()["executions"]["cancelled"] == 61
    assert problem(client.post(f"/v1/bulk-jobs/{job.id}/cancel")) == (409, "already_final")
