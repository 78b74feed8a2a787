from __future__ import annotations

import itertools
from collections.abc import Callable
from datetime import timedelta
from typing import Any
from uuid import UUID

import pytest
from django.db import transaction

from executions import transitions
from executions.choices import AttemptOutcome, Status
from executions.loop.clocks import database_now
from executions.models import Attempt, DeadLetter, Execution
from executions.states import MOVES
from executions.transitions import Finish
from executions.triggering.triggers import run_task
from tasks.models import Task
from tenants.models import Tenant
from tests.factories import (
    ACTOR,
    WORKER,
    every_second,
    executions_of,
    finish,
    make_execution,
    make_task,
    once,
    prepare,
    release,
    reload,
    start,
)
from tests.support.events import names_of
from tests.support.transaction_time import transaction_now

pytestmark = pytest.mark.django_db

#: Any number that no execution holds.
NO_TOKEN = 2**62
VERBS = {move.verb: move for move in MOVES}
ENDS = {
    "succeed": ("SUCCEEDED", "SUCCEEDED"),
    "schedule_retry": ("RETRYING", "FAILED"),
    "dead_letter": ("FAILED", "FAILED"),
    "finish_cancel": ("CANCELLED", "CANCELLED"),
}


def bring(tenant: Tenant, status: str) -> Execution:
    """Return an execution in the state, due now, so that only its state decides."""
    if status == "SKIPPED":
        late = database_now() - timedelta(hours=1)
        body = once(late)
        body["schedule"] |= {"misfire_policy": "skip", "misfire_grace_seconds": 1}
        return make_execution(tenant, "PENDING", body)
    if status == "RETRYING":
        execution = make_execution(tenant, "RUNNING")
        apply("schedule_retry", execution, token_of(execution))
        return fresh(execution)
    return fresh(make_execution(tenant, status))


def fresh(execution: Execution) -> Execution:
    return Execution.objects.get(pk=execution.pk)


def columns(execution: Execution) -> dict[str, Any]:
    return {field.attname: getattr(execution, field.attname) for field in Execution._meta.fields}


def token_of(execution: Execution) -> int:
    return execution.fencing_token or NO_TOKEN


def ending(verb: str, execution: Execution, token: int, **parts: Any) -> Finish:
    status, outcome = ENDS[verb]
    number = execution.attempt + (execution.status == "QUEUED")
    given = {"error_code": "timeout_total", "worker": WORKER} | parts
    return Finish(execution.id, token, number, status, outcome, **given)


def apply(verb: str, execution: Execution, token: int) -> list[UUID]:
    """Try one verb on the execution and return what moved."""
    pair = [(execution.id, token)]
    if verb in ENDS:
        return transitions.finish([ending(verb, execution, token)])
    if verb == "skip" and execution.status == "PENDING":
        Execution.objects.filter(pk=execution.pk).update(gated=True, held=True)
    calls: dict[str, Callable[[], list[UUID]]] = {
        "skip": lambda: transitions.skip([execution.id], "overlap_skipped"),
        "mark_queued": lambda: [row.id for row in release()],
        "mark_running": lambda: transitions.mark_running(
            [(execution.id, token, WORKER, database_now())]
        ),
        "accept": lambda: transitions.accept(
            [(execution.id, token, WORKER, database_now(), database_now())]
        ),
        "withdraw": lambda: transitions.withdraw(pair),
        "release": lambda: transitions.release(pair),
        "defer": lambda: transitions.defer([(execution.id, token, "circuit_open", database_now())]),
        "cancel": lambda: transitions.cancel(pair, "cancelled"),
    }
    return calls[verb]()


def events_of(execution: Execution) -> list[str]:
    return names_of(execution.id)


# --- every state and every verb ------------------------------------------------------------


@pytest.mark.parametrize(("status", "verb"), list(itertools.product(Status.values, VERBS)))
def test_each_verb_moves_exactly_from_the_states_of_the_table(
    alpha: Tenant, status: str, verb: str
):
    execution = bring(alpha, status)
    assert execution.status == status
    events = events_of(execution)
    move = VERBS[verb]

    moved = apply(verb, execution, token_of(execution))

    if status in move.sources:
        assert moved == [execution.id]
        assert fresh(execution).status == move.target
        assert events_of(execution) == [*events, move.event]
    else:
        assert moved == []
        assert columns(fresh(execution)) == columns(execution)
        assert events_of(execution) == events


@pytest.mark.parametrize("status", ["QUEUED", "RUNNING"])
@pytest.mark.parametrize("verb", sorted(set(VERBS) - {"mark_queued"}))
def test_a_stale_token_changes_nothing(alpha: Tenant, status: str, verb: str):
    execution = bring(alpha, status)
    events = events_of(execution)

    moved = apply(verb, execution, token_of(execution) + 1)

    assert moved == []
    assert fresh(execution).status == status
    assert events_of(execution) == events
    assert not Attempt.objects.exists()
    assert not DeadLetter.objects.exists()


@pytest.mark.parametrize(
    "call",
    [
        lambda: transitions.mark_running([]),
        lambda: transitions.finish([]),
        lambda: transitions.withdraw([]),
        lambda: transitions.release([]),
        lambda: transitions.accept([]),
        lambda: transitions.defer([]),
        lambda: transitions.cancel([], "cancelled"),
        lambda: transitions.request_cancel([]),
        lambda: transitions.skip([], "overlap_skipped"),
    ],
)
def test_an_empty_batch_moves_nothing(call: Callable[[], list[UUID]]):
    assert call() == []


# --- queued ---------------------------------------------------------------------------------


def test_queueing_gives_a_new_token_and_a_lease_beyond_the_due_time(alpha: Tenant):
    first = make_execution(alpha, "QUEUED")
    transitions.withdraw([(first.id, token_of(first))])
    (claimed,) = release()

    second = fresh(first)

    assert claimed.token == second.fencing_token
    assert claimed.token > token_of(first)
    assert second.lease_expires_at is not None
    assert second.lease_expires_at > second.due_at
    assert second.queued_at is not None


def test_held_and_distant_work_is_not_queued(alpha: Tenant):
    held = make_execution(alpha)
    Execution.objects.filter(pk=held.pk).update(held=True)
    make_execution(alpha, "PENDING", once(database_now() + timedelta(seconds=10)))

    assert release(window_seconds=3.0) == []


def test_handed_back_work_has_used_no_attempt(alpha: Tenant):
    execution = make_execution(alpha, "QUEUED")

    transitions.release([(execution.id, token_of(execution))])

    found = fresh(execution)
    assert (found.attempt, found.lease_expires_at, found.queued_at) == (0, None, None)


# --- running --------------------------------------------------------------------------------


def test_a_start_counts_the_attempt_and_notes_worker_time_and_delay(alpha: Tenant):
    execution = make_execution(alpha, "QUEUED")
    at = execution.due_at + timedelta(milliseconds=250)

    transitions.mark_running([(execution.id, token_of(execution), "worker-7", at)])

    found = fresh(execution)
    assert (found.attempt, found.worker, found.started_at) == (1, "worker-7", at)
    assert found.start_delay_ms == pytest.approx(250, abs=0.01)
    # The lease covers the request's timeout from its start on.
    assert found.lease_expires_at is not None
    assert found.lease_expires_at >= at + timedelta(seconds=found.timeout_seconds)


def test_a_start_makes_a_one_time_task_running_and_leaves_a_recurring_one(alpha: Tenant):
    one = make_execution(alpha, "RUNNING")
    task = make_task(alpha, every_second())
    prepare()
    start(release(limit=1, window_seconds=60.0))

    assert Task.objects.get(pk=one.task_id).status == "RUNNING"
    assert reload(task).status == "SCHEDULED"


def test_a_request_to_cancel_marks_running_work_only(alpha: Tenant):
    running, queued = make_execution(alpha, "RUNNING"), make_execution(alpha)

    marked = transitions.request_cancel([running.id, queued.id])

    assert marked == [running.id]
    assert fresh(running).cancel_requested_at is not None
    assert fresh(queued).cancel_requested_at is None


# --- the end of an attempt ------------------------------------------------------------------


@pytest.mark.parametrize("status", ["QUEUED", "RUNNING"])
@pytest.mark.parametrize("verb", ENDS)
def test_the_end_of_an_attempt_is_recorded_with_the_move(alpha: Tenant, status: str, verb: str):
    execution = bring(alpha, status)
    at = database_now()
    entry = ending(
        verb,
        execution,
        token_of(execution),
        started_at=at - timedelta(seconds=1),
        finished_at=at,
        response_status=503,
        error_message="x" * 2000,
        timings='{"total": 12.5}',
        sealed_response=b"sealed",
    )

    transitions.finish([entry])

    attempt = Attempt.objects.get(execution_id=execution.id)
    assert attempt.number == 1
    assert attempt.outcome == ENDS[verb][1]
    assert attempt.fencing_token == token_of(execution)
    assert attempt.worker == WORKER
    assert attempt.due_at == execution.due_at
    assert attempt.finished_at == at
    assert (attempt.response_status, attempt.error_code) == (503, "timeout_total")
    assert len(attempt.error_message) == 1000
    assert attempt.timings == {"total": 12.5}
    assert bytes(attempt.sealed_response or b"") == b"sealed"
    # A worker may start and end within one batch: the attempt counts either way.
    found = fresh(execution)
    assert (found.attempt, found.response_status, found.lease_expires_at) == (1, 503, None)
    assert (found.finished_at == at) == (verb != "schedule_retry")


def test_one_outcome_is_recorded_per_attempt(alpha: Tenant):
    execution = make_execution(alpha, "RUNNING")
    entry = ending("succeed", execution, token_of(execution))

    assert transitions.finish([entry]) == [execution.id]
    assert transitions.finish([entry]) == []

    assert Attempt.objects.filter(execution_id=execution.id).count() == 1


@pytest.mark.parametrize("verb", ENDS)
def test_an_attempt_that_ended_in_a_retry_does_not_end_again(alpha: Tenant, verb: str):
    execution = make_execution(alpha, "RUNNING")
    token = token_of(execution)
    assert transitions.finish([ending("schedule_retry", execution, token)]) == [execution.id]
    waiting = fresh(execution)

    assert transitions.finish([ending(verb, execution, token)]) == []

    found = fresh(execution)
    assert (found.status, found.attempt) == ("RETRYING", 1)
    assert (found.fencing_token, found.due_at) == (token, waiting.due_at)
    assert Attempt.objects.filter(execution_id=execution.id).count() == 1


def test_a_retry_is_due_after_its_delay_by_the_database_clock(alpha: Tenant):
    execution = make_execution(alpha, "RUNNING")
    with transaction.atomic():
        now = transaction_now()
        transitions.finish(
            [ending("schedule_retry", execution, token_of(execution), retry_in=90.0)]
        )

    found = fresh(execution)
    # Within a transaction the database's now() stands still.
    assert found.due_at == now + timedelta(seconds=90)
    assert found.scheduled_for == execution.scheduled_for
    assert found.finished_at is None


def test_attempts_are_numbered_in_order_over_retries(alpha: Tenant):
    execution = make_execution(alpha)

    for status in ("RETRYING", "RETRYING", "SUCCEEDED"):
        (row,) = release()
        start([row])
        finish(row, status)

    numbers = Attempt.objects.filter(execution_id=execution.id).order_by("number")
    assert list(numbers.values_list("number", "outcome")) == [
        (1, "FAILED"),
        (2, "FAILED"),
        (3, "SUCCEEDED"),
    ]
    found = fresh(execution)
    assert (found.attempt, found.error_code) == (3, "")


def test_lost_workers_are_counted(alpha: Tenant):
    execution = make_execution(alpha, "RUNNING")

    transitions.finish([ending("schedule_retry", execution, token_of(execution), lost=1)])

    assert fresh(execution).lost_count == 1


def test_a_batch_moves_what_is_still_held_and_leaves_the_rest(alpha: Tenant):
    good, stale = make_execution(alpha, "RUNNING"), make_execution(alpha, "RUNNING")

    moved = transitions.finish(
        [
            ending("succeed", good, token_of(good)),
            ending("dead_letter", stale, token_of(stale) + 1000),
        ]
    )

    assert moved == [good.id]
    assert fresh(stale).status == "RUNNING"
    assert not DeadLetter.objects.exists()


# --- dead letters ---------------------------------------------------------------------------


def test_a_final_failure_writes_exactly_one_dead_letter(alpha: Tenant):
    execution = make_execution(alpha, "RUNNING")
    entry = ending("dead_letter", execution, token_of(execution), error_message="No answer.")

    transitions.finish([entry])
    transitions.finish([entry])

    letter = DeadLetter.objects.get()
    assert (letter.tenant_id, letter.task_id) == (alpha.id, execution.task_id)
    assert letter.execution_id == execution.id
    assert (letter.error_code, letter.error_message) == ("timeout_total", "No answer.")
    assert (letter.error_signature, letter.attempt_count) == ("timeout_total", 1)
    assert not letter.resolved


@pytest.mark.parametrize("verb", ["succeed", "schedule_retry", "finish_cancel"])
def test_no_other_end_writes_a_dead_letter(alpha: Tenant, verb: str):
    execution = make_execution(alpha, "RUNNING")

    transitions.finish([ending(verb, execution, token_of(execution))])

    assert not DeadLetter.objects.exists()


def test_move_event_attempt_and_dead_letter_come_and_go_together(alpha: Tenant):
    execution = make_execution(alpha, "RUNNING")
    events = events_of(execution)

    with transaction.atomic():
        transitions.finish([ending("dead_letter", execution, token_of(execution))])
        assert DeadLetter.objects.exists()
        transaction.set_rollback(True)

    assert fresh(execution).status == "RUNNING"
    assert events_of(execution) == events
    assert not Attempt.objects.exists()
    assert not DeadLetter.objects.exists()


@pytest.mark.parametrize(
    ("parts", "expected"),
    [
        ({"error_code": "http_status", "response_status": 503}, "http_status:503"),
        ({"error_code": "http_status", "response_status": None}, "http_status"),
        ({"error_code": "dns_failed"}, "dns_failed"),
        ({"error_code": "", "reason": "poisoned"}, "poisoned"),
    ],
)
def test_equal_causes_share_a_signature(parts: dict[str, Any], expected: str):
    entry = Finish(UUID(int=1), 1, 1, "FAILED", AttemptOutcome.FAILED, **parts)

    assert transitions.signature(entry) == expected


# --- the task -------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("status", "task_status"),
    [
        ("SUCCEEDED", "COMPLETED"),
        ("FAILED", "FAILED"),
        ("CANCELLED", "CANCELLED"),
        ("RETRYING", "RUNNING"),
    ],
)
def test_a_one_time_task_ends_as_its_execution_does(alpha: Tenant, status: str, task_status: str):
    execution = make_execution(alpha, "RUNNING")
    verb = next(verb for verb, (target, _) in ENDS.items() if target == status)

    apply(verb, execution, token_of(execution))

    task = Task.objects.get(pk=execution.task_id)
    assert task.status == task_status
    assert (task.last_execution_id, task.last_execution_status) == (execution.id, status)
    assert task.last_execution_at is not None


def test_a_one_time_task_whose_execution_is_cancelled_unstarted_is_cancelled(alpha: Tenant):
    execution = make_execution(alpha)

    transitions.cancel([(execution.id, None)], "cancelled")

    assert Task.objects.get(pk=execution.task_id).status == "CANCELLED"
    assert fresh(execution).reason == "cancelled"


def test_a_recurring_task_goes_on_after_an_execution(alpha: Tenant):
    task = make_task(alpha, every_second())
    prepare()
    (row,) = release(limit=1, window_seconds=60.0)[:1]

    start([row])
    finish(row, "FAILED", reason="attempts_exhausted")

    assert reload(task).status == "SCHEDULED"
    assert reload(task).last_execution_status == "FAILED"


def test_a_recurring_task_completes_with_its_last_occurrence_only(alpha: Tenant):
    body = every_second()
    body["schedule"]["max_occurrences"] = 2
    task = make_task(alpha, body)
    prepare()
    first, second = release(window_seconds=60.0)
    assert len(executions_of(task)) == 2

    start([first, second])
    finish(first)
    assert reload(task).status == "SCHEDULED"

    finish(second, "FAILED", reason="attempts_exhausted")
    assert reload(task).status == "COMPLETED"


def test_a_manual_run_leaves_the_task_as_it_is(alpha: Tenant):
    task = make_task(alpha, once(database_now() + timedelta(hours=1)))
    execution = run_task(alpha.id, task.id, None, actor=ACTOR)
    (row,) = release()

    start([row])
    finish(row)

    assert fresh(execution).trigger == "manual"
    assert reload(task).status == "SCHEDULED"
    assert reload(task).last_execution_id == execution.id
