"""The suspension of a tenant: nothing of it starts, what runs ends, another is spared."""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime, timedelta

import pytest

from events.models import AuditEntry
from executions.changes import ending_pauses as resuming
from executions.changes.pauses import end_pause, get_pause, list_pauses
from executions.dead_letters import letters
from executions.external import callbacks
from executions.loop.clocks import database_now
from executions.models import Execution
from executions.ownership.partitions import Partitions
from executions.triggering import triggers
from shared.actor import COMMAND
from shared.exceptions import Conflict, NotFound
from tasks.models import Pause, Task
from tenants.models import Tenant
from tenants.suspension import TenantSuspended
from tests.executions.changes.changes import pause
from tests.executions.changes.standing import end, stand
from tests.executions.leasing import accepted, call, take, take_one, work
from tests.factories import (
    ACTOR,
    every_second,
    executions_of,
    finish,
    make_dead_letter,
    make_task,
    once,
    pass_guard,
    prepare,
    release,
    reload,
    start,
)
from tests.support.suspending import resume, suspend


def waits(tenant: Tenant) -> set[tuple[str, bool]]:
    """Return the states of the tenant's unfinished work, each with whether it is on hold."""
    found = Execution.objects.for_tenant(tenant.id).filter(finished_at=None)
    return set(found.values_list("status", "held"))


# --- what is there -------------------------------------------------------------------------


def test_nothing_of_a_suspended_tenant_is_planned_or_released_and_another_tenants_work_goes_on(
    alpha: Tenant, beta: Tenant
):
    mine = [make_task(alpha, every_second()), make_task(alpha, once()), make_task(alpha)]
    theirs = make_task(beta, every_second())
    prepare()

    suspend(alpha)
    prepare()

    assert {reload(task).status for task in mine} == {"PAUSED"}
    assert waits(alpha) == {("PENDING", True)}
    assert {row.tenant_id for row in release()} == {beta.id}
    assert reload(theirs).status == "SCHEDULED"


def test_what_was_released_never_starts_and_what_runs_ends_and_is_recorded(alpha: Tenant):
    waiting, begun = make_task(alpha, once()), make_task(alpha, once())
    prepare()
    handed = release()
    [mine] = [row for row in handed if row.task_id == begun.id]
    [other] = [row for row in handed if row.task_id == waiting.id]
    start([mine])

    suspend(alpha)

    assert pass_guard([other]) == [0]
    assert [(row.status, row.attempt) for row in executions_of(waiting)] == [("PENDING", 0)]
    finish(mine)
    assert [(row.status, row.reason) for row in executions_of(begun)] == [("SUCCEEDED", "")]
    assert release() == []


def test_a_retry_of_what_was_running_waits_for_the_tenant(alpha: Tenant):
    task = make_task(alpha, once())
    prepare()
    [row] = release()
    start([row])
    suspend(alpha)

    finish(row, "RETRYING", retry_in=0.0)

    assert release() == []
    resume(alpha)
    assert [row.task_id for row in release()] == [task.id]


def run_by_hand_of_a_paused_task(tenant: Tenant) -> Task:
    task = make_task(tenant)
    pause(task)
    triggers.run_task(tenant.id, task.id, None, actor=ACTOR)
    return task


def retry_of_an_ended_task(tenant: Tenant) -> Task:
    letter = make_dead_letter(tenant)
    letters.retry_dead_letter(tenant.id, letter.id, None, actor=ACTOR)
    return Task.objects.get(pk=letter.task_id)


def work_that_waits_for_its_destination(tenant: Tenant) -> Task:
    task = run_by_hand_of_a_paused_task(tenant)
    Execution.objects.filter(task_id=task.id).update(parked=True, reason="destination_rate")
    return task


OTHER_WORK = [
    run_by_hand_of_a_paused_task,
    retry_of_an_ended_task,
    work_that_waits_for_its_destination,
]


@pytest.mark.parametrize("make", OTHER_WORK)
def test_work_that_no_pause_holds_waits_for_the_tenant_too(
    alpha: Tenant, make: Callable[[Tenant], Task]
):
    task = make(alpha)

    suspend(alpha)

    assert release() == []
    [row] = executions_of(task, "PENDING")
    assert (row.held, row.parked, row.reason) == (True, False, "tenant_suspended")
    resume(alpha)
    [row] = executions_of(task, "PENDING")
    assert (row.held, row.reason) == (False, "")
    assert [row.task_id for row in release()] == [task.id]


@pytest.mark.parametrize("status", ["QUEUED", "RUNNING"])
def test_a_released_run_by_hand_is_taken_back_and_a_running_ones_retry_waits(
    alpha: Tenant, status: str
):
    task = run_by_hand_of_a_paused_task(alpha)
    [row] = release()
    if status == "RUNNING":
        start([row])

    suspend(alpha)

    if status == "RUNNING":
        finish(row, "RETRYING", retry_in=0.0)
    else:
        assert pass_guard([row]) == [0]
    [held] = executions_of(task)
    assert (held.held, held.reason) == (True, "tenant_suspended")
    assert release() == []
    resume(alpha)
    assert [row.task_id for row in release()] == [task.id]


def test_a_running_run_by_hand_that_ends_does_not_name_the_suspension(alpha: Tenant):
    task = run_by_hand_of_a_paused_task(alpha)
    [row] = release()
    start([row])
    suspend(alpha)

    finish(row)

    assert [(row.status, row.reason) for row in executions_of(task)] == [("SUCCEEDED", "")]


def test_a_task_that_was_paused_by_itself_stays_so_with_what_it_holds(alpha: Tenant):
    task = make_task(alpha, once())
    prepare()
    pause(task, note="mine", on_resume="replay")

    suspend(alpha)
    resume(alpha)

    held = reload(task)
    assert (held.status, held.pause_note, held.on_resume) == ("PAUSED", "mine", "replay")
    assert release() == []


# --- leases and callbacks ------------------------------------------------------------------


def test_a_worker_outside_leases_nothing_of_a_suspended_tenant(alpha: Tenant, beta: Tenant):
    work(alpha, 2)
    work(beta)

    suspend(alpha)

    assert take(alpha) == []
    assert len(take(beta)) == 1
    resume(alpha)
    assert len(take(alpha)) == 2


def test_an_execution_token_ends_its_attempt_and_is_refused_afterwards(alpha: Tenant):
    work(alpha)
    lease = take_one(alpha)
    suspend(alpha)

    assert call(lease.execution_id, "heartbeat", lease.token).status_code == 200
    assert call(lease.execution_id, "complete", lease.token).status_code == 200

    for verb, body in [("complete", {}), ("heartbeat", {}), ("fail", {"error": "no"})]:
        answer = call(lease.execution_id, verb, lease.token, body)
        assert (answer.status_code, answer.json()["code"]) == (403, "tenant_suspended")


def test_a_failure_that_is_called_back_is_recorded_and_its_retry_waits(alpha: Tenant):
    execution, token = accepted(alpha)
    suspend(alpha)

    answer = call(execution.id, "fail", token, {"error": "broken"})

    assert (answer.status_code, answer.json()["status"]) == (200, "RETRYING")
    assert waits(alpha) == {("RETRYING", True)}


def test_a_token_of_work_that_was_taken_back_is_refused_with_the_reason(alpha: Tenant):
    task = make_task(alpha, once(target={"url": "https://a.example", "completion": "callback"}))
    prepare()
    [row] = release()
    suspend(alpha)

    with pytest.raises(TenantSuspended):
        callbacks.heartbeat(row.id, row.token)
    with pytest.raises(TenantSuspended):
        callbacks.complete(row.id, row.token)
    assert [row.status for row in executions_of(task)] == ["PENDING"]


def test_a_stale_token_of_an_active_tenant_is_stale(alpha: Tenant, beta: Tenant):
    suspend(beta)
    work(alpha)
    lease = take_one(alpha)

    with pytest.raises(Conflict, match="lease is over"):
        callbacks.heartbeat(lease.execution_id, lease.fencing_token + 1)


# --- the suspension and pauses -------------------------------------------------------------


def test_the_tenants_own_doors_neither_see_nor_end_a_suspension(alpha: Tenant, beta: Tenant):
    task = make_task(alpha)
    suspend(alpha)
    [pausing] = Pause.objects.filter(scope="suspension")

    assert not list_pauses(alpha.id).exists()
    for tenant in (alpha, beta):
        with pytest.raises(NotFound):
            get_pause(tenant.id, pausing.id)
        with pytest.raises(NotFound):
            end_pause(tenant.id, pausing.id, actor=ACTOR)
    assert reload(task).status == "PAUSED"


def test_a_standing_pause_that_ends_during_a_suspension_leaves_its_tasks_to_it(alpha: Tenant):
    task = make_task(alpha)
    standing = stand(alpha, on_resume="replay")
    suspend(alpha)

    end(standing)

    assert (reload(task).status, reload(task).on_resume) == ("PAUSED", "misfire")
    resume(alpha)
    assert reload(task).status == "SCHEDULED"


def test_a_pause_of_a_task_that_is_over_during_a_suspension_leaves_it_to_that(alpha: Tenant):
    task = make_task(alpha)
    pause(task, until=database_now() + timedelta(hours=1))
    suspend(alpha)
    Task.objects.filter(pk=task.pk).update(paused_until=database_now() - timedelta(seconds=1))
    partitions = Partitions()
    partitions.run_once()

    resuming.run_once(partitions)

    assert (reload(task).status, reload(task).on_resume) == ("PAUSED", "misfire")
    partitions.release_all()


def test_a_standing_pause_outlasts_the_suspension(alpha: Tenant):
    task = make_task(alpha)
    suspend(alpha)
    standing = stand(alpha, "tenant", "", note="Move.")

    resume(alpha)

    assert (reload(task).status, reload(task).pause_id) == ("PAUSED", standing.id)


# --- twice, and again ----------------------------------------------------------------------


def test_suspending_and_resuming_twice_is_once_and_audited_once(alpha: Tenant):
    task = make_task(alpha)
    for _ in range(2):
        suspend(alpha)
    assert Pause.objects.filter(scope="suspension").count() == 1
    for _ in range(2):
        resume(alpha)

    assert reload(task).status == "SCHEDULED"
    found = AuditEntry.objects.filter(action__startswith="tenant.", tenant_id=alpha.id)
    assert list(found.order_by("sequence").values_list("action", "actor"))[-2:] == [
        ("tenant.suspended", COMMAND.name),
        ("tenant.resumed", COMMAND.name),
    ]
    suspend(alpha)
    assert reload(task).status == "PAUSED"


def test_suspending_again_holds_what_a_suspension_of_an_older_version_does_not(alpha: Tenant):
    task = make_task(alpha, every_second())
    prepare()
    Tenant.objects.filter(pk=alpha.pk).update(suspended_at=datetime(2026, 1, 1, tzinfo=UTC))

    suspend(alpha)

    assert reload(task).status == "PAUSED"
    assert release() == []
