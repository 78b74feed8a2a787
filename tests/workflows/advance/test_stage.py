"""Runs are advanced from step to step, until nothing of them is open."""

from __future__ import annotations

import pytest

from executions.models import DeadLetter, Execution, WorkflowRun
from tenants.models import Tenant
from tests.factories import make_tenant
from tests.support.workflows import (
    begin_run,
    calls,
    ends_of,
    make_workflow,
    payloads_of,
    states,
    status_of,
    work,
)

pytestmark = pytest.mark.django_db


@pytest.fixture
def tenant() -> Tenant:
    return make_tenant()


def test_a_chain_runs_step_by_step_and_its_run_succeeds(tenant: Tenant):
    task = make_workflow(tenant, [calls("a"), calls("b", "a"), calls("c", "b")])

    run = begin_run(task)
    assert states(run) == {"a": "OPEN", "b": "PENDING", "c": "PENDING"}
    done = work(run)

    assert done == ["a", "b", "c"]
    assert status_of(run) == "SUCCEEDED"
    assert [end.status for end in ends_of(run)] == ["SUCCEEDED"] * 3
    assert not WorkflowRun.objects.exists()
    assert not Execution.objects.filter(status__in=["PENDING", "QUEUED", "RUNNING"]).exists()


def test_a_join_starts_once_when_all_before_it_have_ended(tenant: Tenant):
    steps = [calls("a"), calls("b"), calls("c"), calls("join", "a", "b", "c")]
    run = begin_run(make_workflow(tenant, steps))

    done = work(run)

    assert sorted(done[:3]) == ["a", "b", "c"]
    assert done[3:] == ["join"]


def test_the_output_of_a_step_reaches_the_payloads_of_later_ones(tenant: Tenant):
    steps = [
        calls("load", payload={"day": "{{ input.day }}"}),
        calls(
            "report", "load", payload={"rows": "{{ steps.load.output.rows }}", "of": "{{ run.id }}"}
        ),
    ]
    run = begin_run(make_workflow(tenant, steps), {"day": "2026-11-29"})

    work(run, lambda key, item: ("SUCCEEDED", {"rows": [1, 2]}))

    assert payloads_of(run, 1) == [{"day": "2026-11-29"}]
    assert payloads_of(run, 2) == [{"rows": [1, 2], "of": str(run)}]


def test_a_failure_fails_the_run_with_its_cause_and_one_dead_letter(tenant: Tenant):
    task = make_workflow(tenant, [calls("a"), calls("b", "a"), calls("c")])
    run = begin_run(task)

    work(run, lambda key, item: "FAILED" if key == "a" else "SUCCEEDED")

    assert status_of(run) == "FAILED"
    assert states(run) == {"a": "FAILED", "b": "BLOCKED", "c": "SUCCEEDED"}
    [letter] = DeadLetter.objects.filter(task_id=task.id)
    assert (letter.execution_id, letter.error_code) == (run, "http_status")


def test_a_fan_out_runs_each_item_and_gives_their_outputs_in_order(tenant: Tenant):
    steps = [
        calls("list"),
        calls("load", "list", for_each="{{ steps.list.output }}", payload={"file": "{{ item }}"}),
        calls("sum", "load", payload="{{ steps.load.output.outputs }}"),
    ]
    run = begin_run(make_workflow(tenant, steps))

    done = work(
        run,
        lambda key, item: ("SUCCEEDED", ["x", "y", "z"] if key == "list" else f"{key}{item}"),
    )

    assert [done[0], *sorted(done[1:4]), done[4]] == [
        "list",
        "load[0]",
        "load[1]",
        "load[2]",
        "sum",
    ]
    assert payloads_of(run, 2) == [{"file": "x"}, {"file": "y"}, {"file": "z"}]
    assert payloads_of(run, 3) == [["load0", "load1", "load2"]]
    assert status_of(run) == "SUCCEEDED"
