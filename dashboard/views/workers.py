"""Workers and schedulers: who lives, what each can take, and who owns which partition."""

from __future__ import annotations

from django.http import HttpResponse
from django.shortcuts import render

from dashboard.access import ConsoleRequest, page
from dashboard.pictures.partition_map import PartitionCell
from executions.stats import fleet
from shared.redis_client import ConnectionFailed
from tenants.choices import Role


@page(Role.VIEWER)
def workers(request: ConsoleRequest) -> HttpResponse:
    """Show the processes that say that they live; workers and recorders speak through Redis."""
    try:
        found, recorders, redis_away = fleet.workers(), fleet.recorders(), False
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
