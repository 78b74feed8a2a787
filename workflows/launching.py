"""Starts runs that are asked for: beside the schedule, with an input."""

from __future__ import annotations

from typing import Any
from uuid import UUID

from executions.models import Execution
from executions.triggering.triggers import Override, run_task
from shared.actor import Actor
from shared.exceptions import NotFound
from tasks.definition import WORKFLOW_POOL
from tasks.models import Task


def get_workflow(tenant_id: UUID, task_id: UUID) -> Task:
    """Return a tenant's workflow; raise NotFound, also for a task that is none."""
    task: Task = Task.objects.get_for_tenant(tenant_id, task_id)
    if task.pool != WORKFLOW_POOL:
        raise NotFound("There is no such workflow.")
    return task


def start_run(tenant_id: UUID, task_id: UUID, value: Any, *, actor: Actor) -> Execution:
    """Run a workflow now, with an input (None: without); raise InvalidInput by its schema."""
    get_workflow(tenant_id, task_id)
    override = None if value is None else Override(value)
    return run_task(tenant_id, task_id, override, actor=actor)
