"""An advance reads locked runs, what has happened to them, and what they wait for."""

from __future__ import annotations

from dataclasses import replace
from uuid import UUID

import pytest

from executions.loop.clocks import database_now
from shared.ids import new_id
from tenants.models import Tenant
from tests.factories import make_tenant
from tests.support.workflow_steps import claim, end, run_step
from tests.support.workflows import begin_run, calls, go_on, make_workflow
from workflows.advance import reading
from workflows.advance.records import RunRow, Told
from workflows.plan import Plan, plan_of
from workflows.sealed import open_output

pytestmark = pytest.mark.django_db
FAN = [
    calls("list"),
    calls("load", "list", for_each="{{ steps.list.output }}", max_parallel=2),
    calls("sum", "load", payload="{{ steps.load.output.outputs }}"),
]


@pytest.fixture
def tenant() -> Tenant:
    return make_tenant()


def locked(*run_ids: UUID) -> tuple[list[RunRow], dict[UUID, Plan]]:
    found = reading.lock(run_ids)
    return found, {row.id: plan_of(row.task_id, row.version) for row in found}


def test_runs_are_locked_in_order_and_those_that_are_gone_are_left_out(tenant: Tenant):
    task = make_workflow(tenant, [calls("a")])
    runs = [begin_run(task) for _ in range(3)]

    found = reading.lock([runs[2], new_id(), runs[0]])

    assert [row.id for row in found] == sorted([runs[0], runs[2]])
    assert isinstance(found[0].states, bytes)
    assert reading.lock([]) == []
    assert reading.lock([new_id()]) == []


def test_the_inbox_is_taken_once_and_the_oldest_first(tenant: Tenant):
    run_id = begin_run(make_workflow(tenant, [calls("a"), calls("b"), calls("c")]))
    rows = claim(run_id)
    for key in ("b", "c", "a"):
        end(rows[key])
    runs, plans = locked(run_id)

    first, _ = reading.take_inbox(runs, plans, 2)
    second, _ = reading.take_inbox(runs, plans, 2)

    assert [told.step for told in [*first, *second]] == [2, 3, 1]
    assert {(told.kind, told.status, told.take) for told in first} == {("ended", "SUCCEEDED", 1)}
    assert reading.take_inbox(runs, plans, 2)[0] == []


def test_results_are_read_only_of_steps_whose_output_is_named(tenant: Tenant):
    steps = [calls("a"), calls("b"), calls("c", "a", "b", payload="{{ steps.a.output }}")]
    run_id = begin_run(make_workflow(tenant, steps))
    rows = claim(run_id)
    end(rows["a"], result=1)
    end(rows["b"], result=2)
    runs, plans = locked(run_id)

    told, _ = reading.take_inbox(runs, plans, 10)
    ended = reading.ended(told, {run_id: plans[run_id].named})

    assert ended[rows["a"].id].result is not None
    assert ended[rows["b"].id].result is None
    assert ended[rows["b"].id].status == "SUCCEEDED"
    assert reading.ended([], {}) == {}


def test_a_fan_out_under_way_has_its_counts_and_its_items_while_some_are_ahead(tenant: Tenant):
    run_id = begin_run(make_workflow(tenant, FAN))
    run_step(run_id, "list", result=["x", "y", "z"])
    runs, plans = locked(run_id)

    fan = reading.under_way(runs, plans).fans[run_id][2]

    assert (fan.fan.total, fan.fan.begun, fan.outstanding) == (3, 2, 2)
    assert fan.items == ["x", "y", "z"]
    run_step(run_id, "load[0]", result="X")
    fan = reading.under_way(runs, plans).fans[run_id][2]
    assert (fan.fan.begun, fan.fan.succeeded, fan.items) == (3, 1, ["x", "y", "z"])


def test_outputs_are_those_of_the_take_that_counts(tenant: Tenant):
    run_id = begin_run(make_workflow(tenant, FAN))
    run_step(run_id, "list", result=["x"])
    runs, plans = locked(run_id)

    sealed = reading.under_way(runs, plans).outputs[run_id]

    assert open_output(sealed[1], tenant.id, run_id, 1, -1, 1) == ["x"]


def test_outputs_of_items_are_in_their_order_and_of_their_take(tenant: Tenant):
    run_id = begin_run(make_workflow(tenant, FAN))
    run_step(run_id, "list", result=["x", "y", "z"])
    rows = claim(run_id)
    end(rows["load[1]"], result="Y")
    end(rows["load[0]"], result="X")
    go_on(run_id)

    runs, plans = locked(run_id)
    row = reading.under_way(runs, plans).fans[run_id][2]
    found = reading.outputs_of_items(run_id, 2, row)

    assert [(item, take) for item, take, _ in found] == [(0, 1), (1, 1)]
    opened = [
        open_output(sealed or b"", tenant.id, run_id, 2, item, 1) for item, _, sealed in found
    ]
    assert opened == ["X", "Y"]
    assert reading.outputs_of_items(run_id, 2, replace(row, take=2)) == []


def test_what_steps_wait_for_is_found_by_run_and_step(tenant: Tenant):
    steps = [
        {"key": "delay", "kind": "delay", "delay_seconds": 60},
        {"key": "approve", "kind": "approval", "timeout_seconds": 90, "deadline_seconds": 30},
    ]
    run_id = begin_run(make_workflow(tenant, steps))
    found = reading.under_way(*locked(run_id)).waits[run_id]

    assert [wait.kind for wait in found[1]] == ["delay"]
    assert sorted(wait.kind for wait in found[2]) == ["approval", "deadline"]
    assert 0 not in found


@pytest.mark.logs("signal.unreadable")
def test_a_signal_that_no_key_opens_brings_nothing(tenant: Tenant, monkeypatch: pytest.MonkeyPatch):
    signal = new_id()
    stored = [(signal, tenant.id, b"sealed")]
    monkeypatch.setattr(reading, "rows", lambda name, asked: stored)

    told = Told(new_id(), "signal", None, None, None, signal, None, database_now())

    assert reading.signals([told]) == {}
