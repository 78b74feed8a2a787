from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any
from uuid import uuid4

import pytest
from django.db import OperationalError, transaction

from executions.bulk.actions import (
    Action,
    Applied,
    apply_to,
    order_of,
)
from executions.bulk.items import Order
from executions.changes.changing import delete_task
from executions.choices import ItemOutcome
from executions.dead_letters.letters import archive_dead_letter
from executions.loop.clocks import database_now
from executions.models import BulkJob, DeadLetter, Execution
from executions.payloads import payload_of
from executions.triggering.triggers import Override
from shared.encryption import DecryptionFailed
from shared.exceptions import Conflict, InvalidInput, NotFound, Unavailable
from shared.ids import new_id
from tasks.models import Task
from tenants.models import Tenant
from tests.executions.answers import audited
from tests.executions.bulk.bulk import counts, make_job, outcomes, run_job
from tests.factories import (
    ACTOR,
    daily,
    executions_of,
    make_dead_letter,
    make_execution,
    make_task,
    reload,
)

pytestmark = pytest.mark.django_db


def order(tenant: Tenant) -> Order:
    return Order(new_id(), tenant.id, ACTOR, {}, None, database_now())


def test_retrying_letters_runs_them_again_and_resolves_them(alpha: Tenant):
    letters = [make_dead_letter(alpha) for _ in range(2)]

    job = run_job(make_job(alpha))

    assert (job.status, counts(job)) == ("COMPLETED", (2, 0, 0))
    for letter, item in zip(letters, job.items.order_by("position"), strict=True):
        letter.refresh_from_db()
        execution = Execution.objects.filter(trigger="retry").get(parent_id=letter.execution_id)
        assert item.result_id == execution.id
        assert (letter.resolution, letter.retry_execution_id) == ("retried", execution.id)
        assert (execution.parent_id, execution.status) == (letter.execution_id, "PENDING")
        assert payload_of(execution) == {"n": 1}
        assert letter.sealed_edit is None
        assert audited(letter.id, "dead_letter.resolved")["actor"] == ACTOR.name


@pytest.mark.parametrize("payload", [{"n": 2}, None])
def test_an_edited_payload_is_sent_by_all_and_kept(alpha: Tenant, payload: Any):
    letter = make_dead_letter(alpha)

    job = run_job(make_job(alpha, payload=payload))

    execution = Execution.objects.get(trigger="retry")
    assert payload_of(execution) == payload
    letter.refresh_from_db()
    assert letter.sealed_edit is not None
    assert "payload" not in job.options


@pytest.mark.parametrize(
    ("action", "options", "resolution", "note"),
    [
        ("resolve", {"note": "Mended."}, "fixed", "Mended."),
        ("resolve", {"resolution": "moot"}, "moot", ""),
        ("archive", {"note": "Old."}, "archived", "Old."),
    ],
)
def test_letters_are_closed_as_asked(
    alpha: Tenant, action: str, options: dict[str, Any], resolution: str, note: str
):
    letter = make_dead_letter(alpha)

    job = run_job(make_job(alpha, action, **options))

    letter.refresh_from_db()
    assert (letter.resolution, letter.note) == (resolution, note)
    assert counts(job) == (1, 0, 0)


def test_purged_letters_are_gone_and_audited(alpha: Tenant):
    letter = make_dead_letter(alpha)

    run_job(make_job(alpha, "purge"))

    assert not DeadLetter.objects.exists()
    assert audited(letter.id, "dead_letter.purged")["before"]


def test_letters_that_cannot_be_retried_are_skipped_with_the_reason(alpha: Tenant):
    letters = [make_dead_letter(alpha) for _ in range(5)]
    job = make_job(alpha)
    archive_dead_letter(alpha.id, letters[0].id, note="", actor=ACTOR)
    letters[1].delete()
    delete_task(alpha.id, letters[2].task_id, actor=ACTOR)
    Execution.objects.filter(pk=letters[3].execution_id).delete()

    run_job(job)

    assert outcomes(job) == [
        ("skipped", "already_resolved"),
        ("skipped", "not_found"),
        ("skipped", "task_deleted"),
        ("skipped", "execution_not_kept"),
        ("done", ""),
    ]
    assert counts(job) == (1, 4, 0)


def test_executions_are_retried_and_cancelled(alpha: Tenant):
    failed, waiting = make_execution(alpha, "FAILED"), make_execution(alpha)

    retried = run_job(make_job(alpha, "retry", "executions", {"ids": [failed.id]}))
    cancelled = run_job(make_job(alpha, "cancel", "executions", {"ids": [waiting.id]}))

    assert (counts(retried), counts(cancelled)) == ((1, 0, 0), (1, 0, 0))
    assert Execution.objects.get(parent_id=failed.id).trigger == "retry"
    waiting.refresh_from_db()
    assert waiting.status == "CANCELLED"


def test_an_execution_that_ended_meanwhile_is_not_cancelled(alpha: Tenant):
    waiting = make_execution(alpha)
    job = make_job(alpha, "cancel", "executions")
    run_job(make_job(alpha, "cancel", "executions"))

    run_job(job)

    assert [item.item_id for item in job.items.all()] == [waiting.id]
    assert outcomes(job) == [("skipped", "already_final")]


def test_tasks_are_paused_resumed_run_cancelled_and_deleted(alpha: Tenant):
    task = make_task(alpha, daily())
    states = []

    for action in ("pause", "resume", "run", "cancel"):
        assert counts(run_job(make_job(alpha, action, "tasks"))) == (1, 0, 0)
        states.append(reload(task).status)
    run_job(make_job(alpha, "delete", "tasks"))

    assert states == ["PAUSED", "SCHEDULED", "SCHEDULED", "CANCELLED"]
    assert reload(task).deleted_at is not None
    assert [row.trigger for row in executions_of(task)] == ["manual"]


def test_a_task_that_was_deleted_meanwhile_does_not_run(alpha: Tenant):
    task = make_task(alpha, daily())
    job = make_job(alpha, "run", "tasks")
    delete_task(alpha.id, task.id, actor=ACTOR)

    run_job(job)

    assert outcomes(job) == [("skipped", "not_found")]
    assert executions_of(task) == []


def test_an_error_is_the_result_of_its_item_alone(alpha: Tenant):
    errors: dict[Any, Callable[[], Exception]] = {
        "a": lambda: Conflict("No.", code="busy"),
        "b": lambda: NotFound(),
        "c": lambda: InvalidInput([]),
        "d": lambda: ValueError("planted"),
    }

    def act(order: Order, item: Any) -> Applied:
        make_task(alpha, daily(name=item))
        if item in errors:
            raise errors[item]()
        return Applied()

    results = apply_to(Action(act), order(alpha), list("abcde"), time.monotonic() + 60)  # type: ignore[arg-type]  # any id does

    assert [(result.outcome, result.code) for result in results] == [
        (ItemOutcome.SKIPPED, "busy"),
        (ItemOutcome.SKIPPED, "not_found"),
        (ItemOutcome.FAILED, "invalid"),
        (ItemOutcome.FAILED, "internal"),
        (ItemOutcome.DONE, ""),
    ]
    # What the others had done was undone.
    assert list(Task.objects.values_list("name", flat=True)) == ["e"]


@pytest.mark.parametrize("error", [OperationalError, Unavailable])
def test_servers_that_are_away_are_no_result(alpha: Tenant, error: type[Exception]):
    def act(order: Order, item: Any) -> Applied:
        raise error

    with pytest.raises(error), transaction.atomic():
        apply_to(Action(act), order(alpha), [uuid4()], time.monotonic() + 60)


def test_at_least_one_item_is_done_however_late_it_is(alpha: Tenant):
    results = apply_to(Action(lambda _, __: Applied()), order(alpha), [uuid4(), uuid4()], 0.0)

    assert len(results) == 1


def test_a_sealed_payload_is_opened_for_its_job_only(alpha: Tenant):
    make_dead_letter(alpha)
    job: BulkJob = make_job(alpha, payload={"n": 3})

    assert order_of(job, database_now()).override == Override({"n": 3})
    assert order_of(make_job(alpha), database_now()).override is None
    job.id = uuid4()
    with pytest.raises(DecryptionFailed):
        order_of(job, database_now())


def test_a_job_whose_payload_no_key_opens_stops_and_says_why(alpha: Tenant):
    for _ in range(2):
        make_dead_letter(alpha)
    job = make_job(alpha, payload={"n": 3})
    BulkJob.objects.filter(pk=job.pk).update(sealed_payload=b"\x01")

    job = run_job(job)

    assert (job.status, job.reason) == ("STOPPED", "decryption_failed")
    assert counts(job) == (0, 2, 0)
