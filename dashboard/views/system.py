"""The installation for its operators: servers, partitions, tables, clocks, and what to send on.

Members see nothing of it, unless the operator has made processes public.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import asdict
from functools import wraps
from typing import Any

import orjson
from django.http import HttpResponse
from django.shortcuts import render
from django.template.defaultfilters import filesizeformat

from dashboard.access import ConsoleRequest, page, refuse
from dashboard.pictures.partition_map import PartitionCell
from dashboard.views.demo import may_break
from insight import installation, takeovers
from insight.statistics import fleet
from shared.clock_watch import TOLERATED_SECONDS
from shared.process_sight import is_hidden
from shared.redis_client import ConnectionFailed
from tenants.choices import Role

#: The tables that hold most; the bundle has all.
_TABLES = 10

View = Callable[[ConsoleRequest], HttpResponse]


def _for_operators(view: View) -> View:
    """Let a page be read by those who may see processes."""

    @wraps(view)
    def shown(request: ConsoleRequest) -> HttpResponse:
        if is_hidden():
            detail = (
                "This page is about the whole installation. Operators see it: staff accounts that "
                "may view schedulers and workers, or everyone where PROCESSES_PUBLIC is on."
            )
            return refuse(request, 403, "Not allowed", detail)
        return view(request)

    return shown


@page(Role.VIEWER)
@_for_operators
def system(request: ConsoleRequest) -> HttpResponse:
    """Show servers, partitions, tables, clocks and versions."""
    schedulers = fleet.schedulers()
    names = {one.id: one.name for one in schedulers}
    partitions = fleet.partition_map()
    cells = [
        PartitionCell(one.partition, names.get(one.owner, "gone") if one.owner else None, one.epoch)
        for one in partitions
    ]
    tables = installation.tables()
    shown = {
        "cells": cells,
        "owned": sum(one.owned for one in partitions),
        "schedulers": schedulers,
        "live_schedulers": sum(one.live for one in schedulers),
        **_live(),
        "database": installation.database(),
        "redis": _redis(),
        "tables": [_table(one) for one in tables[:_TABLES]],
        "table_count": len(tables),
        "table_bytes": filesizeformat(sum(one.bytes for one in tables)),
        "history": installation.history(),
        "clocks": _clocks(),
        "losses": takeovers.read(),
        "most_losses": takeovers.MOST,
        "versions": installation.versions(),
        "may_break": may_break(request),
    }
    return render(request, "dashboard/system.html", shown)


@page(Role.VIEWER)
@_for_operators
def support_bundle(request: ConsoleRequest) -> HttpResponse:
    """Send the facts as a file."""
    content = orjson.dumps(installation.describe(), option=orjson.OPT_INDENT_2)
    answer = HttpResponse(content, content_type="application/json")
    answer["Content-Disposition"] = 'attachment; filename="punctual-support-bundle.json"'
    answer["Cache-Control"] = "no-store"
    return answer


def _live() -> dict[str, Any]:
    """Return counts of the processes that report through Redis; None while it is away."""
    try:
        workers = [one for one in fleet.workers() if not one.leases and one.state == "live"]
        recorders = sum(one.live for one in fleet.recorders())
    except ConnectionFailed:
        return {"live_workers": None, "slots": None, "live_recorders": None}
    slots = sum(one.capacity for one in workers)
    return {"live_workers": len(workers), "slots": slots, "live_recorders": recorders}


def _redis() -> dict[str, Any] | None:
    found: dict[str, Any] | None = installation.redis_server()
    if found is None:
        return None
    limit = found.get("maxmemory")
    return {
        **found,
        "title": str(found["product"]).capitalize(),
        "used": filesizeformat(found.get("used_memory", 0)),
        "limit": filesizeformat(limit) if limit else "",
    }


def _clocks() -> list[dict[str, Any]]:
    """Return the clock of each process, and whether it is off by more than is tolerated."""
    return [
        {**asdict(one), "is_off": abs(one.seconds) > TOLERATED_SECONDS}
        for one in installation.clocks() or ()
    ]


def _table(one: installation.TableSize) -> dict[str, Any]:
    return {"name": one.name, "size": filesizeformat(one.bytes), "rows": one.rows, "days": one.days}
