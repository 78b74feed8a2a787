"""Executions and their attempts in the admin; cancel and retry by the services of the API."""

from __future__ import annotations

from typing import Any

from django.contrib import admin
from django.db.models import QuerySet
from django.http import HttpRequest
from django.urls import reverse

from executions.admin.lookups import ErrorCodeFilter, found_by_task, task_link, task_name
from executions.attempts import of_id
from executions.changes.cancellation import cancel_execution
from executions.choices import FINAL
from executions.models import Attempt, Execution
from executions.triggering.triggers import retry_execution
from shared.admin import ProductAdmin, Verb, admin_action, link
from shared.admin.keyset import uuid_or_none
from tenants.admin import TenantFilter

CANCEL = Verb(
    "cancel",
    "Cancel",
    "cancelled",
    lambda row, actor, options: cancel_execution(row.tenant_id, row.id, actor=actor),
    skip=lambda row: f"already {row.status.lower()}" if row.status in FINAL else "",
    warning="Executions that have not started never start. Running ones are aborted, "
    "and their receivers may have done the work already.",
)
RETRY = Verb(
    "retry",
    "Retry",
    "retried",
    lambda row, actor, options: retry_execution(row.tenant_id, row.id, None, actor=actor),
    skip=lambda row: "" if row.status in FINAL else f"still {row.status.lower()}",
    warning="Each of these runs again as a new execution, with its own payload and the task's "
    "current target. Executions that had succeeded call their target a second time too.",
)


@admin.register(Execution)
class ExecutionAdmin(ProductAdmin):
    """The ledger, newest nominal time first."""

    list_display = (
        "short_id", "task_name", "status", "scheduled_for", "response_status", "error_code",
        "tries", "console",
    )  # fmt: skip
    list_filter = ("status", "trigger", ErrorCodeFilter, TenantFilter)
    list_prefetch = ("task",)
    list_scopes = {"tenant": "tenant_id", "task__id__exact": "task_id"}
    search_fields = ("=id",)
    search_help_text = "Id of an execution or a task, or how a task's name begins."
    actions = (admin_action(CANCEL), admin_action(RETRY))
    console_kind = "execution"

    @admin.display(description="Task")
    def task_name(self, row: Execution) -> str:
        """Return the link to the task."""
        return task_link(row)

    @admin.display(description="Attempts")
    def tries(self, row: Execution) -> str:
        """Return how many attempts were started, linked to them."""
        path = reverse(
            "admin:executions_attempt_changelist", query={"execution__id__exact": str(row.pk)}
        )
        return link(path, row.attempt) if row.attempt else "0"

    def get_search_results(
        self, request: HttpRequest, queryset: QuerySet[Any], search_term: str
    ) -> tuple[QuerySet[Any], bool]:
        """Find by id, task or how the task's name begins."""
        text = search_term.strip()
        return (found_by_task(queryset, text, "pk") if text else queryset), False

    def describe(self, row: Any) -> str:
        """Return its task, when it was due, and its state."""
        return f"{task_name(row)}, due {row.due_at:%Y-%m-%d %H:%M:%S} UTC ({row.status.lower()})"


@admin.register(Attempt)
class AttemptAdmin(ProductAdmin):
    """Every attempt with its outcome; the answer is sealed."""

    list_display = (
        "short_id", "execution_id", "number", "outcome", "response_status", "error_code", "worker",
        "started_at", "finished_at",
    )  # fmt: skip
    list_filter = ("outcome", ErrorCodeFilter)
    list_scopes = {"execution__id__exact": "execution_id"}
    search_fields = ("=id",)
    search_help_text = "Id of an attempt or an execution."
    raw_id_fields = ("execution",)
    list_key = ("execution_id", "id")

    def get_object(
        self, request: HttpRequest, object_id: str, from_field: str | None = None
    ) -> Attempt | None:
        """Find by id within its millisecond: no index begins with the id."""
        key = uuid_or_none(object_id)
        return None if key is None else of_id(self.get_queryset(request), key).first()

    def get_search_results(
        self, request: HttpRequest, queryset: QuerySet[Any], search_term: str
    ) -> tuple[QuerySet[Any], bool]:
        """Find by id or by the execution."""
        text = search_term.strip()
        if not text:
            return queryset, False
        key = uuid_or_none(text)
        if key is None:
            return queryset.none(), False
        of_execution = queryset.filter(execution_id=key)
        return (of_execution if of_execution.exists() else of_id(queryset, key)), False
