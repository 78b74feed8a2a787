"""A step may run another workflow."""

from __future__ import annotations

import pytest

from executions.changes.changing import delete_task
from executions.choices import Status
from executions.models import Execution, WorkflowRun
from tenants.models import Tenant
from tests.factories import ACTOR, make_tenant
from tests.support.child_runs import child_of, failures_of, runs
from tests.support.workflows import (
    begin_children,
    begin_run,
    calls,
    edit_workflow,
    go_on,
    make_workflow,
    payloads_of,
    states,
    status_of,
    work,
)
from workflows.control import Scope, cancel_run

pytestmark = pytest.mark.django_db


@pytest.fixture
def tenant() -> Tenant:
    return make_tenant()


def test_a_step_runs_a_workflow_and_has_the_outputs_of_its_last_steps(tenant: Tenant):
    child = make_workflow(tenant, [calls("first"), calls("last", "first")], name="Child")
    parent = make_workflow(
        tenant,
        [
            runs("inner", child, input={"day": "{{ input.day }}"}),
            calls("after", "inner", payload="{{ steps.inner.output.last }}"),
        ],
    )
    run = begin_run(parent, {"day": 5})
    begin_children()
    inner = child_of(run)

    assert states(run) == {"inner": "OPEN", "after": "PENDING"}
    work(inner, lambda key, item: ("SUCCEEDED", {"of": key}))
    go_on(run)
    work(run)

    assert status_of(inner) == "SUCCEEDED"
    assert payloads_of(run, 2) == [{"of": "last"}]
    assert status_of(run) == "SUCCEEDED"


def test_a_workflow_that_fails_fails_the_step_with_its_cause(tenant: Tenant):
    child = make_workflow(tenant, [calls("only")], name="Child")
    run = begin_run(make_workflow(tenant, [runs("inner", child)]))
    begin_children()

    work(child_of(run), lambda key, item: "FAILED")
    go_on(run)

    assert status_of(run) == "FAILED"
    assert failures_of(run) == ["http_status"]


def test_a_cancel_reaches_the_runs_within(tenant: Tenant):
    lowest = make_workflow(tenant, [calls("call")], name="Lowest")
    middle = make_workflow(tenant, [runs("inner", lowest)], name="Middle")
    run = begin_run(make_workflow(tenant, [runs("inner", middle)]))
    begin_children()
    begin_children()
    assert WorkflowRun.objects.count() == 3

    cancel_run(tenant.id, run, Scope(), actor=ACTOR)
    for _ in range(3):
        go_on(*WorkflowRun.objects.order_by("depth").values_list("id", flat=True))

    assert not WorkflowRun.objects.exists()
    found = Execution.objects.exclude(status=Status.CANCELLED).values_list("status", flat=True)
    assert list(found) == []


@pytest.mark.parametrize("depth", [10, 11])
def test_runs_stand_ten_deep_in_each_other(tenant: Tenant, depth: int):
    task = make_workflow(tenant, [calls("call")], name="Lowest")
    for _ in range(depth):
        task = make_workflow(tenant, [runs("inner", task)])
    begin_run(task)
    for _ in range(depth):
        begin_children()

    if depth == 10:
        assert set(WorkflowRun.objects.values_list("depth", flat=True)) == set(range(11))
        return
    for _ in range(depth):
        go_on(*WorkflowRun.objects.values_list("id", flat=True))
    failed = Execution.objects.filter(pool="workflow", status="FAILED")
    assert set(failed.values_list("error_code", flat=True)) == {"depth_exceeded"}
    assert not WorkflowRun.objects.exists()


def test_a_limited_workflow_that_would_wait_for_itself_fails(tenant: Tenant):
    limited = make_workflow(tenant, [calls("call")], name="Limited", max_concurrent=1)
    again = {"name": "Limited", "steps": [runs("inner", limited)], "max_concurrent": 1}
    edit_workflow(limited, again)
    run = begin_run(limited)

    assert failures_of(run) == ["would_wait_for_itself"]


def test_a_step_of_a_deleted_workflow_fails(tenant: Tenant):
    child = make_workflow(tenant, [calls("only")], name="Child")
    parent = make_workflow(tenant, [calls("first"), runs("inner", child, "first")])
    run = begin_run(parent)
    delete_task(tenant.id, child.id, actor=ACTOR)
    work(run)

    assert failures_of(run) == ["workflow_unknown"]


def test_a_fan_out_runs_a_workflow_for_each_item(tenant: Tenant):
    child = make_workflow(tenant, [calls("call", payload="{{ input }}")], name="Child")
    step = runs("inner", child, for_each=[1, 2, 3], input="{{ item }}")
    run = begin_run(make_workflow(tenant, [step]))
    begin_children()
    inner = list(WorkflowRun.objects.filter(parent_run=run).values_list("id", flat=True))

    for one in inner:
        work(one)
    go_on(run)

    assert len(inner) == 3
    assert sorted(payloads_of(one, 1)[0] for one in inner) == [1, 2, 3]
    assert status_of(run) == "SUCCEEDED"
