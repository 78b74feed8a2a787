from __future__ import annotations

from uuid import uuid4

import pytest

from executions import transitions
from executions.models import Execution, WorkflowRun
from insight.presentation.workflow_runs import present_items, present_run, present_runs
from insight.workflow_runs import find_take, latest_takes, runs_of, see
from shared.exceptions import NotFound
from tasks.models import TaskRevision
from tests.factories import ACTOR, make_tenant, release
from tests.support.workflows import begin_run, calls, make_workflow, step_of, work
from workflows import control
from workflows.plan import plan_of

pytestmark = pytest.mark.django_db


@pytest.fixture
def tenant():
    return make_tenant()


def step(tenant, run, key):
    [found] = [one for one in present_run(tenant.id, run)["steps"] if one["key"] == key]
    return found


def only_step(run):
    return Execution.objects.get(run_id=run)


def test_steps_come_in_the_order_of_the_definition(tenant):
    run = begin_run(make_workflow(tenant, [calls("z"), calls("a", "z"), calls("m")]))

    assert [one["key"] for one in present_run(tenant.id, run)["steps"]] == ["z", "a", "m"]


@pytest.mark.parametrize("status", ["PENDING", "QUEUED", "RUNNING", "RETRYING"])
def test_the_execution_of_a_step_decides_its_status(tenant, status):
    run = begin_run(make_workflow(tenant, [calls("a")]))
    if status in ("QUEUED", "RUNNING"):
        [row] = [row for row in release() if step_of(row.id)[0] == run]
        if status == "RUNNING":
            transitions.mark_running([(row.id, row.token, "worker-1", row.due_at)])
    elif status == "RETRYING":
        Execution.objects.filter(run_id=run).update(status=status, attempt=1)

    shown = step(tenant, run, "a")

    assert shown["status"] == {"PENDING": "QUEUED"}.get(status, status)
    assert shown["execution_id"] == str(only_step(run).id)
    waits = shown["waiting_for"]
    assert (waits and waits["kind"]) == ("retry" if status == "RETRYING" else None)


@pytest.mark.parametrize(("column", "kind"), [("held", "pause"), ("parked", "destination")])
def test_what_keeps_an_execution_from_starting_is_named(tenant, column, kind):
    run = begin_run(make_workflow(tenant, [calls("a")]))
    Execution.objects.filter(run_id=run).update(**{column: True})

    assert step(tenant, run, "a")["waiting_for"] == {"kind": kind, "until": None}


def test_a_step_whose_end_is_recorded_and_not_applied_runs(tenant):
    run = begin_run(make_workflow(tenant, [calls("a"), calls("b", "a")]))
    transitions.cancel([(only_step(run).id, None)], "cancelled")

    shown = present_run(tenant.id, run)

    assert (shown["status"], shown["counts"]) == ("RUNNING", {"RUNNING": 1, "PENDING": 1})


@pytest.mark.parametrize(
    ("phase", "reason", "shown"),
    [
        ("running", "", None),
        ("paused", "", "paused"),
        ("failing", "", "step_failed"),
        ("cancelling", "deadline_exceeded", "deadline_exceeded"),
    ],
)
def test_the_phase_of_a_run_is_its_reason(tenant, phase, reason, shown):
    run = begin_run(make_workflow(tenant, [calls("a")]))
    WorkflowRun.objects.filter(pk=run).update(phase=phase, reason=reason)

    assert present_run(tenant.id, run)["reason"] == shown


def test_a_definition_that_no_key_opens_leaves_the_rest_of_the_answer(tenant):
    task = make_workflow(tenant, [calls("a")])
    run = begin_run(task, {"n": 1})
    plan_of.cache_clear()
    TaskRevision.objects.filter(task=task).update(sealed=b"\x01")

    shown = present_run(tenant.id, run)

    assert (shown["status"], shown["steps"], shown["counts"]) == ("RUNNING", [], {})
    assert shown["input"] == {"n": 1}
    assert shown["missing"]


def test_an_input_that_no_key_opens_is_null(tenant):
    run = begin_run(make_workflow(tenant, [calls("a")]), {"n": 1})
    WorkflowRun.objects.filter(pk=run).update(sealed_input=b"\x01")

    shown = present_run(tenant.id, run)

    assert (shown["input"], len(shown["steps"])) == (None, 1)
    assert shown["missing"]


def test_a_step_that_a_person_ended_says_how(tenant):
    run = begin_run(make_workflow(tenant, [calls("a"), calls("b", "a")]))
    control.skip_step(tenant.id, run, "b", actor=ACTOR)

    shown = step(tenant, run, "b")

    assert (shown["status"], shown["reason"]) == ("SKIPPED", "skipped")
    assert shown["finished_at"] is not None
    assert shown["execution_id"] is None


def test_lists_have_runs_without_steps(tenant):
    task = make_workflow(tenant, [calls("a")])
    run = begin_run(task)
    work(run)

    [shown] = present_runs(latest_takes(list(runs_of(tenant.id, task.id))))

    assert "steps" not in shown
    assert (shown["id"], shown["counts"]) == (str(run), {"SUCCEEDED": 1})


def test_items_are_those_of_the_range(tenant):
    flow = [calls("a", for_each=[1, 2, 3, 4], max_parallel=2)]
    run = begin_run(make_workflow(tenant, flow))
    [seen] = see([find_take(tenant.id, run)])

    shown = present_items(seen, 1, 1, 3)

    assert [(one["item"], one["status"]) for one in shown] == [(1, "QUEUED"), (2, "PENDING")]


def test_a_sensitive_output_is_in_no_item(tenant):
    each = calls("a", for_each=[1], sensitive=True)
    run = begin_run(
        make_workflow(tenant, [each, calls("b", "a", payload="{{ steps.a.output.outputs }}")])
    )
    work(run, lambda key, item: ("SUCCEEDED", "secret"))
    [seen] = see([find_take(tenant.id, run)])

    [item] = present_items(seen, 1, 0, 1)

    assert item["output"] is None
    assert "secret" not in str(present_run(tenant.id, run))


def test_a_run_that_is_not_there_is_not_found(tenant):
    with pytest.raises(NotFound):
        present_run(tenant.id, uuid4())
