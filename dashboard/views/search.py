"""The search page, and the answers of the command palette: pages and tasks by name, rows by id."""

from __future__ import annotations

from typing import Any

from django.http import HttpResponse, JsonResponse
from django.shortcuts import redirect, render
from django.utils.cache import patch_vary_headers

from dashboard.access import ConsoleRequest, page
from dashboard.palette import (
    MAX_QUERY,
    find_by_id,
    id_in,
    matching_pages,
    matching_tasks,
    pages_of,
    shown_task,
)
from tenants.choices import Role


@page(Role.VIEWER)
def search(request: ConsoleRequest) -> HttpResponse:
    """Open the page of an id, else list the matches; as JSON for the palette, which opens nothing.

    Without a query the palette gets the pages that the visitor may open.
    """
    query = request.GET.get("q", "").replace("\0", "").strip()[:MAX_QUERY]
    wanted, tenant = id_in(query), request.visitor.tenant.pk
    found = None if wanted is None else find_by_id(tenant, wanted)
    answer: HttpResponse
    if request.headers.get("Accept") == "application/json":
        answer = JsonResponse(_for_palette(request, query, found))
    elif found is not None:
        answer = redirect(found.url)
    else:
        asked = query if query and wanted is None else ""
        listed = {
            "query": query,
            "wanted": wanted,
            "pages": matching_pages(request.visitor, asked) if asked else [],
            "tasks": [shown_task(one) for one in matching_tasks(tenant, asked)] if asked else [],
        }
        answer = render(request, "dashboard/search.html", listed)
    patch_vary_headers(answer, ["Accept"])
    return answer


def _for_palette(request: ConsoleRequest, query: str, found: Any) -> dict[str, Any]:
    if not query:
        return {"pages": pages_of(request.visitor)}
    if found is not None:
        return {"found": found._asdict(), "tasks": []}
    tasks = matching_tasks(request.visitor.tenant.pk, query)
    return {"found": None, "tasks": [shown_task(one) for one in tasks]}
