"""Tasks in the admin: pause, resume, run now and cancel by the services of the API."""

from __future__ import annotations

from datetime import datetime
from typing import Any

from django.contrib import admin
from django.db.models import QuerySet
from django.http import HttpRequest
from django.urls import reverse

from executions.changes import changing
from executions.triggering.triggers import run_task
from shared.admin import ProductAdmin, Verb, admin_action, link
from tasks.choices import TaskStatus, TaskType
from tasks.models import Task
from tasks.presentation import next_moment
from tasks.transitions import Pause
from tenants.admin import TenantFilter

PAUSE = Verb(
    "pause",
    "Pause",
    "paused",
    lambda task, actor, options: changing.pause_task(task.tenant_id, task.id, Pause(), actor=actor),
    skip=lambda task: "already paused" if task.status == TaskStatus.PAUSED else "",
)
RESUME = Verb(
    "resume",
    "Resume",
    "resumed",
    lambda task, actor, options: changing.resume_task(task.tenant_id, task.id, actor=actor),
    skip=lambda task: "" if task.status == TaskStatus.PAUSED else "not paused",
)
RUN = Verb(
    "run",
    "Run now",
    "started",
    lambda task, actor, options: run_task(task.tenant_id, task.id, None, actor=actor),
    warning="Each of these calls its target once, now, beside its schedule.",
)
CANCEL = Verb(
    "cancel",
    "Cancel",
    "cancelled",
    lambda task, actor, options: changing.cancel_task(task.tenant_id, task.id, actor=actor),
    skip=lambda task: "already cancelled" if task.status == TaskStatus.CANCELLED else "",
    warning="These tasks end: no further runs, and executions that have not started never start. "
    "A cancelled task cannot be resumed. Executions already running continue.",
)


class StatusFilter(admin.SimpleListFilter):
    """Tasks in one state; deleted ones are a state of their own here."""

    title = "status"
    parameter_name = "status"

    def lookups(self, request: HttpRequest, model_admin: Any) -> list[tuple[Any, str]]:
        """Return the states."""
        return [
            *((value, value.capitalize()) for value in TaskStatus.values),
            ("DELETED", "Deleted"),
        ]

    def queryset(self, request: HttpRequest, queryset: QuerySet[Any]) -> QuerySet[Any]:
        """Return the tasks in the state."""
        chosen = self.value()
        if chosen == "DELETED":
            return queryset.filter(deleted_at__isnull=False)
        if chosen is None:
            return queryset
        return queryset.filter(status=chosen, deleted_at__isnull=True)


class TypeFilter(admin.SimpleListFilter):
    """One-time or recurring."""

    title = "type"
    parameter_name = "type"

    def lookups(self, request: HttpRequest, model_admin: Any) -> list[tuple[Any, str]]:
        """Return the types."""
        return [(choice.value, choice.label) for choice in TaskType]

    def queryset(self, request: HttpRequest, queryset: QuerySet[Any]) -> QuerySet[Any]:
        """Return the tasks of the type."""
        chosen = self.value()
        return queryset if chosen is None else queryset.filter(type=chosen)


@admin.register(Task)
class TaskAdmin(ProductAdmin):
    """Tasks of every tenant, newest first; they are edited in the console or by the API."""

    list_display = (
        "name", "state", "type", "next_run", "last_execution_status", "ledger", "console",
        "tenant",
    )  # fmt: skip
    list_filter = (StatusFilter, TypeFilter, TenantFilter)
    list_prefetch = ("tenant",)
    list_scopes = {"tenant": "tenant_id"}
    search_fields = ("=id", "^name")
    search_help_text = "Id, or how the name begins."
    actions = (admin_action(PAUSE), admin_action(RESUME), admin_action(RUN), admin_action(CANCEL))
    console_kind = "task"

    @admin.display(description="Status")
    def state(self, task: Task) -> str:
        """Return the task's state; a deleted task shows ``Deleted`` instead of its last state."""
        return "Deleted" if task.deleted_at else task.status.capitalize()

    @admin.display(description="Next run", ordering="cursor__next_run_at", empty_value="-")
    def next_run(self, task: Task) -> datetime | None:
        """Return when the task runs next; None for a paused or deleted task."""
        return None if task.deleted_at else next_moment(task, task.next_run_at)

    @admin.display(description="Executions")
    def ledger(self, task: Task) -> str:
        """Return the link to the task's executions."""
        path = reverse(
            "admin:executions_execution_changelist", query={"task__id__exact": str(task.pk)}
        )
        return link(path, "List")

    def describe(self, row: Any) -> str:
        """Return the task's name and state."""
        return f"{row.name} ({row.status.lower()})"
