"""Shared parts of the runtime's lists: search that an index answers, names of tasks, filters."""

from __future__ import annotations

from typing import Any
from uuid import UUID

from django.contrib import admin
from django.db.models import QuerySet
from django.http import HttpRequest
from django.urls import reverse

from executions.dead_letters.letters import RESERVED_RESOLUTIONS, USUAL_RESOLUTIONS
from shared.admin import link
from shared.admin.keyset import newest, uuid_or_none
from tasks.models import Task

_USUAL = (
    "http_status",
    "timeout_total",
    "timeout_connect",
    "connection_refused",
    "connection_reset",
    "dns_failed",
    "tls_failed",
    "worker_lost",
)
#: Maximum number of tasks whose name begins with the searched text; more would be no answer.
_NAMED = 50


def found_by_task(rows: QuerySet[Any], text: str, *keys: str) -> QuerySet[Any]:
    """Return the rows with this id, else of this task, else of tasks whose name begins with it."""
    key = uuid_or_none(text)
    if key is None:
        return rows.filter(task_id__in=tasks_named(text))
    for column in keys:
        if rows.model._default_manager.filter(**{column: key}).exists():
            return rows.filter(**{column: key})
    return rows.filter(task_id=key)


def tasks_named(text: str) -> list[UUID]:
    """Return ids of the newest tasks whose name begins with the text, within one window."""
    named = newest(Task.objects.all()).filter(name__istartswith=text)
    return list(named.order_by("-pk").values_list("pk", flat=True)[:_NAMED])


def task_name(row: Any) -> str:
    """Return the name of the row's task, which the page has read; its id if the task is gone."""
    task = row._state.fields_cache.get("task")
    return str(task.name if task else row.task_id)


def task_link(row: Any) -> str:
    """Return the task's name, linked to its page."""
    return link(reverse("admin:tasks_task_change", args=[row.task_id]), task_name(row))


class ResolutionFilter(admin.SimpleListFilter):
    """Dead letters by the word for the way they were settled."""

    title = "resolution"
    parameter_name = "resolution"

    def lookups(self, request: HttpRequest, model_admin: Any) -> list[tuple[Any, str]]:
        """Return the usual words; any other is taken from the address bar."""
        return [
            (word, word.replace("_", " ")) for word in (*RESERVED_RESOLUTIONS, *USUAL_RESOLUTIONS)
        ]

    def queryset(self, request: HttpRequest, queryset: QuerySet[Any]) -> QuerySet[Any]:
        """Return the letters with the chosen resolution."""
        chosen = self.value()
        return queryset if chosen is None else queryset.filter(resolved=True, resolution=chosen)


class ErrorCodeFilter(admin.SimpleListFilter):
    """Failures by their code; offers the codes that workers and receivers cause most."""

    title = "error code"
    parameter_name = "error_code"

    def lookups(self, request: HttpRequest, model_admin: Any) -> list[tuple[Any, str]]:
        """Return the usual codes; any other is taken from the address bar."""
        return [(code, code) for code in _USUAL]

    def queryset(self, request: HttpRequest, queryset: QuerySet[Any]) -> QuerySet[Any]:
        """Return the rows with the chosen code."""
        chosen = self.value()
        return queryset if chosen is None else queryset.filter(error_code=chosen)
