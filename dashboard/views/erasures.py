"""Erasures: their certificates, and the button that erases a task."""

from __future__ import annotations

from uuid import UUID

from django.http import HttpResponse
from django.shortcuts import render
from django.urls import reverse

from dashboard.access import ConsoleRequest, Done, action, page
from dashboard.fields import read_text
from dashboard.listing import read_filters, read_page
from executions.erasure.requests import LONGEST_REASON, erase_task, get_erasure, list_erasures
from insight.presentation.erasures import present_erasure
from tenants.choices import Role


@page(Role.ADMIN)
def erasures(request: ConsoleRequest) -> HttpResponse:
    """List the tenant's erasures, newest first."""
    found = list_erasures(request.visitor.tenant.pk)
    context = read_page(found, read_filters(request, {}), order=("-begun_at", "-id"))
    return render(request, "dashboard/erasures.html", context)


@page(Role.ADMIN)
def erasure(request: ConsoleRequest, erasure_id: UUID) -> HttpResponse:
    """Show the certificate of one."""
    found = get_erasure(request.visitor.tenant.pk, erasure_id)
    shown = present_erasure(found)
    return render(request, "dashboard/erasure.html", {"erasure": found, "shown": shown})


@action(Role.ADMIN)
def erase(request: ConsoleRequest, task_id: UUID) -> Done:
    """Delete a task and erase the content of its history."""
    visitor = request.visitor
    reason = read_text(request, "reason", longest=LONGEST_REASON)
    found = erase_task(visitor.tenant.pk, task_id, reason=reason, actor=visitor.actor)
    url = reverse("dashboard:erasure", args=[found.id])
    return Done("The erasure has begun.", url, settled=False)
