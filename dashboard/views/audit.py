"""The audit log of the tenant: who changed what, with filters, and its export."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import islice
from typing import Any

import orjson
from django.http import HttpResponse
from django.shortcuts import render
from django.urls import NoReverseMatch, reverse

from api.audit.views import AUDIT_FILTERS
from api.protocol.query import choice, read_query
from dashboard.access import ConsoleRequest, page
from dashboard.listing import read_filters, read_page
from events.audit.exporting import FIELDS, export_entries
from events.audit.listing import last_number, list_entries, order_of
from insight.presentation.audit import present_entry
from shared.ids import parse_uuid
from shared.table_files import csv_lines
from tenants.choices import Role

#: The newest entries that the page exports; the command exports all.
MOST_EXPORTED = 10_000
#: Kind of object -> its page and the page's parameter.
_PAGES = {
    "task": "dashboard:task",
    "execution": "dashboard:execution",
    "dead_letter": "dashboard:dead_letter",
    "bulk_job": "dashboard:bulk_job",
    "calendar": "dashboard:calendar",
    "run": "dashboard:workflow_run",
    "alert": "dashboard:alert",
}
_NAMED_PAGES = {"pool": "dashboard:pool", "destination": "dashboard:destination"}
_FORMATS = {"csv": "text/csv; charset=utf-8", "jsonl": "application/jsonl"}


@page(Role.ADMIN)
def audit(request: ConsoleRequest) -> HttpResponse:
    """List the entries that match the filters, newest first."""
    query = read_filters(request, AUDIT_FILTERS)
    found = list_entries(request.visitor.tenant.pk, query)
    listed = read_page(found, query, present=_presented, order=order_of(query))
    filtered = any(query[name] for name in AUDIT_FILTERS)
    context = {
        **listed,
        "query": query,
        "since_text": request.GET.get("since", ""),
        "until_text": request.GET.get("until", ""),
        "filtered": filtered,
        "most": f"{MOST_EXPORTED:,}",
    }
    return render(request, "dashboard/audit.html", context)


@page(Role.ADMIN)
def export(request: ConsoleRequest) -> HttpResponse:
    """Download the newest entries, oldest of them first, with the codes that verify them."""
    wanted = read_query(request.GET, {"format": choice(*_FORMATS, default="jsonl")})["format"]
    tenant = request.visitor.tenant.pk
    first = max(1, last_number(tenant) - MOST_EXPORTED + 1)
    documents = islice(export_entries(tenant, first), MOST_EXPORTED)
    lines = csv_lines(FIELDS, documents) if wanted == "csv" else _json_lines(documents)
    answer = HttpResponse("".join(lines), content_type=_FORMATS[wanted])
    answer["Content-Disposition"] = f'attachment; filename="audit.{wanted}"'
    answer["Cache-Control"] = "no-store"
    return answer


def _presented(found: list[Any]) -> list[dict[str, Any]]:
    return [_shown(entry) for entry in found]


def _shown(entry: Any) -> dict[str, Any]:
    shown = present_entry(entry)
    changes = [
        {"field": one["field"], "was": _text(one["before"]), "now": _text(one["after"])}
        for one in shown["changes"]
    ]
    return {**shown, "changes": changes, "page": _page_of(entry)}


def _text(value: Any) -> str:
    """Return a value as text, '' for none; an empty text is seen by its quotes."""
    if value is None or (isinstance(value, str) and value):
        return value or ""
    return orjson.dumps(value).decode()


def _page_of(entry: Any) -> str:
    """Return the address of the page of an entry's object; '' for objects without a page."""
    try:
        if entry.object_kind in _NAMED_PAGES:
            return reverse(_NAMED_PAGES[entry.object_kind], args=[entry.object_id])
        if entry.object_kind in _PAGES:
            return reverse(_PAGES[entry.object_kind], args=[parse_uuid(entry.object_id)])
    except (ValueError, NoReverseMatch):
        pass
    return ""


def _json_lines(documents: Iterator[dict[str, Any]]) -> Iterator[str]:
    for document in documents:
        yield orjson.dumps({"schema": 1, **document}).decode() + "\n"
