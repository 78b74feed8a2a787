"""What an advance has changed is written for all its runs, and runs with nothing open end."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any
from uuid import UUID

import pytest
from django.db import connection
from django.db.models import Q

from events.models import Event
from executions.models import EndedWorkflowRun, Execution, WorkflowRun, WorkflowStep
from tenants.models import Tenant
from tests.factories import ACTOR, make_tenant
from tests.support.workflow_steps import claim, end, open_keys, run_step, work_on
from tests.support.workflows import begin_run, calls, ends_of, go_on, make_workflow
from workflows.control import Scope, approve_step, cancel_run, pause_run, resume_run, skip_step

pytestmark = pytest.mark.django_db


@pytest.fixture
def tenant() -> Tenant:
    return make_tenant()


def count(table: str) -> int:
    with connection.cursor() as cursor:
        cursor.execute(f"SELECT count(*) FROM {table}")
        return int(cursor.fetchone()[0])


def test_one_advance_writes_many_runs(tenant: Tenant):
    task = make_workflow(tenant, [calls("a"), calls("b", "a")])
    runs = [begin_run(task) for _ in range(60)]
    for run_id in runs:
        for row in claim(run_id).values():
            end(row)

    go_on(*runs)

    assert {tuple(open_keys(run_id)) for run_id in runs} == {("b",)}
    assert WorkflowStep.objects.filter(run_id__in=runs).count() == 60


def test_ends_have_places_without_gaps_over_all_takes_and_items(tenant: Tenant):
    steps = [
        calls("list"),
        calls("load", "list", for_each="{{ steps.list.output }}", when="item > 1"),
        calls("never", "load", condition="one_failed"),
    ]
    run_id = begin_run(make_workflow(tenant, steps))

    work_on(run_id, lambda key, item: ("SUCCEEDED", [1, 2, 3]))

    assert [one.place for one in ends_of(run_id)] == [1, 2, 3, 4, 5, 6]
    assert EndedWorkflowRun.objects.get(pk=run_id).ends == 6


def test_a_fan_out_writes_its_items_once_and_goes_when_it_has_ended(tenant: Tenant):
    steps = [calls("list"), calls("load", "list", for_each="{{ steps.list.output }}")]
    run_id = begin_run(
        make_workflow(tenant, [*steps, calls("s", "load", payload="{{ steps.load.output }}")])
    )
    run_step(run_id, "list", result=[1, 2])
    with connection.cursor() as cursor:
        cursor.execute("SELECT sealed_items FROM workflow_fans WHERE run_id = %s", [run_id])
        before = bytes(cursor.fetchone()[0])
        run_step(run_id, "load[0]")
        cursor.execute("SELECT sealed_items FROM workflow_fans WHERE run_id = %s", [run_id])
        assert bytes(cursor.fetchone()[0]) == before

    work_on(run_id)

    assert count("workflow_fans") == 0


def test_an_ended_run_leaves_nothing_that_is_open(tenant: Tenant):
    steps = [
        calls("a"),
        {"key": "wait", "kind": "delay", "delay_seconds": 900, "depends_on": ["a"]},
    ]
    run_id = begin_run(make_workflow(tenant, steps))

    run_step(run_id, "a", "FAILED")

    assert [count(table) for table in ("workflow_waits", "workflow_inbox", "workflow_fans")] == [
        0
    ] * 3
    assert not WorkflowRun.objects.exists()
    assert Execution.objects.get(pk=run_id).status == "FAILED"
    ended = EndedWorkflowRun.objects.get(pk=run_id)
    assert (ended.status, ended.take, ended.first_failed) == ("FAILED", 1, 1)


def test_long_reasons_and_messages_fit_their_columns(tenant: Tenant):
    run_id = begin_run(make_workflow(tenant, [calls("a")]))
    [row] = claim(run_id).values()

    end(row, "FAILED", error_code="y" * 30, error_message="x" * 5000)
    go_on(run_id)

    [one] = ends_of(run_id)
    assert (one.error_code, len(one.error_message)) == ("y" * 30, 1000)


def told(run_id: UUID) -> list[str]:
    """Return the events of a run, and forget them."""
    found = Event.objects.filter(Q(subject_id=run_id) | Q(subjects__contains=[run_id]))
    names = list(found.order_by("id").values_list("name", flat=True))
    Event.objects.all().delete()
    return names


def test_each_change_of_a_run_that_moves_no_execution_is_an_event(tenant: Tenant):
    steps: list[dict[str, Any]] = [
        {"key": "a", "kind": "approval"},
        {"key": "b", "kind": "approval"},
        {"key": "c", "kind": "approval", "depends_on": ["a"]},
    ]
    run_id = begin_run(make_workflow(tenant, steps))
    told(run_id)

    changes: list[Callable[[], None]] = [
        lambda: pause_run(tenant.id, run_id, actor=ACTOR),
        lambda: resume_run(tenant.id, run_id, actor=ACTOR),
        lambda: approve_step(tenant.id, run_id, "a", approved=True, take=1, note="", actor=ACTOR),
        lambda: skip_step(tenant.id, run_id, "b", actor=ACTOR),
    ]
    seen = []
    for change in changes:
        change()
        seen.append(told(run_id))
    cancel_run(tenant.id, run_id, Scope(), actor=ACTOR)

    assert seen == [["run.changed"]] * 4
    assert told(run_id) == ["execution.cancelled"]


def test_a_step_that_begins_another_has_no_event_besides_those_of_executions(tenant: Tenant):
    run_id = begin_run(make_workflow(tenant, [calls("a"), calls("b", "a")]))
    told(run_id)

    run_step(run_id, "a")

    assert told(run_id) == []
