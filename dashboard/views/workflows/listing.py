"""The list of workflows, each with its latest run."""

from __future__ import annotations

from collections import Counter
from typing import Any
from uuid import UUID

from django.http import HttpResponse
from django.shortcuts import render

from api.protocol.query import choices, text
from dashboard.access import ConsoleRequest, page
from dashboard.listing import read_filters, read_page
from dashboard.step_facts import in_order, states_of
from executions.loop.clocks import database_now
from insight.presentation.workflows import present_listed_workflows
from insight.run_waits import waits_of, waits_text
from insight.workflow_runs import SeenRun, latest_runs, latest_takes, see
from tasks.choices import TaskStatus
from tasks.definition import WORKFLOW_POOL
from tasks.limits import OWNER_LENGTH
from tasks.models import Task
from tenants.choices import Role

_PARAMETERS = {
    "status": choices(*TaskStatus.values),
    "label": text(),
    "owner": text(max_length=OWNER_LENGTH),
    "q": text(),
}


@page(Role.VIEWER)
def workflows(request: ConsoleRequest) -> HttpResponse:
    """List workflows, newest first, each with its latest run."""
    query = read_filters(request, _PARAMETERS)
    tenant = request.visitor.tenant.pk
    found = Task.objects.for_tenant(tenant).filter(pool=WORKFLOW_POOL).filtered(query)
    listed = read_page(found, query, present=present_listed_workflows, order=("-created_at", "-id"))
    latest = _latest(tenant, [UUID(row["id"]) for row in listed["rows"]])
    for row in listed["rows"]:
        row["latest"] = latest.get(row["id"])
    return render(
        request,
        "dashboard/workflows.html",
        {
            **listed,
            "query": query,
            "statuses": [
                {"label": "All", "value": "", "here": not query["status"]},
                *(
                    {"label": name.title(), "value": name, "here": name in (query["status"] or [])}
                    for name in TaskStatus.values
                ),
            ],
            "filtered": any(query[name] for name in _PARAMETERS),
        },
    )


def _latest(tenant_id: UUID, task_ids: list[UUID]) -> dict[str, dict[str, Any]]:
    """Return the latest run of each workflow, with its counts in the order of the states."""
    if not task_ids:
        return {}
    firsts = latest_runs(tenant_id, task_ids, database_now())
    found = see(latest_takes(list(firsts.values())))
    return {str(run.take.execution.task_id): _run(run) for run in found}


def _run(seen: SeenRun) -> dict[str, Any]:
    execution = seen.take.execution
    return {
        "id": str(seen.take.run_id),
        "status": str(execution.status),
        "scheduled_for": execution.scheduled_for,
        "counts": in_order(Counter(states_of(seen).values())),
        "waits": waits_text(waits_of(seen)),
    }
