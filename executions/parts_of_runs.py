"""Refuses to run again, or to cancel, an execution that only its run may: a step, or a take.

A step run by itself would not be a step: it would send the step's payload as a run of the task.
"""

from __future__ import annotations

from uuid import UUID

from executions.models import Execution
from shared.exceptions import Conflict
from tasks.definition import WORKFLOW_POOL
from tasks.versions import is_of_step

CODE = "part_of_run"


def is_take(execution: Execution) -> bool:
    """Return whether the execution is a take of a run, and no call."""
    return bool(execution.pool == WORKFLOW_POOL)


def run_of_take(execution: Execution) -> UUID:
    """Return the run of a take: the first take has its id, also of a run that a step began."""
    if execution.run_id is not None and execution.step is None:
        return execution.run_id
    first: UUID = execution.id
    return first


def refuse_step(execution: Execution) -> None:
    """Raise Conflict ``part_of_run`` for a step of a run, which is cancelled with its run."""
    if is_of_step(execution.revision):
        run = f"/v1/workflow-runs/{execution.run_id}"
        message = f"The execution is a step of run {execution.run_id}. Use POST {run}/cancel."
        raise Conflict(message, code=CODE)


def refuse_part(execution: Execution) -> None:
    """Raise Conflict ``part_of_run`` for a step or a take of a run, which is retried as a run."""
    if is_of_step(execution.revision):
        what, run_id = "a step", execution.run_id
    elif is_take(execution):
        what, run_id = "a take", run_of_take(execution)
    else:
        return
    message = f"The execution is {what} of run {run_id}."
    raise Conflict(f"{message} Use POST /v1/workflow-runs/{run_id}/retry.", code=CODE)
