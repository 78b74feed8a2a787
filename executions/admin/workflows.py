"""Runs of workflows and their steps in the admin, read-only."""

from __future__ import annotations

from django.contrib import admin

from executions.models import EndedWorkflowRun, WorkflowRun, WorkflowStep
from shared.admin import ProductAdmin


@admin.register(WorkflowRun)
class WorkflowRunAdmin(ProductAdmin):
    """Runs that have not ended."""

    list_display = ("id", "take", "phase", "reason", "began_at", "deadline_at", "task_id")


@admin.register(EndedWorkflowRun)
class EndedWorkflowRunAdmin(ProductAdmin):
    """Takes of runs that have ended."""

    list_display = ("id", "take", "status", "reason", "began_at", "finished_at", "task_id")


@admin.register(WorkflowStep)
class WorkflowStepAdmin(ProductAdmin):
    """The ends of steps and of items."""

    list_display = ("run_id", "step", "item", "take", "status", "reason", "finished_at", "id")
