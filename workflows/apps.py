"""Connects the room of workflows with the ledger, which does not know it."""

from __future__ import annotations

from django.apps import AppConfig


class WorkflowsConfig(AppConfig):
    """The installed app."""

    name = "workflows"

    def ready(self) -> None:
        """Listen to ends of steps and to retries of takes; add stages to the scheduler's loop."""
        from executions import run_signals
        from workflows import retrying, stages

        run_signals.runs_told.connect(stages.advance_told)
        run_signals.take_retried.connect(retrying.retry_take)
        run_signals.scheduler_starts.connect(stages.stages_of)
