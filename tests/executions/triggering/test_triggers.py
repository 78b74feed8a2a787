from __future__ import annotations

from dataclasses import replace

import pytest
from django.db import transaction

from events.models import AuditEntry
from executions.changes import changing
from executions.payloads import payload_of
from executions.triggering.triggers import Override, lock_tasks, retry_execution, run_task
from shared.conf import conf
from shared.exceptions import Conflict, InvalidInput, NotFound, TooLarge
from tasks.budgets import purses
from tasks.transitions import Pause
from tests.factories import (
    ACTOR,
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


def run(task, override=None):
    return run_task(task.tenant_id, task.id, override, actor=ACTOR)


def test_a_task_runs_now_beside_its_schedule(alpha):
    task = make_task(alpha)

    execution = run(task)

    assert (execution.status, execution.trigger, execution.parent_id) == ("PENDING", "manual", None)
    assert payload_of(execution) == {"report": 1}
    assert [row.id for row in release()] == [execution.id]
    assert reload(task).next_run_at == task.next_run_at
    assert reload(task).occurrence_count == 0


def test_two_runs_at_once_are_two_executions(alpha):
    task = make_task(alpha)

    assert run(task).id != run(task).id


@pytest.mark.parametrize("payload", [{"n": 2}, None, [], "text"])
def test_a_given_payload_takes_the_place_of_the_tasks(alpha, payload):
    execution = run(make_task(alpha), Override(payload))

    assert payload_of(execution) == payload


def test_a_given_payload_has_the_same_bound_as_the_tasks(alpha):
    task = make_task(alpha)

    with pytest.raises(TooLarge):
        run(task, Override("x" * conf().payload_bytes))

    assert executions_of(task) == []


def test_a_given_payload_that_json_cannot_carry_is_refused(alpha):
    task = make_task(alpha, once())

    for payload in (float("nan"), {"n": 2**64}, ["\0"]):
        with pytest.raises(InvalidInput) as refused:
            run(task, Override(payload))
        assert refused.value.errors[0].pointer.startswith("#/payload")
    assert executions_of(task) == []


def test_a_paused_task_runs_when_asked(alpha):
    task = make_task(alpha, every_second())
    changing.pause_task(alpha.id, task.id, Pause(), actor=ACTOR)

    execution = run(task)

    assert [row.id for row in release()] == [execution.id]


def test_a_run_by_hand_leaves_a_task_in_its_state(alpha):
    task = make_task(alpha)
    run(task)
    [row] = release()
    start([row])
    finish(row, "FAILED")

    after = reload(task)
    assert (after.status, after.last_execution_status) == ("SCHEDULED", "FAILED")


def test_a_run_is_recorded(alpha):
    task = make_task(alpha)

    execution = run(task)

    entry = AuditEntry.objects.get(object_id=task.id, action="task.run")
    assert str(execution.id) in (entry.after or "")


def test_another_tenants_task_does_not_run(alpha, beta):
    task = make_task(alpha)

    with pytest.raises(NotFound):
        run_task(beta.id, task.id, None, actor=ACTOR)

    assert executions_of(task) == []


@pytest.mark.parametrize("status", ["SUCCEEDED", "FAILED", "CANCELLED"])
def test_a_finished_execution_is_retried_as_a_new_one(alpha, status):
    original = make_execution(alpha, status)

    retry = retry_execution(alpha.id, original.id, None, actor=ACTOR)

    assert (retry.trigger, retry.parent_id) == ("retry", original.id)
    assert retry.scheduled_for == original.scheduled_for
    assert payload_of(retry) == {"n": 1}
    assert AuditEntry.objects.filter(object_id=original.id, action="execution.retried").exists()


@pytest.mark.parametrize("status", ["PENDING", "QUEUED", "RUNNING", "RETRYING"])
def test_an_unfinished_execution_is_not_retried(alpha, status):
    original = make_execution(alpha, status)

    with pytest.raises(Conflict):
        retry_execution(alpha.id, original.id, None, actor=ACTOR)


def test_a_retry_sends_what_the_original_sent_even_after_an_edit(alpha):
    task = make_task(alpha, once())
    prepare()
    [row] = release()
    start([row])
    finish(row, "FAILED")

    def edit(current, now):
        return replace(current, payload={"n": 2}), None

    changing.edit_task(alpha.id, task.id, edit, actor=ACTOR)
    retry = retry_execution(alpha.id, row.id, None, actor=ACTOR)

    assert (retry.revision, payload_of(retry)) == (2, {"n": 1})


def test_a_one_time_tasks_retry_that_succeeds_completes_it(alpha):
    original = make_execution(alpha, "FAILED")
    retry_execution(alpha.id, original.id, None, actor=ACTOR)
    [row] = release()
    start([row])

    finish(row)

    assert reload(original.task).status == "COMPLETED"


def test_the_budgets_of_several_tasks_are_locked_at_once_and_in_order(alpha, monkeypatch):
    budget = [{"unit": "runs", "limit": 2}]
    first, other = (make_task(alpha, every_second(budget=budget)) for _ in range(2))
    make_task(alpha)
    seen: list[object] = []
    monkeypatch.setattr(purses, "lock", seen.append)

    with transaction.atomic():
        lock_tasks([other.id, first.id])

    assert seen == [sorted([first.id, other.id])]
