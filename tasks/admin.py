"""Revisions of tasks in the admin.

Tasks themselves are in ``executions.admin``: their actions take back what the ledger has
prepared.
"""

from __future__ import annotations

from django.contrib import admin

from shared.admin import ProductAdmin
from tasks.models import TaskRevision


@admin.register(TaskRevision)
class TaskRevisionAdmin(ProductAdmin):
    """A task's definition as it stood; payload, headers and authentication are sealed."""

    list_display = ("task", "version", "changed_by", "created_at")
    list_prefetch = ("task",)
    list_scopes = {"task__id__exact": "task_id"}
    search_fields = ("=task__id",)
    search_help_text = "Id of the task."
