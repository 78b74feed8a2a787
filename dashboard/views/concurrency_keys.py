"""Concurrency keys: what runs under each key that tasks share, and how much waits for it."""

from __future__ import annotations

from django.http import HttpResponse
from django.shortcuts import render

from api.protocol.query import text
from dashboard.access import ConsoleRequest, page
from dashboard.listing import PAGE_ROWS, read_filters
from executions.gate.key_list import MOST_WAITING, list_keys
from tasks.choices import CONCURRENCY_KEY_LENGTH
from tenants.choices import Role

_PARAMETERS = {
    "q": text(max_length=CONCURRENCY_KEY_LENGTH),
    "after": text(max_length=CONCURRENCY_KEY_LENGTH),
}


@page(Role.VIEWER)
def concurrency_keys(request: ConsoleRequest) -> HttpResponse:
    """List the keys that have open work, by name."""
    query = read_filters(request, _PARAMETERS)
    found = list_keys(
        request.visitor.tenant.pk,
        q=query["q"],
        after=query["after"] or "",
        limit=PAGE_ROWS + 1,
    )
    rows = found[:PAGE_ROWS]
    return render(
        request,
        "dashboard/concurrency_keys.html",
        {
            "rows": rows,
            "q": query["q"] or "",
            "after": query["after"] or "",
            "next_after": rows[-1].key if len(found) > PAGE_ROWS else "",
            "most_waiting": MOST_WAITING,
        },
    )
