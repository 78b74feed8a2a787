"""Two executions of a one-time task that end together, and after the task got a later time.

Fault 29 of the design.
"""

from __future__ import annotations

from collections.abc import Callable
from datetime import timedelta
from functools import partial
from threading import Barrier
from typing import Any

import pytest

from executions.complete.recording import record_in_batches
from executions.loop.clocks import database_now
from executions.transitions import Finish
from executions.triggering.triggers import run_task
from shared.instants import format_instant
from tasks.models import Task
from tenants.models import Tenant
from tests.executions.changes.changes import patch
from tests.factories import ACTOR, executions_of, make_task, once, prepare, release, reload

Beside = Callable[[Callable[[], Any]], Any]


def with_two(tenant: Tenant) -> tuple[Task, dict[str, Finish]]:
    """Return a one-time task whose scheduled run, and one by hand, are with workers."""
    task = make_task(tenant, once())
    prepare()
    run_task(tenant.id, task.id, None, actor=ACTOR)
    trigger = {row.id: row.trigger for row in executions_of(task)}
    found = {
        trigger[row.id]: Finish(row.id, row.token, row.attempt + 1, "SUCCEEDED", "SUCCEEDED")
        for row in release()
        if row.task_id == task.id
    }
    assert set(found) == {"schedule", "manual"}
    return task, found


@pytest.mark.parametrize("failed", ["schedule", "manual"])
def test_two_ends_in_one_batch_are_both_recorded_and_the_schedules_decides(
    alpha: Tenant, failed: str
):
    task, ends = with_two(alpha)
    ends[failed] = ends[failed]._replace(status="FAILED", outcome="FAILED")

    assert record_in_batches(list(ends.values())).done == 2

    assert {row.trigger: row.status for row in executions_of(task)} == {
        "schedule": "FAILED" if failed == "schedule" else "SUCCEEDED",
        "manual": "FAILED" if failed == "manual" else "SUCCEEDED",
    }
    assert reload(task).status == ("FAILED" if failed == "schedule" else "COMPLETED")


def test_ends_of_two_tasks_in_two_batches_of_opposite_order_are_all_recorded(
    alpha: Tenant, beside: Beside
):
    for _ in range(3):
        (one, ends), (two, others) = with_two(alpha), with_two(alpha)
        batches = [[ends["schedule"], others["manual"]], [others["schedule"], ends["manual"]]]
        barrier = Barrier(2, timeout=20)

        def record(batch: list[Finish], barrier: Barrier = barrier) -> int:
            barrier.wait()
            return record_in_batches(batch).done

        sessions = [beside(partial(record, batch)) for batch in batches]

        assert [session.join() for session in sessions] == [2, 2]
        assert {reload(one).status, reload(two).status} == {"COMPLETED"}


def test_the_end_of_an_old_run_does_not_end_a_task_that_got_a_later_time(alpha: Tenant):
    task, ends = with_two(alpha)
    later = database_now() + timedelta(days=1)
    patch(reload(task), {"schedule": {"run_at": format_instant(later)}})

    record_in_batches([ends["manual"]])

    found = reload(task)
    assert found.status == "SCHEDULED"
    assert found.next_run_at is not None
