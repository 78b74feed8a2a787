"""What a run waits for is named in order, in a number of queries that does not grow."""

from __future__ import annotations

from typing import Any
from uuid import UUID

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext

from executions import transitions
from executions.models import Execution
from executions.triggering.triggers import run_task
from insight.run_waits import MOST_WAITS, RunWait, waits_of, waits_text
from insight.workflow_runs import find_take, see
from tenants.models import Tenant
from tests.factories import ACTOR, make_tenant, release
from tests.support.recounting import recounts
from tests.support.workflow_steps import run_step
from tests.support.workflows import begin_run, calls, make_workflow, work
from workflows.control import pause_run

pytestmark = pytest.mark.django_db

APPROVAL: dict[str, Any] = {"key": "approve", "kind": "approval", "timeout_seconds": 3600}


@pytest.fixture
def tenant() -> Tenant:
    return make_tenant()


def waits(tenant: Tenant, run: UUID) -> list[RunWait]:
    [seen] = see([find_take(tenant.id, run)])
    return waits_of(seen)


def kinds(tenant: Tenant, run: UUID) -> list[tuple[str, str | None]]:
    return [(one.kind, one.step) for one in waits(tenant, run)]


@recounts("run.items")
def test_the_open_steps_are_named_with_the_items_of_a_fan_out(tenant: Tenant):
    load = calls("load", for_each=[1, 2, 3, 4], max_parallel=2)
    run = begin_run(make_workflow(tenant, [APPROVAL, load, calls("b", "load")]))
    work(run, rounds=1, rests=False)

    found = waits(tenant, run)

    assert [one[:2] for one in found] == [
        ("approval", "approve"),
        ("items", "load"),
        ("deadline", None),
    ]
    assert found[1][3:] == (2, 4)
    assert found[0].until is not None
    assert waits_text(found) == "approve, load 2/4"


def test_a_paused_run_waits_first_for_the_end_of_its_pause(tenant: Tenant):
    run = begin_run(make_workflow(tenant, [APPROVAL]))
    pause_run(tenant.id, run, actor=ACTOR)

    assert kinds(tenant, run) == [("pause", None), ("approval", "approve"), ("deadline", None)]
    assert waits_text(waits(tenant, run)) == "the end of its pause, approve"


@pytest.mark.parametrize(
    ("columns", "kind"),
    [({"gated": True, "held": True}, "gate"), ({"held": True}, "pause"), ({}, "due_time")],
)
def test_a_run_that_has_not_begun_waits_for_its_place_a_resume_or_its_time(
    tenant: Tenant, columns: dict[str, bool], kind: str
):
    run = run_task(tenant.id, make_workflow(tenant, [calls("a")]).id, None, actor=ACTOR).id
    Execution.objects.filter(pk=run).update(**columns)

    assert kinds(tenant, run) == [(kind, None)]


@pytest.mark.parametrize(
    ("columns", "kind"),
    [
        ({}, "worker"),
        ({"held": True}, "pause"),
        ({"parked": True}, "destination"),
        ({"status": "RETRYING", "attempt": 1}, "retry"),
    ],
)
def test_a_call_that_does_not_run_says_what_keeps_it(
    tenant: Tenant, columns: dict[str, Any], kind: str
):
    run = begin_run(make_workflow(tenant, [calls("a")]))
    Execution.objects.filter(run_id=run).update(**columns)

    assert kinds(tenant, run)[0] == (kind, "a")


def test_a_call_that_runs_is_waited_for(tenant: Tenant):
    run = begin_run(make_workflow(tenant, [calls("a")]))
    [row] = release()
    transitions.mark_running([(row.id, row.token, "worker-1", row.due_at)])

    assert kinds(tenant, run)[0] == ("call", "a")


def test_a_run_that_undoes_waits_for_the_step_that_is_undone(tenant: Tenant):
    undo = {"target": {"url": "https://api.example.com/undo"}}
    flow = [calls("a", compensate=undo), calls("b", "a")]
    run = begin_run(make_workflow(tenant, flow, on_failure="compensate"))
    run_step(run, "a")
    run_step(run, "b", "FAILED")

    assert waits_text(waits(tenant, run)) == "undo of a"


def test_a_run_that_has_ended_waits_for_nothing(tenant: Tenant):
    run = begin_run(make_workflow(tenant, [calls("a")]))
    work(run)

    assert waits(tenant, run) == []
    assert waits_text([]) == ""


def test_many_open_steps_are_cut_and_cost_no_more_queries(tenant: Tenant):
    one = begin_run(make_workflow(tenant, [calls("a")]))
    many = begin_run(make_workflow(tenant, [calls(f"s{n}") for n in range(40)]))
    costs = []
    for run in (one, many):
        waits(tenant, run)
        with CaptureQueriesContext(connection) as captured:
            waits(tenant, run)
        costs.append(len(captured))
    found = waits(tenant, many)

    assert costs[0] == costs[1]
    assert len(found) == MOST_WAITS
    assert found[-1].kind == "deadline"
    assert waits_text(found) == "s0, s1, s2, s3, s4 and 14 more"
