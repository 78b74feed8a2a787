"""Executions over time: a lane for each task, worker or destination of a window."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

from django.http import HttpResponse
from django.shortcuts import render
from django.urls import reverse

from api.protocol.query import choice, choices, uuid
from dashboard.access import ConsoleRequest, page
from dashboard.listing import read_filters
from dashboard.pictures.timeline import TimelineBar
from executions.choices import Status
from executions.loop.clocks import database_now
from executions.models import Execution
from insight.list_budget import read_list
from shared.process_sight import shown_worker
from tasks.definition import plain_pool
from tasks.models import Task
from tenants.choices import Role

WINDOWS = {
    "5m": ("5 minutes", timedelta(minutes=5)),
    "15m": ("15 minutes", timedelta(minutes=15)),
    "1h": ("hour", timedelta(hours=1)),
    "6h": ("6 hours", timedelta(hours=6)),
    "24h": ("24 hours", timedelta(hours=24)),
}
_BY = ("task", "worker", "destination")
_PARAMETERS = {
    "window": choice(*WINDOWS, default="1h"),
    "by": choice(*_BY, default="task"),
    "task": uuid(),
    "status": choices(*Status.values),
}
#: Executions that are read, the newest of the window.
MOST_ROWS = 400
_ADVICE = "Choose a shorter window, or open it from the page of one task."


@page(Role.VIEWER)
def executions_timeline(request: ConsoleRequest) -> HttpResponse:
    """Show when the executions of a window ran; the newest 400 that have begun.

    Of a window with very many that have not, the answer is 400 with advice.
    """
    query = read_filters(request, _PARAMETERS)
    tenant, now = request.visitor.tenant.pk, database_now()
    since = now - WINDOWS[query["window"]][1]
    wanted = {"since": since, "until": now, "task": query["task"], "status": query["status"]}
    found = Execution.objects.for_tenant(tenant).filtered(wanted)
    begun = found.filter(started_at__isnull=False).order_by("-id")
    rows = read_list(lambda: list(begun[: MOST_ROWS + 1]), advice=_ADVICE)
    shown = rows[:MOST_ROWS]
    tasks = Task.objects.filter(tenant_id=tenant, pk__in={row.task_id for row in shown})
    names = dict(tasks.values_list("pk", "name"))
    return render(
        request,
        "dashboard/timeline.html",
        {
            "bars": [_bar(row, names, query["by"]) for row in shown],
            "now": now,
            "since": since,
            "query": query,
            "by": query["by"],
            "cut": len(rows) > MOST_ROWS,
            "most": MOST_ROWS,
            "windows": [(name, words, name == query["window"]) for name, (words, _) in
                        WINDOWS.items()],
            "lanes": [(name, name == query["by"]) for name in _BY],
            "task": Task.objects.filter(tenant_id=tenant, pk=query["task"]).first()
            if query["task"] else None,
        },
    )  # fmt: skip


def _bar(row: Execution, names: dict[Any, str], by: str) -> TimelineBar:
    name = names.get(row.task_id) or "(deleted task)"
    lanes = {
        "task": name,
        "worker": shown_worker(row.worker) or "no worker",
        "destination": row.destination or f"pool {plain_pool(row.pool)}",
    }
    begin = row.started_at or row.due_at
    ended = row.finished_at
    return TimelineBar(
        lane=lanes[by],
        name=name,
        state=str(row.status),
        begin=begin,
        end=None if ended is None else max(begin, ended),
        href=reverse("dashboard:execution", args=[row.pk]),
    )
