"""Refuses calls of plain tasks that cannot be made of a workflow, which is a task as well."""

from __future__ import annotations

from uuid import UUID

from shared.exceptions import Conflict
from tasks.choices import WORKFLOW
from tasks.definition import WORKFLOW_POOL, Definition
from tasks.models import Task


def refuse_workflow(tenant_id: UUID, task_id: UUID, path: str = "") -> None:
    """Raise Conflict ``is_workflow`` for a workflow; NotFound without such a task.

    ``path`` is that of the call to make instead, below the workflow.
    """
    task = Task.objects.get_for_tenant(tenant_id, task_id)
    if task.pool == WORKFLOW_POOL:
        raise is_workflow(task_id, path)


def refuse_definition(definition: Definition, task_id: UUID) -> None:
    """Raise Conflict ``is_workflow`` where this is the definition of a workflow."""
    if definition.target["kind"] == WORKFLOW:
        raise is_workflow(task_id)


def is_workflow(task_id: UUID, path: str = "") -> Conflict:
    """Return the refusal, which names the call to make instead."""
    return Conflict(
        f"The task is a workflow. Use /v1/workflows/{task_id}{path}.", code="is_workflow"
    )
