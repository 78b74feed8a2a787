"""A suspension that begins or ends beside the scheduler, workers, members and another operator."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from django.db import transaction

from events.models import AuditEntry
from executions.materialize import stage as materialize
from executions.models import Execution
from executions.ownership.partitions import Partitions
from executions.triggering import triggers
from tasks.models import Pause, Task
from tenants.models import Tenant
from tenants.suspension import TenantSuspended
from tests.executions.changes.changes import delete, pause
from tests.executions.leasing import take, work
from tests.factories import (
    ACTOR,
    daily,
    every_second,
    finish,
    make_task,
    once,
    pass_guard,
    prepare,
    release,
    reload,
    start,
)
from tests.support.suspending import resume, suspend

Beside = Callable[[Callable[[], Any]], Any]


def may_start(tenant: Tenant) -> int:
    """Return how many executions of the tenant could still be handed out."""
    open_ = Execution.objects.for_tenant(tenant.id)
    waits = open_.filter(status__in=["PENDING", "RETRYING"], held=False)
    return waits.count() + open_.filter(status="QUEUED").count()


def test_a_batch_that_is_claimed_while_a_suspension_begins_never_starts(
    alpha: Tenant, beside: Beside
):
    tasks = [make_task(alpha, once()) for _ in range(3)]
    prepare()

    with transaction.atomic():
        handed = release()
        suspending = beside(lambda: suspend(alpha))
        assert suspending.waits_for_a_lock()
    suspending.join()

    assert len(handed) == 3
    assert pass_guard(handed) == [0, 0, 0]
    assert may_start(alpha) == 0
    assert {reload(task).status for task in tasks} == {"PAUSED"}


def test_nothing_is_planned_claimed_or_leased_while_a_suspension_begins(
    alpha: Tenant, beside: Beside
):
    make_task(alpha, every_second())
    work(alpha)
    prepare()

    def scheduler_at_work() -> list[Any]:
        partitions = Partitions()
        partitions.run_once()
        materialize.run_once(partitions)
        partitions.release_all()
        return release()

    with transaction.atomic():
        suspend(alpha)
        assert beside(scheduler_at_work).join() == []
        assert beside(lambda: take(alpha)).join() == []

    assert scheduler_at_work() == []
    assert may_start(alpha) == 0


def test_a_lease_that_is_given_while_a_suspension_begins_is_work_that_runs(
    alpha: Tenant, beside: Beside
):
    work(alpha)

    with transaction.atomic():
        [lease] = take(alpha)
        suspending = beside(lambda: suspend(alpha))
        assert suspending.waits_for_a_lock()
    suspending.join()

    row = Execution.objects.get(pk=lease.execution_id)
    assert (row.status, row.fencing_token) == ("RUNNING", lease.fencing_token)
    assert take(alpha) == []


def run_now(tenant: Tenant, task: Task) -> Any:
    return triggers.run_task(tenant.id, task.id, None, actor=ACTOR)


DOORS: dict[str, Callable[[Tenant, Task], Any]] = {
    "create": lambda tenant, _: make_task(tenant),
    "run now": run_now,
}


@pytest.mark.parametrize("door", DOORS)
def test_what_is_being_made_while_a_suspension_begins_is_held(
    alpha: Tenant, beside: Beside, door: str
):
    task = make_task(alpha)
    pause(task)

    with transaction.atomic():
        DOORS[door](alpha, task)
        suspending = beside(lambda: suspend(alpha))
        assert suspending.waits_for_a_lock()
    suspending.join()

    assert may_start(alpha) == 0
    assert set(Task.objects.values_list("status", flat=True)) == {"PAUSED"}


@pytest.mark.parametrize("door", DOORS)
def test_what_is_asked_for_while_a_suspension_begins_is_refused(
    alpha: Tenant, beside: Beside, door: str
):
    task = make_task(alpha)

    with transaction.atomic():
        suspend(alpha)
        asking = beside(lambda: DOORS[door](alpha, task))
        assert asking.waits_for_a_lock()

    with pytest.raises(TenantSuspended):
        asking.join()
    assert may_start(alpha) == 0


def test_a_recorder_and_a_suspension_do_not_meet_in_opposite_orders(alpha: Tenant, beside: Beside):
    of_schedule = [make_task(alpha, once()) for _ in range(3)]
    by_hand = [make_task(alpha, daily()) for _ in range(3)]
    for task in by_hand:
        pause(task)
        run_now(alpha, task)
    prepare()
    handed = release()
    assert len(handed) == 6
    start(handed)

    with transaction.atomic():
        for row in handed:
            finish(row)
        suspending = beside(lambda: suspend(alpha))
        assert suspending.waits_for_a_lock()
    suspending.join()

    assert {reload(task).status for task in of_schedule} == {"COMPLETED"}
    assert set(Execution.objects.values_list("status", "reason")) == {("SUCCEEDED", "")}


def test_an_outcome_that_comes_as_a_suspension_begins_is_recorded_once(
    alpha: Tenant, beside: Beside
):
    task = make_task(alpha, once())
    prepare()
    [row] = release()
    start([row])

    with transaction.atomic():
        suspend(alpha)
        recording = beside(lambda: finish(row, "RETRYING", retry_in=0.0))
        assert recording.waits_for_a_lock()
    recording.join()

    [found] = Execution.objects.filter(task_id=task.id)
    assert (found.status, found.held, found.attempt) == ("RETRYING", True, 1)
    assert release() == []


@pytest.mark.parametrize(("act", "word"), [(suspend, "suspended"), (resume, "resumed")])
def test_two_operators_at_once_do_it_once(
    alpha: Tenant, beside: Beside, act: Callable[[Tenant], None], word: str
):
    task = make_task(alpha)
    if act is resume:
        suspend(alpha)

    with transaction.atomic():
        act(alpha)
        second = beside(lambda: act(alpha))
        assert second.waits_for_a_lock()
    second.join()

    assert Pause.objects.filter(scope="suspension").count() == 1
    assert AuditEntry.objects.filter(action=f"tenant.{word}").count() == 1
    assert reload(task).status == {"suspended": "PAUSED", "resumed": "SCHEDULED"}[word]


def test_a_suspension_that_begins_while_another_ends_holds_everything(
    alpha: Tenant, beside: Beside
):
    task = make_task(alpha, every_second())
    suspend(alpha)

    with transaction.atomic():
        resume(alpha)
        suspending = beside(lambda: suspend(alpha))
        assert suspending.waits_for_a_lock()
    suspending.join()

    [pausing] = Pause.objects.filter(scope="suspension", ended_at=None)
    assert (reload(task).status, reload(task).pause_id) == ("PAUSED", pausing.id)


def test_a_task_that_is_deleted_as_a_suspension_ends_does_not_come_back(
    alpha: Tenant, beside: Beside
):
    task = make_task(alpha)
    suspend(alpha)

    with transaction.atomic():
        delete(task)
        resuming = beside(lambda: resume(alpha))
        assert resuming.waits_for_a_lock()
    resuming.join()

    assert (reload(task).status, reload(task).pause_id) == ("CANCELLED", None)


def test_another_tenants_work_waits_for_no_suspension(alpha: Tenant, beside: Beside):
    other = Tenant.objects.create(name="Other")

    with transaction.atomic():
        suspend(alpha)
        assert beside(lambda: make_task(other)).join().status == "SCHEDULED"
