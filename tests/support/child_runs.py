"""Runs of workflows that steps of other runs have asked for."""

from __future__ import annotations

from typing import Any
from uuid import UUID

from executions.models import WorkflowRun
from tasks.models import Task
from tests.support.workflows import ends_of


def runs(key: str, child: Task, *depends_on: str, **parts: Any) -> dict[str, Any]:
    """Return a step that runs a workflow."""
    return {
        "key": key,
        "kind": "workflow",
        "workflow_id": str(child.id),
        "depends_on": list(depends_on),
        **parts,
    }


def child_of(run: UUID) -> UUID:
    """Return the run that a step of the run has begun."""
    return WorkflowRun.objects.get(parent_run=run).id


def failures_of(run: UUID) -> list[str]:
    """Return the error codes of the steps of a run that have failed."""
    return [end.error_code for end in ends_of(run) if end.status == "FAILED"]
