"""Ends of executions beside what reads, prepares or changes the same ones, on two sessions."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from django.db import transaction

from events.models import Event
from executions import transitions
from executions.changes.cancellation import cancel_execution
from executions.choices import Status
from executions.loop.clocks import database_now
from executions.materialize import instants
from executions.materialize import stage as materialize
from executions.materialize.planning import Row
from executions.models import Attempt, Execution
from executions.ownership.partitions import Partitions
from executions.transitions import Finish
from shared.exceptions import Conflict
from shared.sql import rows
from tasks.models import Task
from tenants.models import Tenant
from tests.factories import ACTOR, executions_of, make_task, once, prepare, release, start
from tests.support.cursors import change_task

Beside = Callable[[Callable[[], Any]], Any]


@pytest.fixture
def running(alpha: Tenant) -> Any:
    """Return the claimed row of a one-time task that runs."""
    make_task(alpha, once())
    prepare()
    (claimed,) = release()
    start([claimed])
    return claimed


def set_back(task_id: Any) -> Task:
    """Let the scheduler meet the task's only instant once more, as after an edit."""
    execution = Execution.objects.get(task_id=task_id)
    change_task(
        task_id, status="SCHEDULED", next_run_at=execution.scheduled_for, occurrence_count=0
    )
    return Task.objects.get(id=task_id)


def succeed(claimed: Any) -> list[Any]:
    return transitions.finish([Finish(claimed.id, claimed.token, 1, "SUCCEEDED", "SUCCEEDED")])


def test_an_instant_that_ends_while_it_is_prepared_again_stays_one(running: Any, beside: Beside):
    task = set_back(running.task_id)
    scheduler = Partitions()
    scheduler.run_once()

    with transaction.atomic():
        # The end's first statement: its task is not locked yet, so that the scheduler comes so far.
        entry = Finish(running.id, running.token, 1, "SUCCEEDED", "SUCCEEDED")
        assert rows("complete/finish", transitions._columns([entry]))
        # It waits for nothing: the recorder asks for the task that it has locked.
        beside(lambda: materialize.run_once(scheduler)).join()

    assert [row.status for row in executions_of(task)] == ["SUCCEEDED"]
    assert Attempt.objects.filter(execution_id=running.id).count() == 1
    assert Task.objects.get(id=task.id).next_run_at is None
    assert made_events(running.id) == 1


def test_an_instant_that_has_ended_is_not_prepared_again(running: Any):
    assert succeed(running)
    task = set_back(running.task_id)

    prepare()

    assert [row.status for row in executions_of(task)] == ["SUCCEEDED"]
    assert made_events(running.id) == 1


def test_an_instant_that_is_open_is_not_skipped_beside_it(running: Any):
    task = set_back(running.task_id)
    skipped = Row(
        task.id, running.scheduled_for, running.scheduled_for, Status.SKIPPED, "misfire_grace"
    )
    scheduler = Partitions()
    scheduler.run_once()

    with transaction.atomic():
        made = instants.insert([skipped], scheduler.parameters(), database_now(), set())

    assert made == 0

    assert [row.status for row in executions_of(task)] == ["RUNNING"]


def test_a_cancel_that_waited_for_the_end_finds_what_has_ended(running: Any, beside: Beside):
    tenant_id = running.tenant_id

    with transaction.atomic():
        assert succeed(running)
        cancelling = beside(lambda: cancel_execution(tenant_id, running.id, actor=ACTOR))
        assert cancelling.waits_for_a_lock()

    with pytest.raises(Conflict, match="SUCCEEDED already"):
        cancelling.join()


def test_an_end_that_waited_for_a_change_finds_the_row_as_it_is_now(running: Any, beside: Beside):
    with transaction.atomic():
        assert transitions.request_cancel([running.id]) == [running.id]
        ending = beside(
            lambda: finish_with(running, "RETRYING", "FAILED"),
        )
        assert ending.waits_for_a_lock()
    assert ending.join() == [running.id]

    # It is not tried again, since that was asked before.
    assert Execution.objects.get(id=running.id).status == "CANCELLED"


def test_of_two_ends_under_one_token_one_is_recorded(running: Any, beside: Beside):
    with transaction.atomic():
        assert succeed(running)
        again = beside(lambda: finish_with(running, "FAILED", "FAILED"))
        assert again.waits_for_a_lock()
    assert again.join() == []

    assert Execution.objects.get(id=running.id).status == "SUCCEEDED"
    assert Attempt.objects.filter(execution_id=running.id).count() == 1


def test_a_list_has_each_execution_once_however_many_end_meanwhile(alpha: Tenant, beside: Beside):
    for number in range(6):
        make_task(alpha, once(name=str(number)))
    prepare()
    claimed = release()
    start(claimed)

    def end_all() -> None:
        for row in claimed:
            succeed(row)

    ending = beside(end_all)
    while True:
        over = not ending._thread.is_alive()
        assert Execution.objects.for_tenant(alpha.id).order_by("-id").count() == 6
        if over:
            break
    ending.join()


def finish_with(claimed: Any, status: str, outcome: str) -> list[Any]:
    with transaction.atomic():
        return transitions.finish([Finish(claimed.id, claimed.token, 1, status, outcome)])


def made_events(execution_id: Any) -> int:
    batches = Event.objects.filter(name="execution.materialized", subjects__contains=[execution_id])
    return batches.count()
