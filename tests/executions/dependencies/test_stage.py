from __future__ import annotations

from datetime import timedelta
from uuid import uuid4

import pytest
from django.db.models import F

from executions.dead_letters.letters import retry_dead_letter
from executions.dependencies import stage as dependencies
from executions.loop.clocks import database_now
from executions.models import DeadLetter, Execution, MinuteStat, PartitionLease
from executions.ownership.partitions import Partitions
from executions.triggering.triggers import run_task
from shared.exceptions import InvalidInput
from shared.instants import format_instant
from tasks.models import Task, TaskCursor, TaskDependency
from tenants.models import Tenant
from tests.executions.changes.changes import cancel, delete, pause, resume
from tests.factories import (
    ACTOR,
    every_second,
    executions_of,
    finish,
    make_task,
    once,
    prepare,
    release,
    reload,
    start,
)
from tests.support.cursors import change_task
from tests.support.events import names_of
from tests.support.waiting_tasks import edit, end, look, make_waiting, open_rows, starts

pytestmark = pytest.mark.django_db

HOUR = timedelta(hours=1)


@pytest.fixture
def first(alpha: Tenant) -> Task:
    return make_task(alpha, once(name="First"))


@pytest.fixture
def second(alpha: Tenant) -> Task:
    return make_task(alpha, once(name="Second"))


def let_pass(task: Task) -> None:
    """Let the instant of a waiting task have passed a moment ago."""
    change_task(task.id, next_run_at=database_now() - timedelta(seconds=1))


def only(task: Task) -> Execution:
    [found] = executions_of(task)
    return found


# --- success ------------------------------------------------------------------------------------


def test_a_task_waits_until_its_prerequisite_has_succeeded(alpha, first):
    task = make_waiting(alpha, [first])
    assert starts(task) == []

    end(first)

    assert starts(task) == ["PENDING"]
    assert open_rows(task) == 0


def test_it_waits_for_each_of_several(alpha, first, second):
    task = make_waiting(alpha, [first, second])
    prepare()
    rows = {row.task_id: row for row in release()}

    finish(rows[first.id])
    assert starts(task) == []
    assert open_rows(task) == 1

    finish(rows[second.id])
    assert starts(task) == ["PENDING"]


def test_what_was_late_by_the_wait_is_due_when_the_wait_ends(alpha, first):
    task = make_waiting(alpha, [first])
    asked = task.next_run_at
    before = database_now()

    end(first)
    starts(task)

    found = only(task)
    assert found.scheduled_for == asked
    assert found.due_at >= before


def test_a_task_that_is_done_early_leaves_the_time_as_it_is(alpha, first):
    task = make_waiting(alpha, [first], database_now() + HOUR)
    asked = task.next_run_at
    end(first)
    look()

    cursor = TaskCursor.objects.get(task_id=task.id)
    assert (cursor.held, cursor.next_run_at, cursor.replayed_until) == (False, asked, None)


def test_a_prerequisite_that_had_succeeded_before_is_not_waited_for(alpha, first):
    end(first)

    assert starts(make_waiting(alpha, [first])) == ["PENDING"]


def test_a_prerequisite_that_was_deleted_after_its_success_has_succeeded(alpha, first):
    task = make_waiting(alpha, [first])
    end(first)
    delete(first)

    assert starts(task) == ["PENDING"]


def test_a_chain_runs_in_its_order(alpha, first):
    middle = make_waiting(alpha, [first])
    last = make_waiting(alpha, [middle])
    end(first)
    assert (starts(last), starts(middle)) == ([], ["PENDING"])

    end(middle)

    assert starts(last) == ["PENDING"]


def test_a_prerequisite_that_ends_while_it_is_paused_counts(alpha, first):
    task = make_waiting(alpha, [first])
    prepare()
    [row] = release()
    start([row])
    pause(first)
    finish(row)

    assert reload(first).status == "PAUSED"
    assert starts(task) == ["PENDING"]


def test_a_run_by_hand_that_succeeds_after_a_failure_counts(alpha, first):
    task = make_waiting(alpha, [first], on_dependency_failure="wait")
    end(first, "FAILED")
    run_task(alpha.id, first.id, None, actor=ACTOR)
    [row] = release()
    finish(row)

    assert starts(task) == ["PENDING"]


def test_a_run_by_hand_does_not_count_while_the_scheduled_one_is_open(alpha, first):
    task = make_waiting(alpha, [first])
    prepare()
    pause(first)
    run_task(alpha.id, first.id, None, actor=ACTOR)
    [row] = release()
    finish(row)

    assert starts(task) == []


# --- failure ------------------------------------------------------------------------------------


def bad_end(how: str, prerequisite: Task) -> None:
    {
        "failed": lambda: end(prerequisite, "FAILED"),
        "cancelled": lambda: cancel(prerequisite),
        "deleted": lambda: delete(prerequisite),
    }[how]()


@pytest.mark.parametrize("how", ["failed", "cancelled", "deleted"])
def test_a_task_is_skipped_when_a_prerequisite_has_ended_without_success(alpha, first, how):
    task = make_waiting(alpha, [first])
    let_pass(task)
    bad_end(how, first)

    assert starts(task) == ["SKIPPED"]
    assert only(task).reason == "dependency_failed"
    assert names_of(only(task).id) == ["execution.skipped"]
    assert reload(task).status == "COMPLETED"
    assert not DeadLetter.objects.filter(task_id=task.id).exists()


@pytest.mark.parametrize("how", ["failed", "cancelled", "deleted"])
def test_or_it_fails_with_a_dead_letter(alpha, first, how):
    task = make_waiting(alpha, [first], on_dependency_failure="fail")
    let_pass(task)
    bad_end(how, first)

    assert starts(task) == ["FAILED"]
    found = only(task)
    assert (found.reason, found.error_code, found.attempt) == (
        "dependency_failed",
        "dependency_failed",
        0,
    )
    assert names_of(found.id) == ["execution.failed"]
    assert (reload(task).status, reload(task).last_execution_id) == ("FAILED", found.id)
    letter = DeadLetter.objects.get(execution_id=found.id)
    assert (letter.error_signature, letter.attempt_count) == ("dependency_failed", 0)


def test_the_failure_is_counted_in_its_minute(alpha, first):
    task = make_waiting(alpha, [first], on_dependency_failure="fail")
    let_pass(task)
    cancel(first)
    look()

    assert [row.failed for row in MinuteStat.objects.filter(tenant_id=alpha.id)] == [1]


def test_a_failure_before_the_time_may_still_be_mended(alpha, first):
    task = make_waiting(alpha, [first], database_now() + HOUR)
    end(first, "FAILED")
    assert starts(task) == []
    letter = DeadLetter.objects.get(task_id=first.id)

    retry(alpha, letter)

    look()
    assert not TaskCursor.objects.get(task_id=task.id).held


def test_a_failure_before_the_time_counts_when_the_time_has_come(alpha, first):
    task = make_waiting(alpha, [first], database_now() + HOUR)
    end(first, "FAILED")
    look()
    let_pass(task)
    TaskDependency.objects.filter(task_id=task.id).update(look_at=database_now())

    assert starts(task) == ["SKIPPED"]


def test_it_is_looked_at_again_at_its_time(alpha, first):
    task = make_waiting(alpha, [first], database_now() + HOUR)
    cancel(first)
    look()

    assert TaskDependency.objects.get(task_id=task.id).look_at == task.next_run_at


def test_waiting_for_a_retry_outlasts_a_failure(alpha, first):
    task = make_waiting(alpha, [first], on_dependency_failure="wait")
    let_pass(task)
    end(first, "FAILED")
    assert starts(task) == []

    retry(alpha, DeadLetter.objects.get(task_id=first.id))

    assert starts(task) == ["PENDING"]


@pytest.mark.parametrize("how", ["cancelled", "deleted"])
def test_but_not_what_can_never_succeed(alpha, first, how):
    task = make_waiting(alpha, [first], on_dependency_failure="wait")
    let_pass(task)
    bad_end(how, first)

    assert starts(task) == ["SKIPPED"]


def test_a_skipped_task_fails_those_behind_it(alpha, first):
    middle = make_waiting(alpha, [first])
    last = make_waiting(alpha, [middle], on_dependency_failure="fail")
    let_pass(middle)
    let_pass(last)
    cancel(first)

    assert (starts(middle), starts(last)) == (["SKIPPED"], ["FAILED"])


def retry(tenant: Tenant, letter: DeadLetter) -> None:
    """Retry a dead letter, with success."""
    retry_dead_letter(tenant.id, letter.id, None, actor=ACTOR)
    [row] = release()
    finish(row)


def test_an_edit_back_to_a_time_that_has_failed_is_a_failure(alpha, first):
    at = first.schedule["run_at"]
    end(first, "FAILED")
    edit(first, {"run_at": format_instant(database_now() + HOUR)})
    task = make_waiting(alpha, [first])
    let_pass(task)
    assert starts(task) == []

    edit(first, {"run_at": at})

    assert reload(first).status == "FAILED"
    assert starts(task) == ["SKIPPED"]


# --- pause, cancel, edit ------------------------------------------------------------------------


def test_a_paused_task_is_not_ended_by_a_failure(alpha, first):
    task = make_waiting(alpha, [first])
    let_pass(task)
    pause(task, on_resume="replay")
    cancel(first)
    assert starts(task) == []

    resume(task)

    assert starts(task) == ["SKIPPED"]


def test_a_resume_does_not_end_the_wait(alpha, first):
    task = make_waiting(alpha, [first], database_now() + HOUR)
    pause(task)
    resume(task)

    look()
    assert TaskCursor.objects.get(task_id=task.id).held
    end(first)
    look()
    assert not TaskCursor.objects.get(task_id=task.id).held


def test_a_task_that_stays_paused_starts_when_it_is_resumed(alpha, first):
    task = make_waiting(alpha, [first])
    pause(task, on_resume="replay")
    end(first)
    assert starts(task) == []

    resume(task)

    assert starts(task) == ["PENDING"]


@pytest.mark.parametrize("leave", [cancel, delete])
def test_a_task_that_is_gone_waits_for_nothing(alpha, first, leave):
    task = make_waiting(alpha, [first])
    leave(task)
    end(first)

    assert starts(task) == []
    assert open_rows(task) == 0


def test_another_name_leaves_the_wait_as_it_is(alpha, first):
    task = make_waiting(alpha, [first])
    edit(task, {"name": "Other"})
    assert starts(task) == []
    end(first)

    assert starts(task) == ["PENDING"]


def test_an_edit_may_take_the_wait_away(alpha, first):
    task = make_waiting(alpha, [first])
    edit(task, {"depends_on": []})

    assert starts(task) == ["PENDING"]


def test_an_edit_may_let_a_prepared_task_wait(alpha, first):
    task = make_task(alpha, once())
    assert starts(task) == ["PENDING"]

    edit(task, {"depends_on": [str(first.id)]})

    assert starts(task) == []
    end(first)
    assert starts(task) == ["PENDING"]


def test_an_edit_to_a_later_time_waits_for_the_same_tasks(alpha, first):
    task = make_waiting(alpha, [first])
    edit(task, {"run_at": format_instant(database_now() + HOUR)})
    look()
    assert TaskCursor.objects.get(task_id=task.id).held

    end(first)
    look()

    assert not TaskCursor.objects.get(task_id=task.id).held


def test_what_is_late_is_due_now_when_an_edit_takes_the_wait_away(alpha, first):
    task = make_waiting(alpha, [first])
    let_pass(task)
    before = database_now()
    edit(task, {"depends_on": []})
    starts(task)

    assert only(task).due_at >= before


def test_a_prerequisite_that_becomes_recurring_can_never_succeed(alpha, first):
    task = make_waiting(alpha, [first], on_dependency_failure="wait")
    let_pass(task)
    look()
    edit(first, {"type": "RECURRING", "schedule": {"cron_expression": "0 8 * * *"}})

    assert starts(task) == ["SKIPPED"]


def test_a_policy_alone_takes_no_work_of_a_task_back(alpha):
    task = make_task(alpha, every_second())
    prepare()
    before = [row.id for row in executions_of(task)]

    with pytest.raises(InvalidInput) as refused:
        edit(task, {"on_dependency_failure": "fail"})

    assert [error.code for error in refused.value.errors] == ["not_applicable"]
    assert [row.id for row in executions_of(task)] == before


def test_an_edit_may_change_what_follows_a_failure(alpha, first):
    task = make_waiting(alpha, [first])
    edit(task, {"on_dependency_failure": "fail"})
    let_pass(task)
    cancel(first)

    assert starts(task) == ["FAILED"]


def test_a_run_by_hand_waits_for_nothing(alpha, first):
    task = make_waiting(alpha, [first])
    made = run_task(alpha.id, task.id, None, actor=ACTOR)

    assert [row.id for row in release()] == [made.pk]


# --- ownership ----------------------------------------------------------------------------------


def test_only_the_owner_of_its_partition_judges_a_task(alpha, first):
    task = make_waiting(alpha, [first])
    end(first)
    other = Partitions()

    assert dependencies.run_once(other).done == 0
    assert open_rows(task) == 1


@pytest.mark.parametrize(
    "changed", [{"owner": uuid4()}, {"epoch": F("epoch") + 1}], ids=["another owner", "new epoch"]
)
@pytest.mark.parametrize("policy", ["skip", "fail"])
def test_a_scheduler_that_has_lost_the_partition_ends_nothing(alpha, first, changed, policy):
    partitions = Partitions()
    partitions.run_once()
    task = make_waiting(alpha, [first], on_dependency_failure=policy)
    let_pass(task)
    cancel(first)
    PartitionLease.objects.update(**changed)

    counts = dependencies.run_once(partitions)

    assert (counts.done, counts.refused) == (0, 1)
    assert (executions_of(task), open_rows(task)) == ([], 1)
    assert TaskCursor.objects.get(task_id=task.id).held


def test_without_anything_to_wait_for_it_rests(alpha):
    partitions = Partitions()
    partitions.run_once()

    assert dependencies.run_once(partitions).next_in == 1.0


def test_while_something_waits_it_looks_often(alpha, first):
    make_waiting(alpha, [first])
    look()
    partitions = Partitions()
    partitions.run_once()

    assert dependencies.run_once(partitions).next_in == 0.1


def test_the_first_that_waits_no_longer_is_told(alpha, first):
    task = make_waiting(alpha, [first])
    end(first)
    partitions = Partitions()
    partitions.run_once()

    assert dependencies.run_once(partitions).first == task.next_run_at
