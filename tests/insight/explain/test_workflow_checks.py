"""Explain of runs of workflows and of their steps: what a run waits for, and whose step it is."""

from __future__ import annotations

from typing import Any
from uuid import UUID

import pytest

from executions.changes.pauses import Wanted, create_pause
from executions.loop.clocks import database_now
from executions.models import Execution
from executions.triggering.triggers import run_task
from insight.explain.answer import Explanation, present_explanation
from insight.explain.explanation import explain_execution, explain_task
from insight.explain.waiting import waiting_for
from tenants.models import Tenant
from tests.factories import ACTOR
from tests.support.workflow_steps import run_step
from tests.support.workflows import begin_run, calls, make_workflow, work
from workflows.control import Scope, cancel_run, pause_run

pytestmark = pytest.mark.django_db

APPROVAL: dict[str, Any] = {"key": "approve", "kind": "approval", "timeout_seconds": 3600}
_OF_WORKERS = {"retry", "pool", "redis", "destination", "workers", "lease", "running"}


def explained(run: UUID) -> Explanation:
    return explain_execution(Execution.objects.get(pk=run), database_now())


def check_of(found: Explanation, name: str) -> Any:
    return next(one for one in found.checks if one.name == name)


def test_a_run_is_not_explained_as_work_of_a_worker(alpha: Tenant):
    found = explained(begin_run(make_workflow(alpha, [calls("a")])))

    assert not {one.name for one in found.checks} & _OF_WORKERS
    assert found.state == "runs"


def test_a_run_names_its_steps_and_what_each_waits_for(alpha: Tenant):
    load = calls("load", for_each=[1, 2, 3], max_parallel=2)
    flow: list[dict[str, Any]] = [
        APPROVAL,
        load,
        {"key": "paid", "kind": "wait_for_event", "event": "paid", "correlation": "17"},
        {"key": "rest", "kind": "delay", "delay_seconds": 60},
    ]
    found = explained(begin_run(make_workflow(alpha, flow)))

    assert found.verdict == "The run waits for: approve, load 0/3, paid, rest."
    evidence = check_of(found, "steps").evidence
    assert "approve waits for a decision until" in evidence
    assert "load: 0 of 3 items have ended, at most 2 at one time (max_parallel)." in evidence
    assert "paid waits for the signal paid about 17" in evidence
    assert "rest waits until" in evidence


def test_a_run_that_needs_a_decision_is_blocked_by_its_steps(alpha: Tenant):
    run = begin_run(make_workflow(alpha, [APPROVAL]))

    found = explained(run)

    assert found.first_blocker is check_of(found, "steps")
    assert found.first_blocker.fix.subject == run
    assert present_explanation(found)["first_blocker"] == "steps"


def test_a_paused_run_says_so_before_its_steps(alpha: Tenant):
    run = begin_run(make_workflow(alpha, [APPROVAL]))
    pause_run(alpha.id, run, actor=ACTOR)

    found = explained(run)

    assert found.first_blocker is check_of(found, "run")
    assert found.verdict == "The run is paused: it begins no step. The run waits for: approve."
    assert found.first_blocker.fix.call == f"POST /v1/workflow-runs/{run}/resume"


def test_the_deadline_of_a_run_is_told(alpha: Tenant):
    run = begin_run(make_workflow(alpha, [APPROVAL], deadline_seconds=7200))

    assert "in 1 h 59 m" in check_of(explained(run), "deadline").evidence


def test_a_run_that_undoes_says_which_step(alpha: Tenant):
    undo = {"target": {"url": "https://api.example.com/undo"}}
    flow = [calls("a", compensate=undo), calls("b", "a")]
    run = begin_run(make_workflow(alpha, flow, on_failure="compensate"))
    run_step(run, "a")
    run_step(run, "b", "FAILED")

    found = explained(run)

    assert "undoes what has succeeded" in check_of(found, "run").evidence
    assert "a is being undone." in check_of(found, "steps").evidence
    step = explained(Execution.objects.filter(status="PENDING").get(run_id=run).pk)
    assert "it is what undoes the step a" in check_of(step, "run").says


def test_a_step_knows_whose_it_is(alpha: Tenant):
    run = begin_run(make_workflow(alpha, [calls("load", for_each=[1, 2])]))
    step = Execution.objects.get(run_id=run, item=1)

    found = explained(step.pk)

    says = check_of(found, "run").says
    assert says == f"it is the step load, item 1, of the run {run}"
    assert check_of(found, "run").fix.subject == run
    assert not {"steps", "deadline"} & {one.name for one in found.checks}


def test_a_step_of_a_run_that_is_being_cancelled_says_so(alpha: Tenant):
    run = begin_run(make_workflow(alpha, [calls("a"), APPROVAL]))
    cancel_run(alpha.id, run, Scope(), actor=ACTOR)

    assert "being cancelled" in check_of(explained(only_step(run).pk), "run").evidence


def only_step(run: UUID) -> Execution:
    return Execution.objects.get(run_id=run)


def test_the_pause_of_a_destination_holds_a_step_and_is_named(alpha: Tenant):
    run = begin_run(make_workflow(alpha, [calls("a")]))
    create_pause(alpha.id, Wanted("destination", "api.example.com"), actor=ACTOR)

    step, found = explained(only_step(run).pk), explained(run)

    assert step.first_blocker is check_of(step, "task_active")
    assert "a standing pause of the destination api.example.com holds it" in step.verdict
    assert "standing pause of the destination" in check_of(found, "steps").evidence


def test_a_failed_step_is_retried_with_its_run(alpha: Tenant):
    run = begin_run(make_workflow(alpha, [calls("a")]))
    work(run, lambda key, item: "FAILED")

    outcome = check_of(explained(only_step(run).pk), "outcome")

    assert outcome.fix.call == f"POST /v1/workflow-runs/{run}/retry"
    assert explained(run).state == "ran"


def test_a_run_that_has_not_begun_waits_for_its_begin(alpha: Tenant):
    flow = make_workflow(alpha, [calls("a")])
    run = run_task(alpha.id, flow.id, None, actor=ACTOR)

    found = explain_task(flow, None, database_now())

    assert check_of(found, "run").says == "the run has not begun"
    assert found.execution_id == run.id
    waits = waiting_for(Execution.objects.get(pk=run.id), flow, database_now())
    assert waits is not None
    assert waits["what"] == "scheduler"
