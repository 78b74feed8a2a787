"""Which workflow a step of a run may run."""

from __future__ import annotations

from uuid import UUID

from shared.sql import rows
from tasks.definition import WORKFLOW_POOL, is_limited
from tasks.models import Task
from workflows.advance.records import Failure, RunRow

#: How deep runs may stand in each other.
DEEPEST = 10


def refusal(row: RunRow, workflow_id: UUID) -> Failure | None:
    """Return why a step of the run cannot run a workflow, None where it can."""
    child = Task.objects.filter(
        pk=workflow_id, tenant_id=row.tenant_id, pool=WORKFLOW_POOL, deleted_at__isnull=True
    ).first()
    if child is None:
        return Failure("workflow_unknown", "There is no such workflow any longer.")
    if row.depth + 1 > DEEPEST:
        return Failure("depth_exceeded", f"Runs stand at most {DEEPEST} deep in each other.")
    if child.status == "CANCELLED":
        return Failure("workflow_cancelled", "The workflow is cancelled.")
    if is_limited(child.schedule):
        above = {found[0] for found in rows("workflow_takes/ancestors", {"run": row.id})}
        if workflow_id in above:
            message = "The workflow has a limit, and this run has a place of it already."
            return Failure("would_wait_for_itself", message)
    return None
