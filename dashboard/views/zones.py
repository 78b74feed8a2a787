"""The zone database: its release, and the zone moves of the tenant's tasks."""

from __future__ import annotations

from typing import Any

from django.http import HttpResponse
from django.shortcuts import render

from dashboard.access import ConsoleRequest, page
from dashboard.listing import read_filters, read_page
from tasks.models import ZoneMove
from tasks.schedules.zones import release
from tasks.zone_changes import moves_of_tenant, present_zone_move, recorded_release
from tenants.choices import Role


@page(Role.VIEWER)
def zones(request: ConsoleRequest) -> HttpResponse:
    """List the moves, latest first."""
    query = read_filters(request, {})
    listed = read_page(
        moves_of_tenant(request.visitor.tenant.pk),
        query,
        present=_presented,
        order=("-noticed_at", "-id"),
    )
    return render(
        request,
        "dashboard/zones.html",
        {**listed, "query": query, "installed": release(), "recorded": recorded_release()},
    )


def _presented(moves: list[ZoneMove]) -> list[dict[str, Any]]:
    return [{**present_zone_move(move), "is_there": move.task.deleted_at is None} for move in moves]
