"""Limits of workflows hold for the runs that a fan-out begins, and for retries beside a schedule.

Faults 18 and 25 of the design.
"""

from __future__ import annotations

from collections import Counter
from datetime import datetime
from typing import Any
from uuid import UUID

import pytest

from executions.changes import changing
from executions.models import DeadLetter, Execution, WorkflowRun
from executions.triggering.triggers import run_task
from tasks.limits import current_limits
from tasks.models import Task
from tasks.validation.workflow import parse_workflow_patch
from tenants.models import Tenant
from tests.factories import ACTOR, make_tenant
from tests.support.workflow_steps import claim, end
from tests.support.workflows import (
    begin_children,
    begin_run,
    calls,
    go_on,
    make_workflow,
    status_of,
)
from workflows.retrying import Retry, retry_run

pytestmark = pytest.mark.django_db
POLICIES = ("skip", "queue_one", "queue_all", "cancel_running", "allow")
#: Retries, and runs of the schedule among them: enough for several of each to wait.
RUNS, SCHEDULED = 4, 2


@pytest.fixture
def tenant() -> Tenant:
    return make_tenant()


def takes_of(task: Task, **filters: Any) -> list[Execution]:
    return list(Execution.objects.filter(task_id=task.id, pool="workflow", **filters))


def end_open_runs(task: Task, status: str = "SUCCEEDED") -> list[UUID]:
    """End the only step of each run that has begun; return the runs."""
    runs, ended = open_runs(task), []
    for run_id in runs:
        for row in claim(run_id).values():
            end(row, status)
            ended.append(run_id)
    go_on(*runs)
    return ended


def open_runs(task: Task) -> list[UUID]:
    return list(WorkflowRun.objects.filter(task_id=task.id).values_list("id", flat=True))


def edit(task: Task, **parts: Any) -> None:
    def change(current: Any, now: datetime) -> Any:
        return parse_workflow_patch(parts, now=now, limits=current_limits(), current=current)

    changing.edit_task(task.tenant_id, task.id, change, actor=ACTOR)


def fire(task: Task) -> None:
    """Let an instant of the schedule come due: as run now, which waits at the gate as well."""
    made = run_task(task.tenant_id, task.id, None, actor=ACTOR)
    Execution.objects.filter(pk=made.id).update(trigger="schedule")


@pytest.mark.parametrize("policy", POLICIES)
def test_a_fan_out_begins_no_more_runs_of_a_limited_workflow_than_its_limit(
    tenant: Tenant, policy: str
):
    schedule = {"every": "PT1H", "overlap_policy": policy, "max_concurrent": 2}
    child = make_workflow(tenant, [calls("call")], name="Child", schedule=schedule)
    step = {
        "key": "inner",
        "kind": "workflow",
        "workflow_id": str(child.id),
        "for_each": list(range(7)),
        "max_parallel": 5,
    }
    run_id = begin_run(make_workflow(tenant, [step]))

    rounds = []
    while WorkflowRun.objects.filter(pk=run_id).exists():
        begin_children()
        rounds.append(len(takes_of(child, status="RUNNING")))
        assert len(takes_of(child, status__in=["PENDING", "RUNNING"])) <= 5
        end_open_runs(child)
        go_on(run_id)

    assert rounds == [2, 2, 2, 1]
    assert status_of(run_id) == "SUCCEEDED"
    assert [row.status for row in takes_of(child)] == ["SUCCEEDED"] * 7


@pytest.mark.parametrize("policy", POLICIES)
def test_many_retries_run_one_after_the_other_and_hold_up_no_scheduled_run(
    tenant: Tenant, policy: str
):
    task = make_workflow(tenant, [calls("a")], schedule={"every": "PT1H"})
    failed = [begin_run(task) for _ in range(RUNS)]
    end_open_runs(task, "FAILED")
    edit(task, schedule={"every": "PT1H", "overlap_policy": policy, "max_concurrent": 1})

    for run_id in failed:
        retry_run(tenant.id, run_id, Retry(), actor=ACTOR)
    scheduled = 0
    for round_ in range(4 * RUNS):
        if round_ % 3 == 0 and scheduled < SCHEDULED:
            fire(task)
            scheduled += 1
        begin_children()
        running = takes_of(task, status="RUNNING")
        assert len(running) <= 1
        if policy == "cancel_running" and round_ % 3 == 0:
            # The scheduled run comes with the next look, when the retry has ended.
            go_on(*open_runs(task))
            begin_children()
        end_open_runs(task, "FAILED" if round_ % 2 else "SUCCEEDED")

    assert not takes_of(task, status__in=["PENDING", "RUNNING"])
    own = takes_of(task, trigger="schedule")
    assert len(own) == SCHEDULED
    assert {row.status for row in own} <= {"SUCCEEDED", "FAILED"}, [row.reason for row in own]
    retries = takes_of(task, trigger="retry")
    assert len(retries) == RUNS
    if policy != "cancel_running":
        assert {row.status for row in retries} <= {"SUCCEEDED", "FAILED"}
    letters = Counter(DeadLetter.objects.values_list("execution_id", flat=True))
    assert letters == Counter(row.id for row in takes_of(task, status="FAILED"))
