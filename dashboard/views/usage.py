"""Usage: what the tenant has used by day, as a picture, a table and CSV."""

from __future__ import annotations

from typing import Any

from django.http import HttpResponse
from django.shortcuts import render

from api.protocol.query import Parameter
from dashboard.access import ConsoleRequest, page
from dashboard.listing import read_filters
from insight.presentation.usage import total_of, usage_csv
from insight.statistics.usage import Span, read_day, span_of, usage_of
from tenants.choices import Role

_DAY = Parameter(read_day, {"type": "string", "format": "date"})


@page(Role.VIEWER)
def usage(request: ConsoleRequest) -> HttpResponse:
    """Show the usage of the days asked for, 30 unless given."""
    span = _span(request)
    days = usage_of(request.visitor.tenant.pk, span)
    total: dict[str, Any] = total_of(days)
    context = {
        "first": str(span.first),
        "last": str(span.last),
        "days": days,
        "total": total,
        "total_ms": total["execution_seconds"] * 1000,
        "used": any(total.values()),
    }
    return render(request, "dashboard/usage.html", context)


@page(Role.VIEWER)
def usage_as_csv(request: ConsoleRequest) -> HttpResponse:
    """Send the same days as a file."""
    span = _span(request)
    text = usage_csv(usage_of(request.visitor.tenant.pk, span))
    answer = HttpResponse(text, content_type="text/csv; charset=utf-8")
    name = f"usage-{span.first}-{span.last}.csv"
    answer["Content-Disposition"] = f'attachment; filename="{name}"'
    return answer


def _span(request: ConsoleRequest) -> Span:
    query = read_filters(request, {"from": _DAY, "to": _DAY})
    return span_of(query["from"], query["to"])
