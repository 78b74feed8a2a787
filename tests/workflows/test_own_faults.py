"""Faults of our own making, and those of others that an edit or a retry shows: each is a test.

The numbers are the design's.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any
from uuid import UUID

import pytest
from django.db import connection

from executions.changes import changing
from executions.complete.recording import record_in_batches
from executions.external import callbacks
from executions.external.callbacks import Failure
from executions.external.pools import change_pool
from executions.ledger.days import oldest_open
from executions.models import DeadLetter, EndedWorkflowRun, Execution, MinuteStat
from executions.ownership.partitions import Partitions
from executions.transitions import Finish
from shared.exceptions import Conflict
from tasks.limits import current_limits
from tasks.models import Task
from tasks.validation.workflow import parse_workflow_patch
from tenants.models import Tenant
from tests.executions.changes.changes import cancel, delete, pause
from tests.executions.leasing import POOL, let_expire, rescue, take_one
from tests.factories import ACTOR, make_tenant, reload
from tests.support.lost_workers import lose_worker
from tests.support.workflow_steps import (
    Held,
    claim,
    end,
    ended_run,
    open_keys,
    run_step,
    start_step,
    work_on,
)
from tests.support.workflows import (
    EVERYWHERE,
    begin_run,
    calls,
    go_on,
    make_workflow,
    states,
    status_of,
)
from workflows.begin import begin_due
from workflows.control import approve_step
from workflows.retrying import Retry, retry_run
from workflows.stages import fire, repair
from workflows.taking_back import take_back

pytestmark = pytest.mark.django_db
ONCE: dict[str, Any] = {"retry_policy": {"max_attempts": 1}}
DAILY = {"cron_expression": "0 8 * * *"}
#: The columns of an open step that nothing but its run, a worker and its recorder change.
KEPT = (
    "revision",
    "status",
    "held",
    "gated",
    "counted",
    "pool",
    "destination",
    "max_attempts",
    "timeout_seconds",
    "fencing_token",
    "cancel_requested_at",
)
OnCommit = Callable[..., Any]


@pytest.fixture
def tenant() -> Tenant:
    return make_tenant()


def edit(task: Task, **parts: Any) -> None:
    def change(current: Any, now: Any) -> Any:
        return parse_workflow_patch(parts, now=now, limits=current_limits(), current=current)

    changing.edit_task(task.tenant_id, task.id, change, actor=ACTOR)


def retry(tenant: Tenant, run_id: UUID) -> None:
    retry_run(tenant.id, run_id, Retry(), actor=ACTOR)
    begin_due(EVERYWHERE, 10)
    go_on(run_id)


# 16 and 21
@pytest.mark.parametrize(
    "change",
    [
        lambda task: edit(task, steps=[calls("b", **ONCE), calls("new", "b")], max_concurrent=1),
        pause,
        cancel,
        delete,
    ],
    ids=["edit", "pause", "cancel", "delete"],
)
def test_a_change_of_the_workflow_changes_no_step_of_an_open_run(
    tenant: Tenant, change: Callable[[Task], Any]
):
    steps = [
        calls("waits"),
        calls("queued"),
        calls("runs"),
        calls("last", "waits", "queued", "runs"),
    ]
    task = make_workflow(tenant, steps, schedule=DAILY)
    run_id = begin_run(task)
    rows = claim(run_id)
    start_step(rows["runs"])
    Execution.objects.filter(pk=rows["waits"].id).update(status="PENDING", lease_expires_at=None)
    of_run = Execution.objects.filter(run_id=run_id).order_by("id")
    before = list(of_run.values_list("id", *KEPT))

    change(reload(task))

    assert list(of_run.values_list("id", *KEPT)) == before
    for key in ("queued", "runs"):
        end(rows[key])
    go_on(run_id)
    assert work_on(run_id) == ["waits", "last"]
    assert status_of(run_id) == "SUCCEEDED"
    assert ended_run(run_id).version == 1


def test_a_limit_that_an_edit_gives_counts_runs_and_no_steps(tenant: Tenant):
    task = make_workflow(tenant, [calls("a"), calls("b", "a")], schedule=DAILY)
    run_id = begin_run(task)

    edit(reload(task), schedule={**DAILY, "max_concurrent": 1})
    run_step(run_id, "a")

    counted = Execution.objects.filter(task_id=task.id, counted=True)
    assert [row.id for row in counted] == [run_id]


# 17
def test_no_timer_of_an_ended_run_fires(tenant: Tenant):
    steps = [
        calls("a", deadline_seconds=60),
        {"key": "ask", "kind": "approval", "timeout_seconds": 60, "depends_on": ["a"]},
    ]
    run_id = begin_run(make_workflow(tenant, steps, deadline_seconds=60))
    run_step(run_id, "a")
    decide(tenant, run_id, 1)

    with connection.cursor() as cursor:
        cursor.execute("SELECT count(*) FROM workflow_waits")
        assert cursor.fetchone()[0] == 0
    assert fire(EVERYWHERE) == []
    assert status_of(run_id) == "SUCCEEDED"


def test_a_timer_that_was_told_when_its_run_ended_changes_nothing(tenant: Tenant):
    run_id = begin_run(make_workflow(tenant, [calls("a"), calls("b", "a")], deadline_seconds=60))
    with connection.cursor() as cursor:
        cursor.execute("UPDATE workflow_waits SET due_at = now()")
    end(claim(run_id)["a"], "FAILED")
    fire(EVERYWHERE)

    go_on(run_id)

    assert status_of(run_id) == "FAILED"
    assert ended_run(run_id).take == 1
    assert DeadLetter.objects.count() == 1
    retry(tenant, run_id)
    assert states(run_id) == {"a": "OPEN", "b": "PENDING"}


# 22
def _record(tenant: Tenant, run_id: UUID, patch: pytest.MonkeyPatch) -> None:
    row = claim(run_id)["a"]
    assert record_in_batches([_success(row)]).done == 1


def _success(row: Held) -> Finish:
    return Finish(row.id, row.token, row.attempt + 1, "SUCCEEDED", "SUCCEEDED")


def _rescue(tenant: Tenant, run_id: UUID, patch: pytest.MonkeyPatch) -> None:
    start_step(claim(run_id)["a"])
    assert lose_worker(patch) == 1


def _cancel(tenant: Tenant, run_id: UUID, patch: pytest.MonkeyPatch) -> None:
    take_back({run_id: {1}})


def _delete_and_record(tenant: Tenant, run_id: UUID, patch: pytest.MonkeyPatch) -> None:
    row = claim(run_id)["a"]
    delete(Task.objects.get(pk=Execution.objects.get(pk=run_id).task_id))
    assert record_in_batches([_success(row)]).done == 1


@pytest.mark.parametrize(
    ("how", "status"),
    [
        (_record, "SUCCEEDED"),
        (_rescue, "FAILED"),
        (_cancel, "CANCELLED"),
        (_delete_and_record, "SUCCEEDED"),
    ],
)
def test_however_a_step_ends_its_process_lets_the_run_go_on(
    tenant: Tenant,
    on_commit: OnCommit,
    monkeypatch: pytest.MonkeyPatch,
    how: Callable[..., None],
    status: str,
):
    steps = [calls("a", **ONCE), calls("b", "a", condition="all_done")]
    run_id = begin_run(make_workflow(tenant, steps))

    with on_commit(execute=True):
        how(tenant, run_id, monkeypatch)

    assert states(run_id) == {"a": status, "b": "OPEN"}


def pulled(tenant: Tenant) -> UUID:
    """Begin a run whose first step pull workers lease."""
    change_pool(tenant.id, POOL, {}, actor=ACTOR)
    target = {"kind": "pool", "pool": POOL, "handler": "make_invoice"}
    steps = [{"key": "a", "target": target, **ONCE}, calls("b", "a", condition="all_done")]
    return begin_run(make_workflow(tenant, steps))


def _complete(execution_id: UUID, token: int) -> None:
    callbacks.complete(execution_id, token, {"rows": 1})
    callbacks.complete(execution_id, token, {"rows": 1})


def _fail(execution_id: UUID, token: int) -> None:
    callbacks.fail(execution_id, token, Failure("no"))


def _fall_silent(execution_id: UUID, token: int) -> None:
    callbacks.heartbeat(execution_id, token)
    let_expire(execution_id)
    assert rescue() == 1


@pytest.mark.parametrize(
    ("how", "status"), [(_complete, "SUCCEEDED"), (_fail, "FAILED"), (_fall_silent, "FAILED")]
)
def test_however_a_holder_outside_ends_a_step_the_run_goes_on(
    tenant: Tenant, on_commit: OnCommit, how: Callable[..., None], status: str
):
    run_id = pulled(tenant)
    lease = take_one(tenant)

    with on_commit(execute=True):
        how(lease.execution_id, lease.fencing_token)

    assert states(run_id) == {"a": status, "b": "OPEN"}


def test_a_crash_after_the_end_and_before_the_advance_is_repaired(tenant: Tenant):
    run_id = begin_run(make_workflow(tenant, [calls("a"), calls("b", "a")]))
    end(claim(run_id)["a"])
    with connection.cursor() as cursor:
        cursor.execute("UPDATE workflow_inbox SET at = at - interval '2 seconds'")
    partitions = Partitions()
    partitions.run_once()

    repair(partitions)

    assert open_keys(run_id) == ["b"]


# 26, with signals: test_signals.py; 27
def test_an_approval_of_an_earlier_take_decides_nothing(tenant: Tenant):
    steps = [
        {"key": "ask", "kind": "approval", "timeout_seconds": 60},
        calls("b", "ask"),
    ]
    run_id = begin_run(make_workflow(tenant, steps))
    decide(tenant, run_id, 1, approved=False)
    retry(tenant, run_id)
    assert states(run_id) == {"ask": "OPEN", "b": "PENDING"}

    with pytest.raises(Conflict):
        decide(tenant, run_id, 1)
    decide(tenant, run_id, 2)

    assert open_keys(run_id) == ["b"]


def test_the_day_of_a_run_stays_while_a_later_take_is_open(tenant: Tenant):
    run_id = begin_run(make_workflow(tenant, [calls("a")]))
    run_step(run_id, "a", "FAILED")
    assert oldest_open() is None
    retry(tenant, run_id)

    assert oldest_open() == run_id
    run_step(run_id, "a")
    assert oldest_open() is None


# 30, with a thousand items: test_told_figures.py
def test_failures_that_the_policy_tolerates_are_none(tenant: Tenant):
    steps = [calls("load", for_each="{{ input }}", min_success_share=0.5, max_parallel=50, **ONCE)]
    task = make_workflow(tenant, steps, schedule=DAILY)
    run_id = begin_run(task, list(range(40)))

    work_on(run_id, lambda key, item: "FAILED" if item % 4 == 0 else "SUCCEEDED")

    assert status_of(run_id) == "SUCCEEDED"
    found = reload(task)
    assert (found.failure_streak, found.last_execution_status) == (0, "SUCCEEDED")
    assert found.last_execution_id == run_id
    assert not DeadLetter.objects.exists()
    minutes = list(MinuteStat.objects.filter(tenant_id=tenant.id))
    assert sum(row.succeeded + row.failed for row in minutes) == 40


def test_a_run_that_fails_fast_has_one_letter_with_the_cause_of_its_item(tenant: Tenant):
    steps = [calls("load", for_each="{{ input }}", max_parallel=5, **ONCE)]
    task = make_workflow(tenant, steps, schedule=DAILY)
    run_id = begin_run(task, list(range(40)))

    end(claim(run_id)["load[3]"], "FAILED", error_code="timeout", error_message="Too slow.")
    go_on(run_id)

    [letter] = DeadLetter.objects.all()
    assert (letter.execution_id, letter.error_code) == (run_id, "timeout")
    assert reload(task).failure_streak == 1
    assert Execution.objects.filter(run_id=run_id).count() == 5
    assert EndedWorkflowRun.objects.get(pk=run_id).status == "FAILED"


def decide(tenant: Tenant, run_id: UUID, take: int, *, approved: bool = True) -> None:
    approve_step(tenant.id, run_id, "ask", approved=approved, take=take, note="", actor=ACTOR)
