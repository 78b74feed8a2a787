"""A run that a step of a paused run has asked for begins when that run is resumed."""

from __future__ import annotations

from typing import Any
from uuid import UUID

import pytest
from django.db import connection

from executions.changes import changing
from executions.models import Execution, WorkflowRun
from executions.ownership import fence, restored
from executions.triggering.triggers import run_task
from tasks.models import Task, TaskBudget
from tasks.transitions import Pause
from tenants.models import Tenant
from tenants.services.tenants import resume_tenant, suspend_tenant
from tests.factories import ACTOR, make_tenant
from tests.support.child_runs import runs
from tests.support.workflow_steps import claim, end, start_step
from tests.support.workflows import (
    admit,
    begin_children,
    begin_run,
    calls,
    edit_workflow,
    go_on,
    make_workflow,
    status_of,
    work,
)
from workflows.control import Scope, cancel_run, pause_run, resume_run

pytestmark = pytest.mark.django_db
ONE_AT_A_TIME: dict[str, Any] = {"max_concurrent": 1}


@pytest.fixture
def tenant() -> Tenant:
    return make_tenant()


def asked(tenant: Tenant, **parts: Any) -> tuple[UUID, Task]:
    """Return a run whose step has asked for another, and the workflow of that one."""
    child = make_workflow(tenant, [calls("a")], name="Child", **parts)
    return begin_run(make_workflow(tenant, [runs("inner", child)])), child


def seen(run_id: UUID) -> tuple[str, bool, bool, str]:
    row = Execution.objects.get(run_id=run_id, step=1)
    return row.status, row.held, row.gated, row.reason


def children() -> list[WorkflowRun]:
    return list(WorkflowRun.objects.exclude(parent_run=None))


def pause(tenant: Tenant, run_id: UUID, on_commit: Any) -> None:
    with on_commit(execute=True):
        pause_run(tenant.id, run_id, actor=ACTOR)


def resume(tenant: Tenant, run_id: UUID, on_commit: Any) -> None:
    with on_commit(execute=True):
        resume_run(tenant.id, run_id, actor=ACTOR)


@pytest.mark.parametrize("limit", [{}, ONE_AT_A_TIME])
def test_a_child_that_has_not_begun_waits_for_the_resume(
    tenant: Tenant, on_commit: Any, limit: dict[str, Any]
):
    run_id, _ = asked(tenant, **limit)

    pause(tenant, run_id, on_commit)
    begin_children()
    assert (children(), seen(run_id)) == ([], ("PENDING", True, False, "run_paused"))

    resume(tenant, run_id, on_commit)
    assert seen(run_id) == ("PENDING", bool(limit), bool(limit), "")
    begin_children()
    [child] = children()
    work(child.id)
    go_on(run_id)
    assert status_of(run_id) == "SUCCEEDED"


def test_a_child_that_has_begun_goes_on(tenant: Tenant, on_commit: Any):
    run_id, _ = asked(tenant)
    begin_children()

    pause(tenant, run_id, on_commit)

    [child] = children()
    assert work(child.id) == ["a"]
    assert status_of(child.id) == "SUCCEEDED"


def test_a_waiting_child_takes_no_place_of_its_workflow(tenant: Tenant, on_commit: Any):
    run_id, child = asked(tenant, **ONE_AT_A_TIME)

    pause(tenant, run_id, on_commit)
    other = begin_run(child)

    assert work(other) == ["a"]
    assert status_of(other) == "SUCCEEDED"


def test_the_place_of_a_child_that_was_admitted_is_given_back(tenant: Tenant, on_commit: Any):
    run_id, child = asked(tenant, **ONE_AT_A_TIME)
    Execution.objects.filter(run_id=run_id, step=1).update(gated=False, held=False, counted=True)

    pause(tenant, run_id, on_commit)

    assert work(begin_run(child)) == ["a"]
    resume(tenant, run_id, on_commit)
    assert seen(run_id) == ("PENDING", True, True, "")


def test_an_edit_that_gives_a_limit_gives_no_place_to_a_child_that_waits(
    tenant: Tenant, on_commit: Any
):
    run_id, child = asked(tenant)
    pause(tenant, run_id, on_commit)

    edit_workflow(child, {"name": "Child", "steps": [calls("a")], **ONE_AT_A_TIME})

    assert not Execution.objects.get(run_id=run_id, step=1).counted
    resume(tenant, run_id, on_commit)
    assert seen(run_id) == ("PENDING", True, True, "")


def test_a_resume_of_its_workflow_frees_no_child_of_a_paused_run(tenant: Tenant, on_commit: Any):
    run_id, child = asked(tenant)
    pause(tenant, run_id, on_commit)

    changing.pause_task(tenant.id, child.id, Pause(), actor=ACTOR)
    changing.resume_task(tenant.id, child.id, actor=ACTOR)

    assert seen(run_id) == ("PENDING", True, False, "run_paused")


def test_a_child_of_a_paused_workflow_stays_on_hold_after_the_resume(
    tenant: Tenant, on_commit: Any
):
    run_id, child = asked(tenant)
    pause(tenant, run_id, on_commit)
    changing.pause_task(tenant.id, child.id, Pause(), actor=ACTOR)

    resume(tenant, run_id, on_commit)

    assert seen(run_id) == ("PENDING", True, False, "")
    changing.resume_task(tenant.id, child.id, actor=ACTOR)
    assert seen(run_id) == ("PENDING", False, False, "")


def test_a_suspension_holds_a_child_that_its_run_frees(tenant: Tenant, on_commit: Any):
    run_id, _ = asked(tenant, **ONE_AT_A_TIME)
    pause(tenant, run_id, on_commit)
    suspend_tenant(tenant.id, actor=ACTOR)

    resume(tenant, run_id, on_commit)
    begin_children()
    assert (children(), seen(run_id)[:2]) == ([], ("PENDING", True))

    resume_tenant(tenant.id, actor=ACTOR)
    assert seen(run_id) == ("PENDING", True, True, "")
    begin_children()
    assert len(children()) == 1


def test_a_cancel_of_the_run_ends_a_child_that_waits(tenant: Tenant, on_commit: Any):
    run_id, _ = asked(tenant)
    pause(tenant, run_id, on_commit)

    with on_commit(execute=True):
        cancel_run(tenant.id, run_id, Scope(), actor=ACTOR)
    go_on(run_id)

    assert status_of(run_id) == "CANCELLED"
    assert seen(run_id)[0] == "CANCELLED"


def test_a_restore_that_pauses_runs_holds_their_children(tenant: Tenant, on_commit: Any):
    run_id, _ = asked(tenant)
    with connection.cursor() as cursor:
        fence.hold(cursor)

    restored.confirm(restored.preview(), actor=ACTOR)
    begin_children()

    assert (children(), seen(run_id)) == ([], ("PENDING", True, False, "run_paused"))
    resume(tenant, run_id, on_commit)
    assert seen(run_id) == ("PENDING", False, False, "")
    begin_children()
    assert len(children()) == 1


@pytest.mark.parametrize("limit", [{}, ONE_AT_A_TIME])
@pytest.mark.parametrize("status", ["SCHEDULED", "COMPLETED"])
def test_a_child_that_is_asked_for_in_a_suspension_waits_for_its_end(
    tenant: Tenant, limit: dict[str, Any], status: str
):
    child = make_workflow(tenant, [calls("a")], name="Child", **limit)
    run_id = begin_run(make_workflow(tenant, [calls("first"), runs("inner", child, "first")]))
    Task.objects.filter(pk=child.id).update(status=status)
    row = claim(run_id)["first"]
    start_step(row)
    suspend_tenant(tenant.id, actor=ACTOR)
    end(row)
    go_on(run_id)
    begin_children()
    assert children() == []

    resume_tenant(tenant.id, actor=ACTOR)

    found = Execution.objects.get(run_id=run_id, step=2)
    assert (found.held, found.gated, found.reason) == (bool(limit), bool(limit), "")
    begin_children()
    assert len(children()) == 1


def test_a_child_that_is_let_through_again_counts_once_in_its_budget(
    tenant: Tenant, on_commit: Any
):
    run_id, child = asked(tenant, budget=[{"unit": "runs", "limit": 10}])
    admit()
    assert used(child) == 1

    pause(tenant, run_id, on_commit)
    assert used(child) == 0
    resume(tenant, run_id, on_commit)
    begin_children()

    assert len(children()) == 1
    assert used(child) == 1


def test_a_child_that_waited_for_the_gate_gives_nothing_back(tenant: Tenant, on_commit: Any):
    run_id, child = asked(tenant, budget=[{"unit": "runs", "limit": 10}])
    run_task(tenant.id, child.id, None, actor=ACTOR)

    pause(tenant, run_id, on_commit)

    assert used(child) == 1


def used(task: Task) -> int:
    return int(TaskBudget.objects.get(task_id=task.id).used)
