"""Refuses to run again, or to cancel, an execution that only its run may: a step, or a take.

A step run by itself would not be a step: it would send the step's payload as a run of the task.
"""

from __future__ import annotations

from executions.models import Execution
from shared.exceptions import Conflict
from tasks.definition import WORKFLOW_POOL
from tasks.versions import is_of_step

CODE = "part_of_run"


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
    elif execution.pool == WORKFLOW_POOL:
        # The first take has the id of its run; a run that a step began is its own, too.
        is_later = execution.run_id is not None and execution.step is None
        what, run_id = "a take", execution.run_id if is_later else execution.id
    else:
        return
    message = f"The execution is {what} of run {run_id}."
    raise Conflict(f"{message} Use POST /v1/workflow-runs/{run_id}/retry.", code=CODE)
