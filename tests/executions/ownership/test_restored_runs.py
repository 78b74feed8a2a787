"""What becomes of open runs of workflows when a restore is confirmed.

Fault 28 of the design; operations/backup/test_restore.py restores a dump with open runs.
"""

from __future__ import annotations

from datetime import timedelta
from typing import Any
from uuid import UUID

import pytest
from django.db import connection

from executions.choices import COMPENSATION
from executions.models import DeadLetter, Execution, WorkflowRun
from executions.ownership import fence, restored
from executions.ownership.restored import CANCEL, CONTINUE, PAUSE
from insight.presentation.workflow_runs import present_run
from tenants.models import Tenant
from tests.factories import ACTOR, make_tenant
from tests.support.workflow_steps import Held, claim, run_step, start_step, work_on
from tests.support.workflows import (
    EVERYWHERE,
    begin_run,
    calls,
    go_on,
    make_workflow,
    pass_time,
    states,
    status_of,
    work,
)
from workflows.control import approve_step, resume_run
from workflows.pausing import settle_pause, settle_pauses_in
from workflows.taking_back import take_back

pytestmark = pytest.mark.django_db


@pytest.fixture
def tenant() -> Tenant:
    return make_tenant()


def fenced(tenant: Tenant) -> UUID:
    """Return a run that was open when an installation was restored from an hour ago."""
    step: dict[str, Any] = {"key": "wait", "kind": "delay", "delay_seconds": 60}
    run = begin_run(make_workflow(tenant, [calls("a"), step, calls("b", "a")]))
    hold_since_an_hour()
    return run


def test_open_runs_are_counted_apart(tenant: Tenant):
    fenced(tenant)

    seen = restored.preview()

    assert (seen.runs, seen.running) == (1, 0)


def test_runs_stay_paused_until_a_person_resumes_them(tenant: Tenant):
    run = fenced(tenant)

    restored.confirm(restored.preview(), actor=ACTOR)
    assert work(run) == []

    row = WorkflowRun.objects.get(pk=run)
    assert (row.phase, row.reason) == ("paused", "restored")
    assert present_run(tenant.id, run)["reason"] == "restored"
    assert states(run) == {"a": "OPEN", "wait": "OPEN", "b": "PENDING"}
    resume_run(tenant.id, run, actor=ACTOR)
    settle_pause(tenant.id, run)
    assert WorkflowRun.objects.get(pk=run).reason == ""
    assert work(run) == ["a", "b"]


def test_a_step_that_was_released_is_taken_back_too(tenant: Tenant):
    run = fenced(tenant)
    claim(run)

    restored.confirm(restored.preview(), actor=ACTOR)
    settle_pauses_in(EVERYWHERE)

    assert Execution.objects.filter(run_id=run, held=True, status="PENDING").count() == 1


def test_runs_go_on_where_that_is_asked(tenant: Tenant):
    run = fenced(tenant)

    restored.confirm(restored.preview(), actor=ACTOR, runs=CONTINUE)
    work(run)

    assert states(run)["b"] == "SUCCEEDED"


def test_runs_are_cancelled_where_that_is_asked(tenant: Tenant):
    run = fenced(tenant)

    restored.confirm(restored.preview(), actor=ACTOR, runs=CANCEL)
    go_on(run)

    assert status_of(run) == "CANCELLED"


@pytest.mark.parametrize("runs", [PAUSE, CONTINUE])
def test_deadlines_and_delays_move_by_the_time_that_was_lost(tenant: Tenant, runs: str):
    run = fenced(tenant)
    before = WorkflowRun.objects.get(pk=run).deadline_at

    restored.confirm(restored.preview(), actor=ACTOR, runs=runs)

    moved = WorkflowRun.objects.get(pk=run).deadline_at - before
    assert timedelta(hours=1) <= moved < timedelta(hours=2)
    with connection.cursor() as cursor:
        cursor.execute("SELECT min(due_at - began_at) FROM workflow_waits WHERE kind = 'delay'")
        assert cursor.fetchone()[0] >= timedelta(hours=1)


@pytest.mark.parametrize("runs", [PAUSE, CONTINUE, CANCEL])
def test_the_restore_itself_compensates_and_fails_nothing(tenant: Tenant, runs: str):
    undo = {"compensate": {"target": {"url": "https://api.example.com/undo"}}}
    steps: list[dict[str, Any]] = [
        calls("made", **undo),
        calls("flies", "made"),
        {"key": "ask", "kind": "approval", "timeout_seconds": 60, "depends_on": ["made"]},
        {"key": "wait", "kind": "delay", "delay_seconds": 60, "depends_on": ["made"]},
        calls("last", "ask", "wait"),
    ]
    task = make_workflow(tenant, steps, on_failure="compensate", deadline_seconds=120)
    run = begin_run(task)
    run_step(run, "made")
    flying = claim(run)["flies"]
    # An hour ago: all its times have passed since.
    hold_since_an_hour()
    with connection.cursor() as cursor:
        cursor.execute("UPDATE workflow_waits SET due_at = due_at - interval '1 hour'")
        cursor.execute("UPDATE workflow_runs SET deadline_at = deadline_at - interval '1 hour'")

    restored.confirm(restored.preview(), actor=ACTOR, runs=runs)
    settle_pauses_in(EVERYWHERE)
    pass_time()
    go_on(run)

    if runs == CANCEL:
        assert states(run)["last"] == "CANCELLED"
        assert status_of(run) == "CANCELLED"
        return
    assert status_of(run) == "RUNNING"
    # The step in flight may end; what was approved after the dump is approved again.
    assert states(run) == {
        "made": "SUCCEEDED",
        "flies": "OPEN",
        "ask": "OPEN",
        "wait": "OPEN",
        "last": "PENDING",
    }
    take_anew(flying)
    approve_step(tenant.id, run, "ask", approved=True, take=1, note="", actor=ACTOR)
    if runs == PAUSE:
        resume_run(tenant.id, run, actor=ACTOR)
        settle_pauses_in(EVERYWHERE)
    with connection.cursor() as cursor:
        cursor.execute("UPDATE workflow_waits SET due_at = now() WHERE kind = 'delay'")
    pass_time()
    assert work_on(run) == ["flies", "last"]
    assert status_of(run) == "SUCCEEDED"
    assert not DeadLetter.objects.exists()


def take_anew(flying: Held) -> None:
    """Take back what a worker of before the restore had, as rescue does."""
    open_ = Execution.objects.filter(pk=flying.id, status="QUEUED")
    open_.update(status="PENDING", lease_expires_at=None)


@pytest.mark.parametrize(
    ("runs", "state"),
    [(PAUSE, "COMPENSATED"), (CONTINUE, "COMPENSATED"), (CANCEL, "NOT_COMPENSATED")],
)
def test_a_compensation_half_done_goes_on_from_where_it_was_or_is_cancelled(
    tenant: Tenant, runs: str, state: str
):
    undo = {"compensate": {"target": {"url": "https://api.example.com/undo"}}}
    steps = [calls("a", **undo), calls("b", "a", **undo), calls("c", "b")]
    run = begin_run(make_workflow(tenant, steps, on_failure="compensate"))
    for key in ("a", "b"):
        run_step(run, key)
    run_step(run, "c", "FAILED")
    assert WorkflowRun.objects.get(pk=run).phase == "compensating"
    run_step(run, "b")
    assert states(run) == {"a": "COMPENSATING", "b": "COMPENSATED", "c": "FAILED"}
    hold_since_an_hour()

    restored.confirm(restored.preview(), actor=ACTOR, runs=runs)
    go_on(run)
    if runs == PAUSE:
        settle_pauses_in(EVERYWHERE)
        assert work(run) == []
        assert states(run)["a"] == "COMPENSATING"
        resume_run(tenant.id, run, actor=ACTOR)
        settle_pauses_in(EVERYWHERE)
    work(run)

    assert states(run) == {"a": state, "b": "COMPENSATED", "c": "FAILED"}
    assert status_of(run) == "FAILED"
    undone = Execution.objects.filter(run_id=run, item=COMPENSATION, status="SUCCEEDED")
    assert undone.count() == (1 if runs == CANCEL else 2)


@pytest.mark.parametrize("on_failure", ["fail_fast", "compensate"])
def test_a_run_that_has_failed_is_paused_with_its_branch_for_failures(
    tenant: Tenant, on_failure: str
):
    steps = [calls("a"), calls("tell", "a", condition="one_failed"), calls("other")]
    run = begin_run(make_workflow(tenant, steps, on_failure=on_failure))
    run_step(run, "a", "FAILED")
    assert WorkflowRun.objects.get(pk=run).phase == "failing"
    hold_since_an_hour()

    restored.confirm(restored.preview(), actor=ACTOR)
    settle_pauses_in(EVERYWHERE)
    assert (work(run), WorkflowRun.objects.get(pk=run).phase) == ([], "paused")

    resume_run(tenant.id, run, actor=ACTOR)
    settle_pauses_in(EVERYWHERE)
    assert work(run) == ["tell"]
    assert status_of(run) == "FAILED"


def test_a_run_past_its_deadline_is_undone_after_the_resume_and_has_failed(tenant: Tenant):
    undo = {"compensate": {"target": {"url": "https://api.example.com/undo"}}}
    steps = [calls("a", **undo), calls("b", "a")]
    run = begin_run(make_workflow(tenant, steps, on_failure="compensate", deadline_seconds=60))
    run_step(run, "a")
    start_step(claim(run)["b"])
    with connection.cursor() as cursor:
        cursor.execute("UPDATE workflow_waits SET due_at = now() - interval '1 second'")
    pass_time()
    assert WorkflowRun.objects.get(pk=run).phase == "cancelling"
    hold_since_an_hour()

    restored.confirm(restored.preview(), actor=ACTOR)
    settle_pauses_in(EVERYWHERE)
    Execution.objects.filter(run_id=run, step=2).update(status="PENDING", lease_expires_at=None)
    assert work(run) == []

    resume_run(tenant.id, run, actor=ACTOR)
    settle_pauses_in(EVERYWHERE)
    take_back({run: [2]})
    go_on(run)
    assert work(run) == ["a"]
    assert states(run) == {"a": "COMPENSATED", "b": "CANCELLED"}
    assert status_of(run) == "FAILED"


def hold_since_an_hour() -> None:
    with connection.cursor() as cursor:
        fence.hold(cursor)
        cursor.execute("UPDATE partition_leases SET expires_at = expires_at - interval '1 hour'")
