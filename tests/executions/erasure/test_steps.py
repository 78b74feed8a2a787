"""What an erasure takes out of every table, and what it waits for."""

from __future__ import annotations

from dataclasses import replace
from datetime import datetime
from typing import Any
from uuid import UUID

import pytest
import redis
from django.contrib.admin.models import CHANGE, LogEntry
from django.contrib.auth.models import User
from django.contrib.contenttypes.models import ContentType

from executions import transitions
from executions.changes.changing import edit_task
from executions.complete.outcome_reports import facts_text
from executions.erasure import steps
from executions.erasure.requests import erase_task
from executions.loop.clocks import database_now
from executions.models import Attempt, BulkJob, DeadLetter, Erasure, Execution
from executions.payloads import seal_payload
from executions.transitions import Finish
from notifications.models import Alert
from shared.encryption import seal
from shared.ids import new_id
from shared.sealing_contexts import (
    bulk_payload_context,
    payload_context,
    progress_context,
    response_context,
    result_context,
)
from tasks.definition import Definition
from tasks.models import Task, TaskRevision
from tenants.models import Tenant
from tests.factories import (
    ACTOR,
    ApiClient,
    every_second,
    finish,
    make_task,
    once,
    prepare,
    release,
    start,
)
from tests.support.api import make_client
from tests.support.places import in_redis, places_of
from tests.support.recounting import recounts
from wire.costs import Cost

pytestmark = pytest.mark.django_db
CANARY = "canary-5b1f"
#: The audit log is append-only; what it has of tasks has no payload, header or answer.
_STAYS = {"audit_entries"}


def body(**parts: Any) -> dict[str, Any]:
    target = {
        "url": f"https://{CANARY}.example.com/{CANARY}",
        "headers": {"X-Secret": CANARY},
        "auth": {"type": "bearer", "token": CANARY},
    }
    return once(
        name=f"task {CANARY}",
        payload={"say": CANARY},
        labels={"who": CANARY},
        owner=f"{CANARY}@example.com",
        target=target,
        **parts,
    )


def failed_execution(task: Task) -> Execution:
    """Run a task to its failure, with the canary in everything that is recorded of it."""
    prepare()
    (row,) = [one for one in release() if one.task_id == task.id]
    now = database_now()
    Execution.objects.filter(pk=row.id).update(
        sealed_payload=seal_payload({"own": CANARY}, row.tenant_id, row.id),
        concurrency_key=CANARY,
        sealed_progress=seal(CANARY.encode(), progress_context(row.tenant_id, row.id)),
    )
    transitions.finish(
        [
            Finish(
                row.id,
                row.token,
                1,
                "FAILED",
                "FAILED",
                worker=f"w-{CANARY}",
                started_at=now,
                finished_at=now,
                error_code="connect_failed",
                error_message=f"cannot reach {CANARY}",
                sealed_response=seal(CANARY.encode(), response_context(row.tenant_id, row.id)),
                sealed_result=seal(CANARY.encode(), result_context(row.tenant_id, row.id)),
            )
        ]
    )
    return Execution.objects.get(pk=row.id)


def surround(task: Task, execution: Execution) -> None:
    """Put the canary into the rows around a task: letter, job, alert, log of the admin."""
    letters = DeadLetter.objects.filter(execution_id=execution.id)
    letters.update(
        note=CANARY,
        sealed_edit=seal(CANARY.encode(), payload_context(execution.tenant_id, execution.id)),
    )
    job = _job(task.tenant_id)
    job.items.create(position=0, item_id=letters.get().id)
    _job(task.tenant_id, name=f"Retry of {CANARY}", sealed=False, filters={"task": str(task.id)})
    for count, kind in ((1, "final_failure"), (2, "first_failure")):
        now = database_now()
        Alert.objects.create(
            tenant_id=task.tenant_id,
            kind=kind,
            error_signature="connect_failed",
            cause=CANARY,
            task_id=task.id,
            task_name=task.name,
            execution_id=execution.id,
            error_code="connect_failed",
            error_message=CANARY,
            task_count=count,
            first_at=now,
            last_at=now,
        )
    LogEntry.objects.create(
        user=User.objects.create_user("operator"),
        content_type=ContentType.objects.get_for_model(Task),
        object_id=str(task.id),
        object_repr=CANARY,
        action_flag=CHANGE,
        change_message=CANARY,
    )


def _job(tenant_id: UUID, *, sealed: bool = True, **parts: Any) -> BulkJob:
    now = database_now()
    ended = {"status": "COMPLETED", "done_count": 1, "finished_at": now}
    job = BulkJob(
        tenant_id=tenant_id,
        kind="dead_letters",
        action="retry",
        total=1,
        next_at=now,
        created_by="x",
        **{**ended, **parts},
    )
    if sealed:
        job.sealed_payload = seal(CANARY.encode(), bulk_payload_context(job.tenant_id, job.id))
    job.save()
    return job


def _renamed(definition: Definition, now: datetime) -> tuple[Definition, None]:
    return replace(definition, name="another name"), None


def erase(task: Task) -> Erasure:
    erasure = erase_task(task.tenant_id, task.id, reason="asked for", actor=ACTOR)
    while steps.run_some(erasure.id):
        pass
    erasure.refresh_from_db()
    return erasure


def test_the_content_of_an_erased_task_is_in_no_table_and_not_in_redis(alpha: Tenant):
    created = make_client(alpha).post("/v1/tasks", body(), idempotency_key="make")
    assert created.status_code == 201, created.content
    task = Task.objects.get(pk=created.json()["id"])
    other = make_task(alpha, once(name="other", payload={"kept": "other-7e2a"}))
    execution = failed_execution(task)
    surround(task, execution)
    Task.objects.filter(pk=task.pk).update(concurrency_key=CANARY)
    before = places_of(CANARY)
    assert {
        *("tasks.name", "tasks.labels", "tasks.owner", "tasks.destination"),
        *("tasks.concurrency_key", "ended_executions.concurrency_key"),
        *("task_revisions.definition", "task_revisions.sealed"),
        *("ended_executions.destination", "ended_executions.error_message"),
        *("ended_executions.sealed_payload", "ended_executions.sealed_progress"),
        *("ended_executions.sealed_result", "ended_executions.worker"),
        *("attempts.error_message", "attempts.sealed_response", "attempts.worker"),
        *("dead_letters.error_message", "dead_letters.sealed_payload", "dead_letters.note"),
        *("dead_letters.sealed_edit", "bulk_jobs.sealed_payload", "alerts.cause"),
        "bulk_jobs.name",
        *("django_admin_log.object_repr", "idempotency_records.sealed_body"),
    } <= before

    erasure = erase(task)

    assert erasure.status == "COMPLETED"
    assert {place for place in places_of(CANARY) if place.split(".")[0] not in _STAYS} == set()
    assert in_redis(CANARY) == []
    assert "task_revisions.sealed" in places_of("other-7e2a")
    other.refresh_from_db()
    assert other.name == "other"


def test_names_of_jobs_that_have_an_earlier_name_of_the_task_go_and_others_stay(
    alpha: Tenant, beta: Tenant
):
    task = make_task(alpha, once(name="Ada Lovelace"))
    edit_task(alpha.id, task.id, _renamed, actor=ACTOR)
    own = _job(alpha.id, name="Retry for ada lovelace", sealed=False)
    other = _job(alpha.id, name="Retry of all", sealed=False)
    foreign = _job(beta.id, name="Retry for Ada Lovelace", sealed=False)

    erasure = erase(task)

    names = {job.id: job.name for job in BulkJob.objects.all()}
    assert names == {
        own.id: "erased",
        other.id: "Retry of all",
        foreign.id: "Retry for Ada Lovelace",
    }
    assert erasure.counts["bulk_job_names"] == 1


def test_the_audit_log_has_no_payload_header_or_token_of_a_task(alpha: Tenant):
    secret = "canary-of-secrets"
    target = {"url": "https://a.example.com/", "headers": {"X-A": secret}}
    task = make_task(alpha, once(payload={"say": secret}, target=target))
    erase(task)

    assert places_of(secret) == set()


def test_ids_times_states_and_codes_stay(alpha: Tenant):
    task = make_task(alpha, body())
    execution = failed_execution(task)

    erase(task)

    left = Execution.objects.get(pk=execution.id)
    kept = (
        *("status", "attempt", "scheduled_for", "due_at", "started_at", "finished_at"),
        *("error_code", "revision", "trigger", "task_id", "tenant_id"),
    )
    assert [getattr(left, name) for name in kept] == [getattr(execution, name) for name in kept]
    attempt = Attempt.objects.get(execution_id=execution.id)
    assert (attempt.number, attempt.outcome, attempt.error_code) == (1, "FAILED", "connect_failed")
    assert TaskRevision.objects.filter(task_id=task.id).count() == 1


def test_calls_about_what_is_left_are_answered(alpha: Tenant, client: ApiClient):
    task = make_task(alpha, body())
    execution = failed_execution(task)
    letter = DeadLetter.objects.get(execution_id=execution.id)
    erase(task)

    for path in (
        f"/v1/executions/{execution.id}",
        f"/v1/executions/{execution.id}/explain",
        "/v1/executions",
        f"/v1/dlq/{letter.id}",
        "/v1/dlq",
    ):
        answer = client.get(path)
        assert answer.status_code == 200, path
        assert CANARY not in answer.text, path
    retry = client.post(f"/v1/dlq/{letter.id}/retry", {}, idempotency_key="again")
    assert retry.status_code == 409


@recounts("erasure.counts")
def test_the_certificate_counts_the_rows_and_names_the_audit_entries(alpha: Tenant):
    task = make_task(alpha, body())
    failed_execution(task)

    erasure = erase(task)

    assert erasure.counts["executions"] == erasure.counts["attempts"] == 1
    assert erasure.counts["dead_letters"] == erasure.counts["task_revisions"] == 1
    assert erasure.audit_count == 2
    assert len(erasure.audit_digest) == 64
    assert erasure.ended_at is not None


def test_letters_are_erased_whose_executions_the_retention_has_dropped(alpha: Tenant):
    task, other = make_task(alpha, body()), make_task(alpha, once(name="other"))
    execution = failed_execution(task)
    DeadLetter.objects.update(
        note=CANARY, sealed_payload=seal_payload(CANARY, execution.tenant_id, execution.id)
    )
    (letter,) = DeadLetter.objects.values_list("id", flat=True)
    job = _job(alpha.id)
    job.items.create(position=0, item_id=letter)
    DeadLetter.objects.create(
        tenant_id=alpha.id,
        task_id=other.id,
        execution_id=new_id(),
        error_signature="other",
        attempt_count=1,
        revision=1,
        note="of another task",
    )
    Attempt.objects.filter(execution_id=execution.id).delete()
    Execution.objects.filter(pk=execution.id).delete()

    erasure = erase(task)

    assert {place for place in places_of(CANARY) if place.split(".")[0] not in _STAYS} == set()
    assert (erasure.counts["dead_letters"], erasure.counts["bulk_jobs"]) == (1, 1)
    assert DeadLetter.objects.get(task_id=other.id).note == "of another task"


def test_an_erasure_waits_for_running_executions_and_asks_them_to_end(alpha: Tenant):
    task = make_task(alpha, body())
    prepare()
    (row,) = release()
    now = database_now()
    transitions.mark_running([(row.id, row.token, "w", now)])

    erasure = erase(task)

    assert erasure.status == "RUNNING"
    assert Execution.objects.get(pk=row.id).cancel_requested_at is not None
    at_end = Finish(row.id, row.token, 1, "CANCELLED", "CANCELLED", started_at=now)
    late = seal(CANARY.encode(), response_context(row.tenant_id, row.id))
    transitions.finish([at_end._replace(sealed_response=late, finished_at=now)])
    assert steps.run_some(erasure.id) is False
    erasure.refresh_from_db()
    assert erasure.status == "COMPLETED"
    assert "attempts.sealed_response" not in places_of(CANARY)


def test_an_interrupted_erasure_goes_on_where_it_was(
    alpha: Tenant, monkeypatch: pytest.MonkeyPatch
):
    task = make_task(alpha, body())
    failed_execution(task)
    monkeypatch.setattr(steps, "_STEPS_AT_ONCE", 1)
    erasure = erase_task(alpha.id, task.id, reason="asked for", actor=ACTOR)
    # The process dies after each step; the next one reads how far the last one came.
    taken = 0
    while steps.run_some(erasure.id):
        taken += 1
        erasure.refresh_from_db()
        assert erasure.status == "RUNNING"

    erasure.refresh_from_db()
    assert taken >= 4
    assert (erasure.status, erasure.counts["executions"]) == ("COMPLETED", 1)


def test_an_erasure_waits_for_a_bulk_job_that_would_send_its_payload(alpha: Tenant):
    task = make_task(alpha, body())
    execution = failed_execution(task)
    letter = DeadLetter.objects.get(execution_id=execution.id)
    job = _job(alpha.id, status="RUNNING", done_count=0, finished_at=None)
    job.items.create(position=0, item_id=letter.id)

    erasure = erase(task)

    assert erasure.status == "RUNNING"
    done = {"status": "COMPLETED", "done_count": 1, "finished_at": database_now()}
    BulkJob.objects.filter(pk=job.id).update(**done)
    while steps.run_some(erasure.id):
        pass
    erasure.refresh_from_db()
    assert erasure.status == "COMPLETED"
    assert "bulk_jobs.sealed_payload" not in places_of(CANARY)


def test_what_waits_is_handed_to_a_worker_again(alpha: Tenant, monkeypatch: pytest.MonkeyPatch):
    sent: list[UUID] = []
    monkeypatch.setattr(steps, "hand_on", sent.append)
    erasure = erase_task(alpha.id, make_task(alpha).id, reason="asked for", actor=ACTOR)
    assert steps.wake_waiting() == 0

    Erasure.objects.update(woken_at=database_now() - 2 * steps._LOST_AFTER)

    assert steps.wake_waiting() == 1
    assert sent == [erasure.id]
    assert steps.is_running(erasure.id)


def test_the_units_of_budgets_and_costs_are_erased(alpha: Tenant):
    unit = CANARY.replace("-", "_")
    entry = {"unit": unit, "limit": 1, "per": "day"}
    task = make_task(alpha, every_second(budget=[entry]))
    prepare()
    Execution.objects.filter(task_id=task.id).update(gated=False, held=False, counted=True)
    claimed = release()[0]
    start([claimed])
    finish(claimed, cost={unit: 1.0}, timings=facts_text({}, Cost({unit: 1.0})))
    assert {"attempts.timings", "events.data", "task_budgets.unit"} <= places_of(unit)

    erase(task)

    assert {place for place in places_of(unit) if place.split(".")[0] not in _STAYS} == set()


@pytest.mark.logs("erasure.not_handed_on", reason="away")
def test_an_erasure_waits_for_a_broker_that_is_away(monkeypatch: pytest.MonkeyPatch):
    def refuse(*job: str) -> None:
        raise redis.ConnectionError("away")

    monkeypatch.setattr(steps, "publish_system_job", refuse)

    steps.hand_on(new_id())
