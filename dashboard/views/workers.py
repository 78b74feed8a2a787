"""Workers and schedulers: who lives, what each can take and has done, who owns which partition."""

from __future__ import annotations

from typing import Any

from django.http import HttpResponse
from django.shortcuts import render

from dashboard.access import ConsoleRequest, page
from dashboard.pictures.partition_map import PartitionCell
from executions.engine.worker_history import minutes_of
from executions.models import WorkerMinute
from executions.stats import fleet
from shared.exceptions import NotFound
from shared.redis_client import ConnectionFailed
from tenants.choices import Role

_HOURS = 6
_TABLE_MINUTES = 30
_LONGEST_ID = 200


@page(Role.VIEWER)
def workers(request: ConsoleRequest) -> HttpResponse:
    """Show the processes that say that they live; workers and recorders speak through Redis."""
    try:
        found = fleet.workers(request.visitor.tenant.pk)
        recorders, redis_away = fleet.recorders(), False
    except ConnectionFailed:
        found, recorders, redis_away = [], [], True
    schedulers = fleet.schedulers()
    names = {one.id: one.name for one in schedulers}
    cells = [
        PartitionCell(one.partition, names.get(one.owner, "gone") if one.owner else None, one.epoch)
        for one in fleet.partition_map()
    ]
    unowned = sum(cell.owner is None for cell in cells)
    return render(
        request,
        "dashboard/workers.html",
        {
            "workers": found,
            "recorders": recorders,
            "schedulers": schedulers,
            "cells": cells,
            "unowned": unowned,
            "redis_away": redis_away,
            "slots": sum(one.capacity for one in found if one.state != "lost"),
            "in_flight": sum(one.in_flight for one in found),
        },
    )


@page(Role.VIEWER)
def worker(request: ConsoleRequest, worker_id: str) -> HttpResponse:
    """Show one worker, also one that is lost, and its work and load by minute."""
    if len(worker_id) > _LONGEST_ID or not worker_id.isprintable():
        raise NotFound("There is no such worker.")
    tenant = request.visitor.tenant.pk
    try:
        known, redis_away = {one.id: one for one in fleet.workers(tenant)}, False
    except ConnectionFailed:
        known, redis_away = {}, True
    found = known.get(worker_id)
    # A tenant's own workers are known by Redis alone, so this shows none of another tenant's.
    minutes = minutes_of(worker_id, _HOURS)
    if found is None and not minutes:
        raise NotFound(f"There is no worker {worker_id[:100]!r}.")
    return render(
        request,
        "dashboard/worker.html",
        {
            "worker_id": worker_id,
            "worker": found,
            "redis_away": redis_away,
            "hours": _HOURS,
            "lines": _lines(minutes),
            "minutes": list(reversed(minutes[-_TABLE_MINUTES:])),
            "ended": sum(one.ended for one in minutes),
        },
    )


def _lines(minutes: list[WorkerMinute]) -> list[dict[str, Any]]:
    """Return what is drawn of the minutes, each with the figure of the last one."""
    if not minutes:
        return []
    last = minutes[-1]
    return [
        {
            "label": "In flight",
            "values": [one.running for one in minutes],
            "last": f"{last.running} of {last.slots}",
        },
        {"label": "Ended a minute", "values": [one.ended for one in minutes], "last": last.ended},
        {
            "label": "CPU in percent",
            "values": [round(one.cpu_percent) for one in minutes],
            "last": f"{last.cpu_percent:.0f} %",
        },
    ]
