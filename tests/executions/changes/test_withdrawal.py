from __future__ import annotations

import pytest

from executions.changes import withdrawal
from executions.loop.clocks import database_now
from executions.models import Execution
from tasks.models import Task
from tasks.revisions import read_definition
from tests.factories import (
    WORKER,
    every_second,
    executions_of,
    make_task,
    make_tenant,
    once,
    pass_guard,
    prepare,
    release,
    reload,
)


@pytest.fixture
def task(db: None) -> Task:
    task = make_task(make_tenant(), once())
    prepare()
    return reload(task)


def test_prepared_work_is_locked_and_told(task):
    [found] = withdrawal.take_back(task.id, database_now())

    assert found.planned
    assert found.prepared
    assert (found.status, found.token) == ("PENDING", None)


def test_released_work_is_prepared_again_without_having_used_an_attempt(task):
    handed = release()

    [found] = withdrawal.take_back(task.id, database_now())

    assert found.planned
    assert executions_of(task)[0].attempt == 0
    assert pass_guard(handed) == [0]


def test_what_was_withdrawn_wakes_the_schedulers(task, on_commit):
    release()

    with on_commit() as callbacks:
        withdrawal.take_back(task.id, database_now())

    assert len(callbacks) == 1


def test_released_work_that_passed_the_guard_runs(task):
    pass_guard(release())

    [found] = withdrawal.take_back(task.id, database_now())

    assert (found.status, found.planned) == ("RUNNING", False)
    [row] = executions_of(task)
    assert (row.worker, row.attempt) == (WORKER, 1)
    assert reload(task).status == "RUNNING"


def test_removed_rows_leave_the_ledger(task):
    withdrawal.remove(withdrawal.lock(task.id))

    assert executions_of(task) == []


def test_adopted_rows_take_version_priority_attempts_and_timeout(task):
    definition = read_definition(task)
    definition.retry_policy["max_attempts"] = 2
    definition.target["timeout_seconds"] = 1.5
    task.version, task.priority = 4, 9

    withdrawal.adopt(task, definition, withdrawal.lock(task.id))

    [row] = executions_of(task)
    assert (row.revision, row.priority, row.max_attempts, row.timeout_seconds) == (4, 9, 2, 1.5)


@pytest.mark.parametrize(
    ("before", "after"), [("destination_rate", ""), ("misfire_replayed", "misfire_replayed")]
)
def test_adopted_rows_wait_for_no_destination_any_more(task, before, after):
    Execution.objects.filter(task_id=task.id).update(parked=True, reason=before)

    withdrawal.adopt(task, read_definition(task), withdrawal.lock(task.id))

    [row] = executions_of(task)
    assert (row.parked, row.reason) == (False, after)


def test_held_work_is_not_released_until_let_go(task):
    withdrawal.hold([task.id], held=True)
    assert release() == []

    withdrawal.hold([task.id], held=False)
    assert len(release()) == 1


def test_letting_go_leaves_a_task_with_instants_ahead_alone(db):
    task = make_task(make_tenant(), every_second())

    withdrawal.hold([task.id], held=False)

    assert reload(task).status == "SCHEDULED"
