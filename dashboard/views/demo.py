"""Break something: faults of the demo, and how the installation takes over from what is gone.

For the administrator of an installation that was started with the demo, from its own machine.
Everywhere else there is no such page.
"""

from __future__ import annotations

from ipaddress import ip_address
from typing import Any

from django.conf import settings
from django.http import HttpResponse
from django.shortcuts import render
from django.urls import reverse

from dashboard.access import ConsoleRequest, Done, action, page
from dashboard.pictures.partition_map import PartitionCell
from executions.demo import breaks, pulses
from executions.demo.breaks import Kind, NoDemo
from insight.demo_break import Report, report
from insight.presentation.demo_break import KINDS, headline, since
from insight.statistics import fleet
from notifications.circuit_stretches import circuit_stretches
from shared.client_address import client_address
from shared.exceptions import FieldError, Forbidden, InvalidInput
from tenants.choices import Role


@page(Role.VIEWER)
def demo(request: ConsoleRequest) -> HttpResponse:
    """Show the breaks, and the last one as it happens."""
    _require(request)
    found = report(request.visitor.tenant.pk, circuit_stretches)
    names = {one.id: one.name for one in fleet.schedulers()}
    owners = fleet.partition_map()
    shown = {
        "kinds": [(kind.value, *KINDS[kind]) for kind in Kind],
        "report": found,
        "is_under_way": found is not None and found.now <= found.broken.last,
        **(_told(found) if found else {}),
        "pulses": pulses.COUNT,
        "load_seconds": breaks.LOAD_SECONDS,
        "cells": [
            PartitionCell(
                one.partition, names.get(one.owner, "gone") if one.owner else None, one.epoch
            )
            for one in owners
        ],
    }
    return render(request, "dashboard/demo.html", shown)


@action(Role.VIEWER)
def break_something(request: ConsoleRequest) -> Done:
    """Begin a break."""
    _require(request)
    try:
        kind = Kind(request.POST.get("kind", ""))
    except ValueError as error:
        message = f"Choose one of {', '.join(Kind)}."
        raise InvalidInput([FieldError("#/kind", "invalid", message)], message) from error
    visitor = request.visitor
    breaks.begin(visitor.tenant.pk, kind, actor=visitor.actor)
    done = f"{KINDS[kind][0]}: begun. It ends by itself."
    return Done(done, reverse("dashboard:demo"), settled=False)


def may_break(request: ConsoleRequest) -> bool:
    """Return whether the visitor finds the page."""
    return (
        bool(settings.DEMO) and _is_operator(request) and breaks.is_demo(request.visitor.tenant.pk)
    )


def _require(request: ConsoleRequest) -> None:
    if not settings.DEMO or not _is_local(request):
        raise NoDemo
    if not _is_operator(request):
        raise Forbidden("The administrator of this installation alone may break it.")
    breaks.require_demo(request.visitor.tenant.pk)


def _is_operator(request: ConsoleRequest) -> bool:
    return bool(request.visitor.user.is_superuser)


def _is_local(request: ConsoleRequest) -> bool:
    address = client_address(request)
    return bool(address) and ip_address(address).is_loopback


def _told(found: Report) -> dict[str, Any]:
    """Return the report's words: its state, and each moment with its seconds since the strike."""
    tone, text = headline(found)
    marks = {"bad": "failed", "good": "passed"}
    return {
        "tone": tone,
        "sentence": text,
        "title": KINDS[found.broken.kind][0],
        "moments": [(one, marks.get(one.tone, ""), since(found, one.at)) for one in found.moments],
    }
