"""The run of a workflow: the row that is its lock and its state, and what stays of each take."""

from __future__ import annotations

from django.db import models

from executions.models.run_columns import RunColumns
from executions.querysets import EndedRunQuerySet


class WorkflowRun(RunColumns):
    """A run that has not ended."""

    class Meta:
        db_table = "workflow_runs"


class EndedWorkflowRun(RunColumns):
    """A take of a run that has ended; by day of the run, and never changed once written."""

    status = models.CharField(max_length=9)
    finished_at = models.DateTimeField()

    objects = EndedRunQuerySet.as_manager()

    class Meta:
        db_table = "ended_workflow_runs"
