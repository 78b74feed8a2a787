from __future__ import annotations

from dataclasses import replace
from datetime import timedelta

from executions.choices import AttemptOutcome, Status
from executions.loop.clocks import database_now
from executions.models import Attempt, DeadLetter, Execution, MinuteStat
from executions.request_view import captured_response
from operations.history_samples import MARK, Sample, insert_history
from tenants.models import Tenant
from tests.executions.answers import audited
from tests.factories import ACTOR, make_task


def test_a_success_has_its_attempt_and_its_minute(alpha: Tenant):
    task = make_task(alpha)
    sample = Sample(task.id, database_now() - timedelta(hours=2), 3.0, 40.0)

    assert insert_history(alpha.id, [sample], actor=ACTOR) == 1

    execution = Execution.objects.get(pk=sample.id)
    assert (execution.status, execution.reason, execution.start_delay_ms) == (
        *(Status.SUCCEEDED, MARK, 3.0),
    )
    attempt = Attempt.objects.get(execution_id=sample.id)
    assert attempt.outcome == AttemptOutcome.SUCCEEDED
    answer = captured_response(attempt, ())
    assert answer is not None
    assert answer["body"] == '{"ok": true}'
    assert MinuteStat.objects.get(tenant_id=alpha.id).succeeded == 1
    assert audited(alpha.id, "history.made_up")["after"] == {"executions": 1, "dead_letters": 0}


def test_a_failure_has_a_dead_letter_of_its_time(alpha: Tenant):
    task = make_task(alpha)
    at = database_now() - timedelta(hours=2)
    success = Sample(task.id, at, 3.0, 10_000.0, attempts=2, max_attempts=2, timeout_seconds=10)
    sample = replace(success, answer=None, error_code="timeout_total", error_message="Too slow.")

    insert_history(alpha.id, [sample], actor=ACTOR)

    execution = Execution.objects.get(pk=sample.id)
    assert (execution.attempt, execution.max_attempts, execution.timeout_seconds) == (2, 2, 10)
    assert execution.due_at == sample.due_at(2) == sample.finished_at(1) + timedelta(seconds=30)
    first, second = Attempt.objects.filter(execution_id=sample.id).order_by("number")
    assert (first.due_at, second.due_at) == (at, sample.due_at(2))

    letter = DeadLetter.objects.get(execution_id=sample.id)
    assert (letter.error_signature, letter.attempt_count) == ("timeout_total", 2)
    assert letter.created_at == sample.finished_at(2)
    outcomes = Attempt.objects.filter(execution_id=sample.id).values_list("outcome", flat=True)
    assert list(outcomes) == [AttemptOutcome.TIMED_OUT] * 2


def test_the_same_sample_is_written_once_and_never_for_another_tenant(alpha: Tenant, beta: Tenant):
    sample = Sample(make_task(alpha).id, database_now() - timedelta(hours=2), 3.0, 40.0)

    assert insert_history(beta.id, [sample], actor=ACTOR) == 0
    assert not Execution.objects.exists()
    assert insert_history(alpha.id, [sample], actor=ACTOR) == 1
    assert insert_history(alpha.id, [sample], actor=ACTOR) == 0
    assert insert_history(alpha.id, [], actor=ACTOR) == 0
    # What was not written is counted nowhere.
    assert list(MinuteStat.objects.values_list("tenant_id", "succeeded")) == [(alpha.id, 1)]
    assert set(Attempt.objects.values_list("tenant_id", flat=True)) == {alpha.id}
