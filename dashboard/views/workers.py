"""Workers and schedulers: live ones, their capacity and work, and the owner of each partition."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple
from uuid import UUID

from django.http import HttpResponse
from django.shortcuts import render

from api.protocol.query import choice, text
from dashboard.access import ConsoleRequest, Done, action, page
from dashboard.fields import read_text
from dashboard.listing import read_filters
from dashboard.pictures.partition_map import PartitionCell
from dashboard.process_rights import runs_processes
from executions.changes import worker_wishes
from executions.housekeeping import worker_history
from executions.models import WorkerHour, WorkerMinute
from insight.statistics import PartitionView, fleet
from insight.statistics.fleet import WorkerView
from shared.exceptions import FieldError, InvalidInput, NotFound
from shared.process_sight import is_hidden
from shared.redis_client import ConnectionFailed
from tenants.choices import Role

_TABLE_ROWS = 48
_LONGEST_ID = 200
_LONGEST_WHICH = 300
_EARLIER_DAYS = 90
_EARLIER = 100


class _Span(NamedTuple):
    """A stretch of a worker's history that the page shows; ``unit`` is one row of it."""

    label: str
    hours: int
    unit: str


SPANS = {
    "6h": _Span("Last 6 hours", 6, "minute"),
    "7d": _Span("Last 7 days", 7 * 24, "hour"),
    "90d": _Span("Last 90 days", 90 * 24, "hour"),
}


@page(Role.VIEWER)
def workers(request: ConsoleRequest) -> HttpResponse:
    """Show the live processes; workers and recorders report through Redis."""
    try:
        found = fleet.workers(request.visitor.tenant.pk)
        recorders, redis_away = fleet.recorders(), False
    except ConnectionFailed:
        found, recorders, redis_away = [], [], True
    schedulers = fleet.schedulers()
    names = {one.id: one.name for one in schedulers}
    cells = [
        PartitionCell(one.partition, _owner_of(one, names), one.epoch)
        for one in fleet.partition_map()
    ]
    unowned = sum(cell.owner is None for cell in cells)
    # A lost worker's last report is out of date, and a pull worker has no slots here.
    serving = [one for one in found if one.state != "lost" and not one.leases]
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
            "slots": sum(one.capacity for one in serving),
            "in_flight": sum(one.in_flight or 0 for one in serving),
            "sees_processes": not is_hidden(),
            "runs_processes": runs_processes(request.visitor.user),
            "groups": _groups(serving),
        },
    )


@action(Role.VIEWER, of_installation=True)
def wish(request: ConsoleRequest) -> Done:
    """Make workers quiet, drain them, or let them work again: one, or those of a pool or host."""
    kind, _, name = read_text(request, "which", longest=_LONGEST_WHICH).partition(":")
    asked = request.POST.get("action", "")
    if kind not in ("worker", "pool", "host") or asked not in list(worker_wishes.Action):
        message = "Choose workers, and what they shall do."
        raise InvalidInput([FieldError("#/which", "invalid", message)], message)
    choice = worker_wishes.Choice(**{kind: name})
    actor = request.visitor.actor
    done = worker_wishes.wish(worker_wishes.Action(asked), choice, actor=actor)
    return Done(_said(asked, len(done.changed), len(done.unchanged)))


def _said(asked: str, changed: int, unchanged: int) -> str:
    if not changed:
        return "Nothing to change: they do so already."
    those = "1 worker" if changed == 1 else f"{changed} workers"
    besides = f" {unchanged} did so before." if unchanged else ""
    one = changed == 1
    if asked == "resume":
        return f"{those} {'takes' if one else 'take'} work again.{besides}"
    ends = f", and {'ends' if one else 'end'} when empty" if asked == "drain" else ""
    return f"{those} {'takes' if one else 'take'} no new work{ends}.{besides}"


def _groups(serving: Sequence[WorkerView]) -> list[tuple[str, str]]:
    """Return the pools and hosts of our own live workers, as the form sends and shows them."""
    pools = sorted({one.pool for one in serving})
    hosts = sorted({one.host for one in serving if one.host})
    return [
        *((f"pool:{name}", f"All of the pool {name}") for name in pools),
        *((f"host:{name}", f"All on the host {name}") for name in hosts),
    ]


def _owner_of(one: PartitionView, names: dict[UUID, str]) -> str | None:
    if one.owner is None:
        return "a scheduler" if one.owned else None
    return names.get(one.owner, "gone")


@page(Role.VIEWER)
def earlier_workers(request: ConsoleRequest) -> HttpResponse:
    """List the workers that were heard in the last 90 days, ended ones too."""
    query = read_filters(request, {"q": text(max_length=_LONGEST_ID)})
    found = worker_history.earlier_workers(
        _EARLIER_DAYS,
        tenant_id=request.visitor.tenant.pk,
        q=query["q"] or "",
        limit=_EARLIER + 1,
    )
    more = len(found) > _EARLIER
    context: dict[str, Any] = {"workers": found[:_EARLIER], "more": more, "query": query}
    context |= {"days": _EARLIER_DAYS, "sees_processes": not is_hidden()}
    return render(request, "dashboard/workers_earlier.html", context)


@page(Role.VIEWER)
def worker(request: ConsoleRequest, worker_id: str) -> HttpResponse:
    """Show one worker, ended ones too, and its work and load by minute or hour."""
    if len(worker_id) > _LONGEST_ID or not worker_id.isprintable():
        raise NotFound("There is no such worker.")
    span = SPANS[read_filters(request, {"span": choice(*SPANS, default="6h")})["span"]]
    tenant = request.visitor.tenant.pk
    try:
        known, redis_away = {one.id: one for one in fleet.workers(tenant)}, False
    except ConnectionFailed:
        known, redis_away = {}, True
    found = known.get(worker_id)
    if found is not None and is_hidden() and not found.leases:
        found = None
    if found is None and not worker_history.is_known(worker_id, tenant):
        raise NotFound(f"There is no worker {worker_id[:100]!r}.")
    by_hour = span.unit == "hour"
    rows: Sequence[Any] = (
        worker_history.hours_of(worker_id, span.hours, tenant)
        if by_hour
        else worker_history.minutes_of(worker_id, span.hours, tenant)
    )
    counts = [one for one in map(_ended, rows) if one is not None]
    return render(
        request,
        "dashboard/worker.html",
        {
            "worker_id": worker_id,
            "worker": found,
            "redis_away": redis_away,
            "runs_processes": runs_processes(request.visitor.user),
            "span": span,
            "spans": [(name, one.label, one == span) for name, one in SPANS.items()],
            "by_hour": by_hour,
            "lines": _lines(rows, span.unit),
            "rows": list(reversed(rows[-_TABLE_ROWS:])),
            "ended": sum(counts) if counts else None,
        },
    )


def _lines(rows: Sequence[Any], unit: str) -> list[dict[str, Any]]:
    """Return the pictures of the rows, each with the figure of the last row."""
    if not rows:
        return []
    last = rows[-1]
    ended = _ended(last)

    def line(name: str, label: str, figure: Callable[[Any], float], text: str) -> dict[str, Any]:
        values = [round(figure(one)) for one in rows]
        shown = {"label": label, "values": values, "last": text}
        return {**shown, "name": f"history.{name}", "summed": name == "ended_by_row"}

    return [
        line(
            "running", "In flight", lambda one: one.running, f"{last.running:.3g} of {last.slots}"
        ),
        line(
            "ended_by_row",
            f"Ended per {unit}",
            lambda one: _ended(one) or 0,
            "–" if ended is None else f"{ended:,}",
        ),
        line("cpu", "CPU in percent", lambda one: one.cpu_percent, f"{last.cpu_percent:.0f} %"),
    ]


def _ended(row: WorkerMinute | WorkerHour) -> int | None:
    return row.ended_in_minute if isinstance(row, WorkerMinute) else row.ended
