"""A task that fails so often in a row as its policy allows is paused by the scheduler."""

from __future__ import annotations

import pytest

from events.models import AuditEntry
from executions import transitions
from executions.changes import failing, withdrawal
from executions.ownership.partitions import Partitions
from executions.triggering.triggers import run_task
from tasks.models import Task
from tests.executions.changes.changes import patch, resume
from tests.executions.changes.standing import end, stand
from tests.factories import ACTOR, daily, finish, make_task, release, reload, start
from tests.support.cursors import change_task

pytestmark = pytest.mark.django_db


@pytest.fixture
def partitions() -> Partitions:
    partitions = Partitions()
    partitions.run_once()
    return partitions


def failing_task(tenant, most: int | None = 3) -> Task:
    return make_task(tenant, daily(retry_policy={"pause_after_failures": most}))


def fail(task: Task, times: int = 1, status: str = "FAILED", **parts) -> None:
    for _ in range(times):
        run_task(task.tenant_id, task.id, None, actor=ACTOR)
        [row] = release()
        start([row])
        finish(row, status, reason="attempts_exhausted", **parts)


def test_so_many_failures_in_a_row_pause_the_task_with_the_last_cause(alpha, partitions):
    task = failing_task(alpha)
    fail(task, 2)
    assert failing.run_once(partitions).done == 0
    fail(task, response_status=502)

    assert failing.run_once(partitions).done == 1

    paused = reload(task)
    assert (paused.status, paused.pause_id, paused.paused_until) == ("PAUSED", None, None)
    assert paused.pause_note == "Paused after 3 failures in a row; last: http_status 502"
    entry = AuditEntry.objects.get(object_id=task.id, action="task.paused")
    assert entry.actor == "system"
    assert failing.run_once(partitions).done == 0


def test_a_success_in_between_begins_the_count_anew(alpha, partitions):
    task = failing_task(alpha)
    fail(task, 2)
    fail(task, status="SUCCEEDED")
    fail(task, 2)

    assert failing.run_once(partitions).done == 0
    assert reload(task).failure_streak == 2


def test_one_failure_may_be_enough_and_an_answer_is_not_needed(alpha, partitions):
    task = failing_task(alpha, 1)
    fail(task, error_code="timeout_total", response_status=None)

    failing.run_once(partitions)

    assert reload(task).pause_note == "Paused after 1 failure; last: timeout_total"


def test_the_cause_is_left_out_where_the_last_execution_was_cancelled(alpha, partitions):
    task = failing_task(alpha, 2)
    fail(task, 2)
    made = run_task(alpha.id, task.id, None, actor=ACTOR)
    transitions.cancel([(made.id, None)], "cancelled")

    failing.run_once(partitions)

    assert reload(task).pause_note == "Paused after 2 failures in a row."


def test_resuming_lets_the_failures_count_anew(alpha, partitions):
    task = failing_task(alpha, 2)
    fail(task, 2)
    failing.run_once(partitions)

    assert resume(task).failure_streak == 0
    assert failing.run_once(partitions).done == 0
    fail(task, 2)

    assert failing.run_once(partitions).done == 1


def test_tasks_without_the_policy_fail_on(alpha, partitions):
    task = failing_task(alpha, None)
    fail(task, 3)

    assert failing.run_once(partitions).done == 0
    assert (reload(task).status, reload(task).failure_streak) == ("SCHEDULED", 3)


def test_a_policy_that_comes_later_counts_what_failed_before(alpha, partitions):
    task = failing_task(alpha, None)
    fail(task, 3)

    patch(task, {"retry_policy": {"pause_after_failures": 3}})

    assert failing.run_once(partitions).done == 1


def test_a_task_under_a_standing_pause_pauses_itself_after_its_end(alpha, partitions):
    task = failing_task(alpha, 2)
    made = stand(alpha)
    fail(task, 2)
    assert failing.run_once(partitions).done == 0
    end(made)

    assert failing.run_once(partitions).done == 1
    assert reload(task).pause_id is None


def test_only_the_held_partitions_are_looked_at(alpha):
    task = failing_task(alpha, 1)
    fail(task)

    assert failing.run_once(Partitions()).done == 0
    assert reload(task).status == "SCHEDULED"


@pytest.mark.parametrize(
    "meanwhile", [{"failure_streak": 0}, {"pause_after_failures": None}, {"status": "CANCELLED"}]
)
def test_what_changed_meanwhile_is_left_alone(alpha, partitions, monkeypatch, meanwhile):
    task = failing_task(alpha, 1)
    fail(task)
    lock = withdrawal.lock

    def changed(task_id):
        change_task(task.id, **meanwhile)
        return lock(task_id)

    monkeypatch.setattr(withdrawal, "lock", changed)

    assert failing.run_once(partitions).done == 0
    assert not AuditEntry.objects.filter(action="task.paused").exists()


def test_a_task_that_was_deleted_meanwhile_is_left_alone(alpha, partitions, monkeypatch):
    task = failing_task(alpha, 1)
    fail(task)
    lock = withdrawal.lock

    def deleted(task_id):
        Task.objects.filter(pk=task.id).update(deleted_at=task.created_at)
        return lock(task_id)

    monkeypatch.setattr(withdrawal, "lock", deleted)

    assert failing.run_once(partitions).done == 0


def test_a_full_batch_is_followed_by_the_next_at_once(alpha, partitions, monkeypatch):
    monkeypatch.setattr(failing, "_BATCH", 1)
    for _ in range(2):
        fail(failing_task(alpha, 1))

    assert [failing.run_once(partitions).next_in for _ in range(3)] == [0.0, 0.0, 1.0]


@pytest.mark.logs("task.not_paused")
def test_while_redis_is_away_a_task_with_released_work_waits(alpha, partitions, no_redis):
    task = failing_task(alpha, 1)
    fail(task)
    run_task(alpha.id, task.id, None, actor=ACTOR)
    release()
    no_redis()

    assert failing.run_once(partitions).done == 0
    assert reload(task).status == "SCHEDULED"
