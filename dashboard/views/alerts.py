"""Alerts: the failures, their count, and the notices to each member by channel."""

from __future__ import annotations

import re
from datetime import UTC, datetime, timedelta
from typing import Any
from uuid import UUID

from django.http import HttpRequest, HttpResponse, JsonResponse
from django.shortcuts import render
from django.urls import reverse

from api.protocol.query import choice
from dashboard.access import ConsoleRequest, Done, action, page
from dashboard.listing import read_filters, read_page
from executions.loop.clocks import database_now
from notifications.choices import ALERT_KINDS, AlertKind, Channel
from notifications.models import Alert, Delivery
from notifications.presentation import present_alert, present_alert_detail, severity_of
from notifications.services.alerts import (
    acknowledge_alert,
    assign_alert,
    get_alert,
    mute_alert,
)
from shared.exceptions import FieldError, InvalidInput
from tenants.choices import Role
from tenants.models import Membership

_PARAMETERS = {"kind": choice(*ALERT_KINDS)}
MUTES = (("60", "1 hour"), ("480", "8 hours"), ("1440", "a day"), ("0", "no longer"))
#: Missed toasts that a page asks for after a gap; the alerts' page has all.
_RECENT = 4
_MOST_ASSIGNEES = 500
_MEMBER = re.compile(r"[0-9]{1,18}", re.ASCII)
_RECENT_WINDOW = timedelta(minutes=5)


@page(Role.VIEWER)
def alerts(request: ConsoleRequest) -> HttpResponse:
    """List alerts, newest first."""
    query = read_filters(request, _PARAMETERS)
    found = Alert.objects.filter(tenant_id=request.visitor.tenant.pk)
    if query["kind"]:
        found = found.filter(kind=query["kind"])
    listed = read_page(found, query, present=_presented, order=("-created_at", "-id"))
    of_tenant = Alert.objects.filter(tenant_id=request.visitor.tenant.pk)
    kinds_found = set(of_tenant.values_list("kind", flat=True).distinct())
    kinds = [
        {"label": "All", "value": "", "here": not query["kind"]},
        *(
            {"label": label, "value": value, "here": value == query["kind"]}
            for value, label in AlertKind.choices
            if value in kinds_found or value == query["kind"]
        ),
    ]
    return render(request, "dashboard/alerts.html", {**listed, "query": query, "kinds": kinds})


@page(Role.VIEWER)
def alert(request: ConsoleRequest, alert_id: UUID) -> HttpResponse:
    """Show one alert with its delivery log."""
    found = get_alert(request.visitor.tenant.pk, alert_id)
    now = database_now()
    return render(
        request,
        "dashboard/alert.html",
        {
            "alert": present_alert_detail(found),
            "kind": found.get_kind_display(),
            "mutes": MUTES,
            "assignees": _assignees(request),
            "assignee": found.assignee and found.assignee.user.get_username(),
            "is_muted": found.muted_until is not None and found.muted_until > now,
        },
    )


@action(Role.OPERATOR)
def mute(request: ConsoleRequest, alert_id: UUID) -> Done:
    """Mute the alert for a while; it keeps counting."""
    minutes = request.POST.get("minutes", "")
    if minutes not in {value for value, _ in MUTES}:
        raise InvalidInput([FieldError("#/minutes", "invalid", "Choose one of the times.")])
    visitor = request.visitor
    mute_alert(visitor.tenant.pk, alert_id, minutes=int(minutes), actor=visitor.actor)
    return Done("Muted. The alert keeps counting." if minutes != "0" else "No longer muted.")


@action(Role.OPERATOR)
def acknowledge(request: ConsoleRequest, alert_id: UUID) -> Done:
    """Say that a person works on the alert, or take that back."""
    visitor, back = request.visitor, "withdraw" in request.POST
    acknowledge_alert(visitor.tenant.pk, alert_id, acknowledged=not back, actor=visitor.actor)
    return Done("No longer acknowledged." if back else "Acknowledged. Its end is still told.")


@action(Role.OPERATOR)
def assign(request: ConsoleRequest, alert_id: UUID) -> Done:
    """Name the member who works on the alert, or none."""
    member = request.POST.get("member", "")
    if member and not _MEMBER.fullmatch(member):
        raise InvalidInput([FieldError("#/member", "invalid", "Choose a member.")])
    visitor = request.visitor
    chosen = int(member) if member else None
    assign_alert(visitor.tenant.pk, alert_id, member_id=chosen, actor=visitor.actor)
    return Done("Assigned." if member else "Assigned to none.")


def _assignees(request: ConsoleRequest) -> list[tuple[int, str]]:
    """Return the members whom the visitor may choose."""
    if not request.visitor.may_operate:
        return []
    found = Membership.objects.filter(tenant=request.visitor.tenant, user__is_active=True)
    members = found.select_related("user").order_by("user__username")[:_MOST_ASSIGNEES]
    return [(one.pk, one.user.get_username()) for one in members]


def recent(request: HttpRequest) -> HttpResponse:
    """Answer the toasts that a page has missed; a visitor without access gets an empty list."""
    answer: HttpResponse = page(Role.VIEWER)(_recent)(request)
    return answer if answer.status_code == 200 else JsonResponse({"alerts": []})


def _recent(request: ConsoleRequest) -> HttpResponse:
    now = database_now()
    since = now - _RECENT_WINDOW
    given = request.GET.get("after", "")
    if given.isascii() and given.isdecimal() and len(given) <= 13:
        since = max(since, datetime.fromtimestamp(int(given) / 1000, UTC))
    told = Delivery.objects.filter(
        membership=request.visitor.membership,
        channel=Channel.CONSOLE,
        created_at__gt=since,
        reason="",
    )
    rows = told.select_related("alert").order_by("-created_at")[:_RECENT]
    shown = [_toast(row.alert) for row in rows]
    return JsonResponse({"now": int(now.timestamp() * 1000), "alerts": shown})


def _toast(alert: Alert) -> dict[str, Any]:
    return {
        "id": str(alert.pk),
        "severity": severity_of(alert),
        "title": alert.title,
        "url": reverse("dashboard:alert", args=[alert.pk]),
    }


def _presented(found: list[Alert]) -> list[dict[str, Any]]:
    labels = dict(AlertKind.choices)
    return [{**present_alert(one), "kind_label": labels[AlertKind(one.kind)]} for one in found]
