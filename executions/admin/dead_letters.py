"""Dead letters in the admin: retry, resolve and archive by the services of the API."""

from __future__ import annotations

from typing import Any

from django import forms
from django.contrib import admin
from django.db.models import QuerySet
from django.http import HttpRequest

from executions.admin.lookups import (
    ErrorCodeFilter,
    ResolutionFilter,
    found_by_task,
    task_link,
    task_name,
)
from executions.dead_letters.letters import (
    archive_dead_letter,
    resolve_dead_letter,
    retry_dead_letter,
)
from executions.models import DeadLetter
from shared.admin import NoteForm, ProductAdmin, Verb, admin_action
from tenants.admin import TenantFilter


class ResolveForm(NoteForm):
    """How the failure was settled, and why."""

    resolution = forms.CharField(
        max_length=40,
        initial="fixed",
        help_text="A word of your own; “retried” and “archived” are taken.",
    )
    field_order = ("resolution", "note")


def _skip(letter: DeadLetter) -> str:
    return f"already {letter.resolution}" if letter.resolved else ""


RETRY = Verb(
    "retry",
    "Retry",
    "retried",
    lambda row, actor, options: retry_dead_letter(row.tenant_id, row.id, None, actor=actor),
    skip=_skip,
    warning="Each of these runs again, with its own payload and the task's current target, "
    "and is resolved as retried.",
)
RESOLVE = Verb(
    "resolve",
    "Resolve",
    "resolved",
    lambda row, actor, options: resolve_dead_letter(
        row.tenant_id,
        row.id,
        resolution=options["resolution"],
        note=options["note"],
        actor=actor,
    ),
    skip=_skip,
    warning="These are closed without running again. A resolved dead letter is not opened again.",
    form=ResolveForm,
)
ARCHIVE = Verb(
    "archive",
    "Archive",
    "archived",
    lambda row, actor, options: archive_dead_letter(
        row.tenant_id, row.id, note=options["note"], actor=actor
    ),
    skip=_skip,
    warning="These are put aside without running again, and stay readable.",
    form=NoteForm,
)


@admin.register(DeadLetter)
class DeadLetterAdmin(ProductAdmin):
    """Dead letters, newest first."""

    list_display = (
        "short_id", "task_name", "error_signature", "attempt_count", "created_at", "resolved",
        "resolution", "console",
    )  # fmt: skip
    list_filter = ("resolved", ResolutionFilter, ErrorCodeFilter, TenantFilter)
    list_prefetch = ("task",)
    list_scopes = {"tenant": "tenant_id", "task__id__exact": "task_id"}
    search_fields = ("=id",)
    search_help_text = "Id of a dead letter, an execution or a task, or how a task's name begins."
    actions = (admin_action(RETRY), admin_action(RESOLVE), admin_action(ARCHIVE))
    console_kind = "dead_letter"

    @admin.display(description="Task")
    def task_name(self, row: DeadLetter) -> str:
        """Return the link to the task."""
        return task_link(row)

    def get_search_results(
        self, request: HttpRequest, queryset: QuerySet[Any], search_term: str
    ) -> tuple[QuerySet[Any], bool]:
        """Find by id, execution, task or how the task's name begins."""
        text = search_term.strip()
        return (found_by_task(queryset, text, "pk", "execution_id") if text else queryset), False

    def describe(self, row: Any) -> str:
        """Return its task, and the time and cause of the failure."""
        return f"{task_name(row)}, {row.created_at:%Y-%m-%d %H:%M:%S} UTC: {row.error_signature}"
