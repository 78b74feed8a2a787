"""Revisions of tasks in the admin, and the recorded rules of time zones.

Tasks themselves are in ``executions.admin``: their actions withdraw prepared executions.
"""

from __future__ import annotations

from django.contrib import admin

from shared.admin import ProductAdmin
from tasks.models import NamedSecret, SecretUse, TaskCursor, TaskRevision, ZoneMove, ZoneRules


@admin.register(TaskRevision)
class TaskRevisionAdmin(ProductAdmin):
    """A task's definition at one version; payload, headers and authentication are sealed."""

    list_display = ("task", "version", "changed_by", "created_at")
    list_prefetch = ("task",)
    list_scopes = {"task__id__exact": "task_id"}
    search_fields = ("=task__id",)
    search_help_text = "Id of the task."


@admin.register(TaskCursor)
class TaskCursorAdmin(ProductAdmin):
    """The cursor of a task's schedule, read-only."""

    list_display = ("task", "next_run_at", "occurrence_count", "held", "partition")
    list_prefetch = ("task",)
    list_scopes = {"task__id__exact": "task_id"}
    search_fields = ("=task__id",)
    search_help_text = "Id of the task."


@admin.register(NamedSecret)
class NamedSecretAdmin(ProductAdmin):
    """A named secret of a tenant, without its value; the console's page Secrets changes it."""

    list_display = ("name", "tenant", "version", "changed_by", "written_at")
    list_prefetch = ("tenant",)
    list_scopes = {"tenant__id__exact": "tenant_id"}
    search_fields = ("=name",)
    search_help_text = "Name of the secret."


@admin.register(SecretUse)
class SecretUseAdmin(ProductAdmin):
    """That the current version of a task names a secret."""

    list_display = ("secret", "task")
    list_prefetch = ("secret", "task")
    list_scopes = {"task__id__exact": "task_id"}
    search_fields = ("=task__id",)
    search_help_text = "Id of the task."


@admin.register(ZoneRules)
class ZoneRulesAdmin(ProductAdmin):
    """The changes of a zone's clock that schedules were computed with; the check writes them."""

    list_display = ("name", "release", "seen_at")
    search_fields = ("=name",)
    search_help_text = "Name of the zone."


@admin.register(ZoneMove)
class ZoneMoveAdmin(ProductAdmin):
    """A task whose future moved with a new release of the zone database."""

    list_display = ("task", "zone", "from_release", "to_release", "moved_count", "noticed_at")
    list_prefetch = ("task",)
    list_scopes = {"task__id__exact": "task_id"}
    search_fields = ("=task__id",)
    search_help_text = "Id of the task."
