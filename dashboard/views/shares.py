"""Shares: what the tenant received of scarce worker capacity, beside what its weight made due."""

from __future__ import annotations

from django.http import HttpResponse
from django.shortcuts import render

from api.protocol.query import integer
from dashboard.access import ConsoleRequest, page
from dashboard.listing import read_filters
from insight.statistics.shares import MINUTES, MOST_MINUTES, shares_of
from tenants.choices import Role

_MINUTES = integer(minimum=1, maximum=MOST_MINUTES)
#: The spans that the page offers, in minutes.
SPANS = ((60, "1 hour"), (360, "6 hours"), (1440, "1 day"))
#: Minutes of a pool that the table lists, the last ones.
_LISTED = 60


@page(Role.VIEWER)
def shares(request: ConsoleRequest) -> HttpResponse:
    """Show the share of each pool that was scarce."""
    minutes = read_filters(request, {"minutes": _MINUTES})["minutes"] or MINUTES
    tenant = request.visitor.tenant
    found = [
        {"share": one, "ratio": _percent(one.ratio), "listed": one.minutes[: -_LISTED - 1 : -1]}
        for one in shares_of(tenant.pk, minutes)
    ]
    context = {"pools": found, "minutes": minutes, "spans": SPANS, "weight": tenant.weight}
    return render(request, "dashboard/shares.html", context)


def _percent(ratio: float | None) -> str:
    return "–" if ratio is None else f"{ratio:.0%}"
