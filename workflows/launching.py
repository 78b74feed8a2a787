"""Starts runs that are asked for: beside the schedule, with an input."""

from __future__ import annotations

from typing import Any
from uuid import UUID

from executions.models import Execution
from executions.triggering.triggers import Override, run_task
from shared.actor import Actor
from shared.exceptions import InvalidInput, NotFound
from tasks.definition import WORKFLOW_POOL
from tasks.models import Task
from tasks.validation.input_schema import input_problems
from workflows.plan import Plan, plan_of


def get_workflow(tenant_id: UUID, task_id: UUID) -> Task:
    """Return a tenant's workflow; raise NotFound, also for a task that is none."""
    task: Task = Task.objects.get_for_tenant(tenant_id, task_id)
    if task.pool != WORKFLOW_POOL:
        raise NotFound("There is no such workflow.")
    return task


def start_run(tenant_id: UUID, task_id: UUID, value: Any, *, actor: Actor) -> Execution:
    """Run a workflow now, with an input (None: without); raise InvalidInput by its schema."""
    task = get_workflow(tenant_id, task_id)
    check_input(plan_of(task.id, task.version), value)
    override = None if value is None else Override(value)
    return run_task(tenant_id, task_id, override, actor=actor)


def check_input(plan: Plan, value: Any) -> None:
    """Raise InvalidInput for an input that the workflow's schema refuses."""
    schema = plan.definition.target["input_schema"]
    problems = input_problems(schema, value) if schema is not None else []
    if problems:
        raise InvalidInput(problems)
