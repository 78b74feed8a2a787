from __future__ import annotations

from uuid import uuid4

import pytest

from executions import transitions
from executions.models import Execution, WorkflowRun
from executions.redacted_fields import paths_of
from insight.presentation.workflow_runs import present_items, present_run, present_runs
from insight.workflow_runs import find_take, latest_takes, runs_of, see
from shared.exceptions import NotFound
from shared.redaction import MASK
from tasks.models import Task, TaskRevision
from tests.factories import ACTOR, make_tenant, release
from tests.support.workflow_steps import claim, end, run_step
from tests.support.workflows import (
    begin_run,
    calls,
    edit_workflow,
    go_on,
    make_workflow,
    step_of,
    work,
)
from workflows import control
from workflows.plan import plan_of
from workflows.signals import send_signal

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


UNDO = {"target": {"url": "https://api.example.com/undo"}, "on": ["SUCCEEDED", "TIMED_OUT"]}
UNDONE = -2


def compensating(tenant):
    """Return a run whose second step has failed, and whose first one is being undone."""
    flow = [calls("a", compensate=UNDO), calls("b", "a")]
    run = begin_run(make_workflow(tenant, flow, on_failure="compensate"))
    run_step(run, "a")
    run_step(run, "b", "FAILED")
    return run


def test_a_step_that_is_being_undone_has_succeeded_and_says_so(tenant):
    run = compensating(tenant)

    shown = step(tenant, run, "a")

    assert shown["status"] == "SUCCEEDED"
    assert shown["finished_at"] is not None
    assert shown["compensation"]["status"] == "QUEUED"
    assert shown["compensation"]["execution_id"] == str(only_open(run).id)
    assert step(tenant, run, "b")["compensation"] is None
    assert present_run(tenant.id, run)["reason"] == "compensating"
    assert present_run(tenant.id, run)["counts"] == {"SUCCEEDED": 1, "FAILED": 1}


def only_open(run):
    return Execution.objects.filter(status="PENDING").get(run_id=run)


@pytest.mark.parametrize("status", ["SUCCEEDED", "FAILED"])
def test_a_compensation_that_has_ended_is_shown_with_its_error(tenant, status):
    run = compensating(tenant)
    work(run, lambda key, item: status)

    shown = step(tenant, run, "a")

    assert (shown["status"], shown["compensation"]["status"]) == ("SUCCEEDED", status)
    assert shown["compensation"]["finished_at"] is not None
    assert (shown["compensation"]["error"] is None) == (status == "SUCCEEDED")
    [listed] = present_runs(latest_takes(list(runs_of(tenant.id, only_task().id))))
    assert listed["counts"] == {"SUCCEEDED": 1, "FAILED": 1}


def only_task():
    return Task.objects.get()


def test_a_step_that_timed_out_and_was_undone_has_failed_all_the_same(tenant):
    flow = make_workflow(tenant, [calls("a", compensate=UNDO)], on_failure="compensate")
    run = begin_run(flow)
    end(claim(run)["a"], "FAILED", outcome="TIMED_OUT", error_code="timeout_total")
    go_on(run)
    work(run)

    shown = present_run(tenant.id, run)

    assert shown["steps"][0]["status"] == "FAILED"
    assert shown["steps"][0]["compensation"]["status"] == "SUCCEEDED"
    assert shown["counts"] == {"FAILED": 1}
    [listed] = present_runs(latest_takes(list(runs_of(tenant.id, flow.id))))
    assert listed["counts"] == {"FAILED": 1}


def test_a_wait_has_begun_and_keeps_its_begin_when_it_ends(tenant):
    flow = [
        {"key": "ok", "kind": "approval"},
        {"key": "paid", "kind": "wait_for_event", "event": "paid"},
        calls("b", "ok"),
    ]
    run = begin_run(make_workflow(tenant, flow))
    began = [step(tenant, run, key)["started_at"] for key in ("ok", "paid")]

    control.approve_step(tenant.id, run, "ok", approved=True, take=1, note="", actor=ACTOR)
    send_signal(tenant.id, "paid", "", None, actor=ACTOR)
    go_on(run)

    ended = [step(tenant, run, key) for key in ("ok", "paid")]
    assert None not in began
    assert [one["started_at"] for one in ended] == began
    assert [one["status"] for one in ended] == ["SUCCEEDED", "SUCCEEDED"]
    # A signal is no execution.
    assert [one["execution_id"] for one in ended] == [None, None]


def test_fields_that_are_named_after_a_run_are_masked_in_it(tenant):
    used = calls("b", "a", payload="{{ steps.a.output }}")
    task = make_workflow(tenant, [calls("a", payload={"card": 1}), used])
    run = begin_run(task, {"key": 2})
    step_run = only_step(run)
    run_step(run, "a", result={"card": 3, "plain": 4})
    steps = [calls("a", redact=["$.card"]), used]
    edit_workflow(task, {"name": "Flow", "redact": ["$.key"], "steps": steps})

    shown = present_run(tenant.id, run)

    assert shown["input"] == {"key": MASK}
    assert shown["steps"][0]["output"] == {"card": MASK, "plain": 4}
    [listed] = present_runs(latest_takes(list(runs_of(tenant.id, task.id))))
    assert listed["input"] == {"key": MASK}
    assert paths_of(task.id, step_run.revision) == ["$.key", "$.card"]
