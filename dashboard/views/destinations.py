"""Destinations: how each host does that the tenant's webhooks call, its limits and its circuit.

A host stands in the path, in any spelling, with its port unless that is 80 or 443.
"""

from __future__ import annotations

from typing import Any
from uuid import UUID

from django.http import HttpResponse
from django.shortcuts import render
from django.urls import reverse

from dashboard.access import ConsoleRequest, Done, action, page
from dashboard.fields import read_limit, read_version
from dashboard.listing import PAGE_ROWS
from executions.choices import Status
from executions.destinations.limits import (
    CALLING,
    MOST_PARKED,
    change_limits,
    get_destination,
    list_destinations,
    not_closed,
    reset_circuit,
)
from executions.models import Execution
from insight.presentation.execution import present_executions
from shared.exceptions import FieldError, InvalidInput
from tasks.models import Task
from tenants.choices import Role

_LONGEST = 260
_TASKS = 20
_WAITING = 20
_IN_FLIGHT = 20
_YES_NO = {"yes": True, "no": False}


@page(Role.VIEWER)
def destinations(request: ConsoleRequest) -> HttpResponse:
    """List the hosts in order of name; those whose circuit is not closed stand above, too."""
    tenant = request.visitor.tenant.pk
    text, after = (_given(request, name) for name in ("q", "after"))
    found = list_destinations(tenant, {"q": text or None}, after=after, limit=PAGE_ROWS + 1)
    rows = found[:PAGE_ROWS]
    return render(
        request,
        "dashboard/destinations.html",
        {
            "rows": rows,
            "next_after": rows[-1].host if len(found) > PAGE_ROWS else "",
            "after": after,
            "q": text,
            "most_counted": MOST_PARKED,
            "not_closed": [] if after or text else not_closed(tenant),
            "redis_away": any(one.circuit is None for one in rows),
        },
    )


@page(Role.VIEWER)
def destination(request: ConsoleRequest, host: str) -> HttpResponse:
    """Show one host: its circuit and limits, the tasks that call it, and what waits for it."""
    tenant = request.visitor.tenant.pk
    shown = get_destination(tenant, host)
    # Those that its number counts: tasks that have ended call nothing any more.
    calling = Task.objects.for_tenant(tenant).filter(destination=shown.host, status__in=CALLING)
    tasks = calling.order_by("name", "id")
    return render(
        request,
        "dashboard/destination.html",
        {
            "destination": shown,
            "tasks": list(tasks[:_TASKS]),
            "more_tasks": max(0, shown.tasks - _TASKS),
            "waiting": present_executions(_waiting(tenant, shown.host)),
            "more_waiting": max(0, shown.parked - _WAITING),
            "in_flight": present_executions(_in_flight(tenant, shown.host)),
            "more_in_flight": max(0, shown.in_flight - _IN_FLIGHT),
            "most_counted": MOST_PARKED,
            "limits": {
                "max_in_flight": "" if shown.max_in_flight is None else shown.max_in_flight,
                "rate_per_second": "" if shown.rate_per_second is None else shown.rate_per_second,
            },
        },
    )


@action(Role.OPERATOR)
def limits(request: ConsoleRequest, host: str) -> Done:
    """Set how much may go to the host, and whether its circuit may open."""
    visitor = request.visitor
    shown = change_limits(
        visitor.tenant.pk,
        host,
        {
            "max_in_flight": read_limit(request, "max_in_flight", whole=True),
            "rate_per_second": read_limit(request, "rate_per_second"),
            "breaker": _YES_NO.get(request.POST.get("breaker", "yes"), True),
        },
        actor=visitor.actor,
        expected_version=read_version(request),
    )
    return Done("Saved. It holds within a second.", _url(shown.host))


@action(Role.OPERATOR)
def reset(request: ConsoleRequest, host: str) -> Done:
    """Close the circuit and forget its last minute."""
    visitor = request.visitor
    shown = reset_circuit(visitor.tenant.pk, host, actor=visitor.actor)
    return Done("Circuit reset. Waiting executions are sent at once.", _url(shown.host))


def _url(host: str) -> str:
    return reverse("dashboard:destination", args=[host])


def _given(request: ConsoleRequest, name: str) -> str:
    text = request.GET.get(name, "").strip()
    if len(text) > _LONGEST or not text.isprintable():
        message = "This text cannot be part of a host."
        raise InvalidInput([FieldError(f"?{name}", "invalid", message)], message)
    return text


def _in_flight(tenant_id: UUID, host: str) -> list[Any]:
    """Return the executions whose request is under way, the longest first, as the number counts.

    A request that its receiver answered with 202 is not counted; its execution continues.
    """
    # In the words of the index open_executions_leased_idx.
    found = Execution.objects.for_tenant(tenant_id).filter(
        status=Status.RUNNING,
        destination=host,
        accepted_at=None,
    )
    return list(found.order_by("started_at", "id")[:_IN_FLIGHT])


def _waiting(tenant_id: UUID, host: str) -> list[Any]:
    """Return the executions that wait for capacity of the host, the oldest first."""
    # In the words of the index open_executions_parked_idx.
    found = Execution.objects.for_tenant(tenant_id).filter(
        destination=host,
        status__in=(Status.PENDING, Status.RETRYING),
        held=False,
        parked=True,
    )
    return list(found.order_by("due_at")[:_WAITING])
