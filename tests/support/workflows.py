"""Workflows of tests: made, begun, and worked through with any outcomes, without processes."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from datetime import datetime
from typing import Any
from uuid import UUID

from executions.changes import changing
from executions.gate import stage as gate
from executions.loop.clocks import database_now
from executions.models import EndedWorkflowRun, Execution, WorkflowRun, WorkflowStep
from executions.ownership.partitions import Partitions
from executions.payloads import payload_of
from executions.triggering.triggers import Override, run_task
from shared.encryption import seal_json
from shared.sealing_contexts import result_context
from tasks.calendars import limits_of
from tasks.creation import create_task
from tasks.definition import Definition
from tasks.models import Task
from tasks.validation.workflow import parse_workflow, parse_workflow_replace
from tasks.workflow.step_states import StepState
from tenants.models import Tenant
from tests.factories import ACTOR, finish, release
from tests.support.loops import by_the_loops
from wire.messages import Claimed
from workflows.advance.stage import advance
from workflows.begin import begin_due
from workflows.plan import plan_of
from workflows.stages import fire
from workflows.taking_back import take_back

EVERYWHERE = list(range(256))


def calls(key: str, *depends_on: str, **parts: Any) -> dict[str, Any]:
    """Return a step that calls a webhook of its name."""
    target = {"url": f"https://api.example.com/{key}"}
    return {"key": key, "depends_on": list(depends_on), "target": target, **parts}


def make_workflow(tenant: Tenant, steps: Iterable[Mapping[str, Any]], **parts: Any) -> Task:
    """Create a workflow that runs only when asked."""
    now = database_now()
    body = {"name": "Flow", "steps": [dict(step) for step in steps], **parts}
    definition = parse_workflow(body, now=now, limits=limits_of(tenant.id))
    return create_task(tenant.id, definition, actor=ACTOR, now=now)


def begin_run(task: Task, value: Any = None) -> UUID:
    """Run a workflow now, and begin its first steps; return the run."""
    override = None if value is None else Override(value)
    execution = run_task(task.tenant_id, task.id, override, actor=ACTOR)
    admit()
    begin_due(EVERYWHERE, 1000)
    go_on(execution.id)
    return execution.id


@by_the_loops
def admit() -> None:
    """Let the gate decide on runs of workflows with a limit."""
    partitions = Partitions()
    partitions.run_once()
    gate.run_once(partitions)
    partitions.release_all()


@by_the_loops
def begin_children() -> None:
    """Begin the runs that steps have asked for."""
    admit()
    go_on(*begin_due(EVERYWHERE, 1000))


def edit_workflow(task: Task, body: Mapping[str, Any]) -> Task:
    """Replace a workflow's definition."""

    def edit(current: Definition, now: datetime) -> tuple[Definition, None]:
        limits = limits_of(task.tenant_id)
        return parse_workflow_replace(body, now=now, limits=limits, current=current), None

    return changing.edit_task(task.tenant_id, task.id, edit, actor=ACTOR)


def begin_take(run_id: UUID) -> None:
    """Begin the take of a run that a retry has asked for."""
    admit()
    begin_due(EVERYWHERE, 1000)
    go_on(run_id)


@by_the_loops
def go_on(*run_ids: UUID) -> None:
    """Advance runs until nothing more happens at once, as the processes do after each commit."""
    take_back(advance(run_ids))
    take_back(advance(run_ids))


@by_the_loops
def pass_time() -> None:
    """Fire the timers that are due, and advance their runs."""
    go_on(*fire(EVERYWHERE))


#: The key of a step and the number of its item -> the status of its end, or (status, result).
Answer = Callable[[str, int], Any]


def succeed(key: str, item: int) -> Any:
    """Let every step succeed."""
    return "SUCCEEDED"


def work(
    run_id: UUID, answer: Answer = succeed, *, rounds: int = 200, rests: bool = True
) -> list[str]:
    """Let workers end all that starts, until nothing does; return the keys in their order.

    Steps of other runs end as well. Without ``rests``, stop after that many rounds.
    """
    done: list[str] = []
    for _ in range(rounds):
        # In an order of its own: what begins together is due at one time.
        claimed = sorted(release(), key=lambda row: step_of(row.id)[1:])
        if not claimed:
            return done
        touched = {run_id}
        for row in claimed:
            touched.add(_end(row, answer, done))
        go_on(*touched)
    assert not rests, "the run does not rest"
    return done


def _end(row: Claimed, answer: Answer, done: list[str]) -> UUID:
    """End an execution of a step as the answer says; return its run."""
    run_id, key, item = step_of(row.id)
    assert run_id is not None
    said = answer(key, item)
    status, result = said if isinstance(said, tuple) else (said, None)
    done.append(key if item < 0 else f"{key}[{item}]")
    sealed = None if result is None else seal_json(result, result_context(row.tenant_id, row.id))
    finish(row, status, sealed_result=sealed)
    return run_id


def step_of(execution_id: UUID) -> tuple[UUID | None, str, int]:
    """Return the run, the step's key and the item of an open execution; no run for others."""
    row = Execution.objects.get(pk=execution_id)
    if row.run_id is None or row.step is None or row.item is None:
        return None, "", -1
    version = version_of(row.run_id)
    return row.run_id, plan_of(row.task_id, version).keys[row.step], row.item


def version_of(run_id: UUID) -> int:
    """Return the version of the workflow that a run has."""
    found = WorkflowRun.objects.filter(pk=run_id).first()
    return (found or EndedWorkflowRun.objects.filter(pk=run_id).latest("take")).version


def states(run_id: UUID) -> dict[str, str]:
    """Return the state of each step of a run, by key."""
    found = WorkflowRun.objects.filter(pk=run_id).first()
    row = found or EndedWorkflowRun.objects.filter(pk=run_id).latest("take")
    keys = plan_of(row.task_id, row.version).keys
    return {key: StepState(row.states[number]).name for number, key in keys.items()}


def status_of(run_id: UUID) -> str:
    """Return the status of the latest take's execution."""
    found = WorkflowRun.objects.filter(pk=run_id).first()
    row = found or EndedWorkflowRun.objects.filter(pk=run_id).latest("take")
    return Execution.objects.get(pk=row.execution_id).status


def ends_of(run_id: UUID) -> list[WorkflowStep]:
    """Return the ends of a run's steps and items in their order."""
    return list(WorkflowStep.objects.filter(run_id=run_id).order_by("take", "place"))


def payloads_of(run_id: UUID, step: int) -> list[Any]:
    """Return what the executions of a step were given."""
    found = Execution.objects.filter(run_id=run_id, step=step).order_by("item", "id")
    return [payload_of(row) for row in found]
