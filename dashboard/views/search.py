"""The search field: an id jumps to its page, a word finds tasks, executions and pages by name."""

from __future__ import annotations

from typing import Any
from uuid import UUID

from django.http import HttpResponse
from django.shortcuts import redirect, render
from django.urls import reverse

from dashboard.access import ConsoleRequest, page
from dashboard.context import PLACES
from executions.models import DeadLetter, Execution
from tasks.models import Task
from tenants.choices import Role

_LIMIT = 8
_MAX_QUERY = 200


@page(Role.VIEWER)
def search(request: ConsoleRequest) -> HttpResponse:
    """Open the page of an id, else list the matches; a fragment for the field itself."""
    query = request.GET.get("q", "").replace("\0", "").strip()[:_MAX_QUERY]
    as_you_type = request.headers.get("HX-Request") == "true"
    target = _place_of_id(request, query)
    if target and not as_you_type:
        return redirect(target)
    found: dict[str, Any] = {"query": query, "jump": target, "pages": [], "tasks": []}
    if query and not target:
        found["pages"] = [
            {"label": place.label, "url": reverse(f"dashboard:{place.name}")}
            for place in PLACES
            if query.lower() in place.label.lower()
        ]
        tasks = Task.objects.for_tenant(request.visitor.tenant.pk).matching(query)
        found["tasks"] = list(tasks.order_by("-created_at", "-id")[:_LIMIT])
    template = "_search_results.html" if as_you_type else "search.html"
    return render(request, f"dashboard/{template}", found)


def _place_of_id(request: ConsoleRequest, text: str) -> str:
    try:
        wanted = UUID(text)
    except ValueError:
        return ""
    tenant = request.visitor.tenant.pk
    if Task.objects.for_tenant(tenant).filter(pk=wanted).exists():
        return reverse("dashboard:task", args=[wanted])
    if Execution.objects.for_tenant(tenant).filter(pk=wanted).exists():
        return reverse("dashboard:execution", args=[wanted])
    if DeadLetter.objects.for_tenant(tenant).filter(pk=wanted).exists():
        return reverse("dashboard:dead_letter", args=[wanted])
    return ""
