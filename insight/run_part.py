"""The run of a workflow that an execution is a part of: as one of its takes, or as a step."""

from __future__ import annotations

from dataclasses import dataclass
from uuid import UUID

from executions.models import Execution
from shared.encryption import DecryptionFailed
from tasks.definition import WORKFLOW_POOL
from tasks.models import Task
from tasks.versions import is_of_compensation, is_of_step
from workflows.plan import plan_of


@dataclass(frozen=True, slots=True)
class RunPart:
    """A run and, of a step, its key: "" of a take, and where no key opens the definition."""

    run_id: UUID
    is_step: bool
    key: str = ""
    item: int | None = None
    undoes: bool = False


def part_of(execution: Execution, task: Task) -> RunPart | None:
    """Return the run of an execution; None for one of a plain task."""
    if is_of_step(execution.revision):
        if execution.run_id is None:
            return None
        item = execution.item if execution.item is not None and execution.item >= 0 else None
        undoes = is_of_compensation(execution.revision)
        return RunPart(execution.run_id, True, _key(execution, task), item, undoes)
    if execution.pool != WORKFLOW_POOL:
        return None
    # The first take has the id of its run; a run that a step began is its own, too.
    is_later = execution.run_id is not None and execution.step is None
    run_id = execution.run_id if is_later and execution.run_id else execution.pk
    return RunPart(run_id, is_step=False)


def _key(execution: Execution, task: Task) -> str:
    """Return the key of a step: its number belongs to it for the life of the workflow."""
    try:
        numbers = plan_of(task.pk, task.version).definition.target["numbers"]
    except DecryptionFailed:
        return ""
    return next((key for key, number in numbers.items() if number == execution.step), "")
