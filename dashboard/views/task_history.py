"""What a task did and what is to come of it: its statistics, its days, its versions."""

from __future__ import annotations

from datetime import datetime
from typing import Any
from urllib.parse import urlencode
from uuid import UUID

from django.http import HttpResponse
from django.shortcuts import redirect, render
from django.urls import reverse

from api.protocol.query import choice, integer
from dashboard.access import ConsoleRequest, page
from dashboard.listing import read_filters
from insight.filter_language.tokens import quoted
from insight.statistics.of_task import (
    DEFAULT_WINDOW,
    MOST_ROWS,
    WINDOWS,
    Cause,
    TaskHistory,
    history_of,
)
from insight.task_calendar import TaskDay, calendar_of
from insight.version_diff import MOST_LINES, compare_versions
from shared.clock_text import field_text
from shared.instants import format_instant
from tasks.definition import WORKFLOW_POOL
from tasks.models import Task
from tasks.revisions import own_revisions
from tenants.choices import Role

_WORDS = {"24h": "last 24 hours", "7d": "last 7 days", "30d": "last 30 days"}
_VERSIONS = 50
_MOST_VERSION = 2**30


@page(Role.VIEWER)
def task_statistics(request: ConsoleRequest, task_id: UUID) -> HttpResponse:
    """Show success, durations, start delays and failures of a window, and the days."""
    task: Task = Task.objects.get_for_tenant(request.visitor.tenant.pk, task_id)
    if task.pool == WORKFLOW_POOL:
        return redirect("dashboard:workflow", task_id)
    query = read_filters(request, {"window": choice(*WINDOWS, default=DEFAULT_WINDOW)})
    found = history_of(task, query["window"])
    calendar = calendar_of(task, found.until)
    return render(
        request,
        "dashboard/task_statistics.html",
        {
            "task": task,
            "found": found,
            "windows": [(name, words, name == found.window) for name, words in _WORDS.items()],
            "causes": _causes(task, found),
            "most": MOST_ROWS,
            "calendar": calendar,
            "day_links": {one.day: _day_link(task, one, calendar.now) for one in calendar.days},
        },
    )


@page(Role.VIEWER)
def task_versions(request: ConsoleRequest, task_id: UUID) -> HttpResponse:
    """Show two versions of a task side by side, by default the one in force and the one before."""
    task: Task = Task.objects.get_for_tenant(request.visitor.tenant.pk, task_id)
    if task.pool == WORKFLOW_POOL:
        return redirect("dashboard:workflow", task_id)
    parameter = integer("A version.", minimum=1, maximum=_MOST_VERSION)
    query = read_filters(request, {"before": parameter, "after": parameter})
    after = query["after"] or task.version
    before = query["before"] or max(1, after - 1)
    diff = compare_versions(task, before, after)
    newest = own_revisions(task).order_by("-version")[:_VERSIONS]
    choices = {one.version: one for one in (*newest, diff.before, diff.after)}
    return render(
        request,
        "dashboard/task_versions.html",
        {
            "task": task,
            "diff": diff,
            "before": before,
            "after": after,
            "versions": [choices[number] for number in sorted(choices, reverse=True)],
            "most": MOST_LINES,
        },
    )


def _day_link(task: Task, one: TaskDay, now: datetime) -> str:
    """Return where a day leads: to its executions, or to its coming instants."""
    if one.start <= now:
        return _executions(task, one.start, until=one.end)
    query = {"from": field_text(one.start), "to": field_text(one.end)}
    return f"{reverse('dashboard:task_occurrences', args=[task.pk])}?{urlencode(query)}"


def _causes(task: Task, found: TaskHistory) -> list[dict[str, Any]]:
    """Return the causes, each with the list of its executions."""
    return [
        {
            "name": cause.error_code,
            "answer": cause.response_status,
            "count": cause.count,
            "share": cause.count / max(1, found.total.failed),
            "last_at": cause.last_at,
            "last_url": reverse("dashboard:execution", args=[cause.last_id]),
            "url": _executions(task, found.since, status="FAILED", filter=_filter_of(cause)),
        }
        for cause in found.causes
    ]


def _filter_of(cause: Cause) -> str:
    """Return the terms of a filter that only failures of the cause match."""
    status = cause.response_status
    http = "-http:>=100" if status is None else f"http:{status}"
    return f"error:{quoted(cause.error_code)} {http}" if cause.error_code else http


def _executions(task: Task, since: datetime, until: datetime | None = None, **more: str) -> str:
    """Return the list of the task's executions of a stretch."""
    query = {"task": str(task.pk), "since": format_instant(since), **more}
    if until is not None:
        query["until"] = format_instant(until)
    return f"{reverse('dashboard:executions')}?{urlencode(query)}"
