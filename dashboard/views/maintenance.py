"""Maintenance windows: when alerts are kept and not told, and a new one."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime, time, tzinfo
from typing import Any
from uuid import UUID

from django.http import HttpResponse, HttpResponseNotAllowed
from django.shortcuts import render
from django.urls import reverse
from django.utils.timezone import get_current_timezone, get_current_timezone_name

from dashboard.access import ConsoleRequest, Done, action, page
from dashboard.fields import instant_of, read_text, zone_of
from dashboard.listing import read_filters, read_page
from dashboard.saved_form import save_form
from executions.loop.clocks import database_now
from notifications.choices import WindowScope
from notifications.maintenance import active_until
from notifications.models import AlertRule, MaintenanceWindow
from notifications.presentation import present_window
from notifications.services.maintenance import (
    NAME_LENGTH,
    VALUE_LENGTH,
    WindowFields,
    create_window,
    end_window,
    list_windows,
)
from notifications.services.rules import list_rules
from shared.exceptions import FieldError, InvalidInput
from tasks.models import Task
from tasks.schedules.zones import zone_names
from tenants.choices import Role

_TEXTS = ("name", "scope", "value", "begins_at", "ends_at", "from_time", "to_time", "timezone")
_DAYS = (
    *((1, "Monday"), (2, "Tuesday"), (3, "Wednesday"), (4, "Thursday"), (5, "Friday")),
    *((6, "Saturday"), (7, "Sunday")),
)


@page(Role.VIEWER)
def maintenance(request: ConsoleRequest) -> HttpResponse:
    """List the windows, newest first."""
    found = list_windows(request.visitor.tenant.pk)
    query = read_filters(request, {})
    shown = read_page(found, query, present=_presented, order=("-created_at", "-id"))
    return render(request, "dashboard/maintenance.html", shown)


@page(Role.OPERATOR)
def maintenance_new(request: ConsoleRequest) -> HttpResponse:
    """Show the form of a new window; make it."""
    if request.method not in ("GET", "POST"):
        return HttpResponseNotAllowed(["GET", "POST"])
    visitor = request.visitor
    if request.method == "GET":
        return _form(request, _first_fields(request), {})

    def create() -> MaintenanceWindow:
        return create_window(visitor.tenant.pk, _wanted(request), actor=visitor.actor)

    done = "Made. Alerts are kept meanwhile, and told when it ends."
    errors = save_form(request, create, done=done, leads_to="dashboard:maintenance")
    if isinstance(errors, HttpResponse):
        return errors
    sent: dict[str, Any] = {name: request.POST.get(name, "") for name in _TEXTS}
    return _form(request, {**sent, "weekdays": request.POST.getlist("weekdays")}, errors)


@action(Role.OPERATOR)
def maintenance_end(request: ConsoleRequest, window_id: UUID) -> Done:
    """End a window; tell what it held back."""
    visitor = request.visitor
    end_window(visitor.tenant.pk, window_id, actor=visitor.actor)
    return Done("Ended. What it held back is told now.", reverse("dashboard:maintenance"))


def _first_fields(request: ConsoleRequest) -> dict[str, Any]:
    """Return an empty form; that of a snooze names its rule."""
    asked = {name: request.GET.get(name, "") for name in ("scope", "value")}
    rules = list_rules(request.visitor.tenant.pk) if asked["scope"] == WindowScope.RULE else []
    name = next((f"Snooze {one.name}" for one in rules if str(one.pk) == asked["value"]), "")
    return {"timezone": zone_of(request), "weekdays": [], "name": name[:NAME_LENGTH], **asked}


def _form(request: ConsoleRequest, fields: Mapping[str, Any], errors: Any) -> HttpResponse:
    chosen = {str(day) for day in fields["weekdays"]}
    shown = {
        "fields": fields,
        "errors": errors,
        "scopes": WindowScope.choices,
        "days": [(day, name, str(day) in chosen) for day, name in _DAYS],
        "zones": zone_names(),
        "zone_name": get_current_timezone_name(),
    }
    status = 400 if errors else 200
    return render(request, "dashboard/maintenance_form.html", shown, status=status)


def _wanted(request: ConsoleRequest) -> WindowFields:
    """Return the window of the form; raise InvalidInput."""
    form, zone = request.POST, get_current_timezone()
    days = form.getlist("weekdays")
    if not set(days) <= {str(day) for day, _ in _DAYS}:
        raise InvalidInput([FieldError("#/weekdays", "invalid", "Choose the days anew.")])
    return WindowFields(
        name=read_text(request, "name", longest=NAME_LENGTH),
        scope=form.get("scope", ""),
        value=read_text(request, "value", longest=VALUE_LENGTH),
        begins_at=_moment(form, "begins_at", zone),
        ends_at=_moment(form, "ends_at", zone),
        weekdays=[int(day) for day in days],
        from_time=_clock(form, "from_time"),
        to_time=_clock(form, "to_time"),
        timezone=read_text(request, "timezone", longest=63, default="UTC"),
    )


def _moment(form: Any, name: str, zone: tzinfo) -> datetime | None:
    text = form.get(name, "").strip()
    try:
        return instant_of(text, zone) if text else None
    except ValueError as error:
        message = "Give a date and a time, such as 2027-01-31 22:00."
        raise InvalidInput([FieldError(f"#/{name}", "invalid", message)]) from error


def _clock(form: Any, name: str) -> time | None:
    text = form.get(name, "").strip()
    try:
        return time.fromisoformat(text).replace(tzinfo=None) if text else None
    except ValueError as error:
        raise InvalidInput(
            [FieldError(f"#/{name}", "invalid", "Give a time like 22:00.")]
        ) from error


def _presented(found: list[MaintenanceWindow]) -> list[dict[str, Any]]:
    names, now, days = _names(found), database_now(), dict(_DAYS)
    return [
        {
            "window": one,
            "covers": names.get(one.value, one.value) or "all alerts",
            "clocks": _clocks(one, now),
            "days": ", ".join(days[day] for day in one.weekdays),
            "active_until": active_until(one, now),
            "is_over": one.ends_at is not None and one.ends_at <= now,
        }
        for one in found
    ]


def _clocks(window: MaintenanceWindow, now: datetime) -> str:
    """Return the times of day of a weekly window, or ""."""
    if window.from_time is None or window.to_time is None:
        return ""
    shown = present_window(window, now)
    return f"{shown['from_time']} to {shown['to_time']}"


def _names(found: list[MaintenanceWindow]) -> dict[str, str]:
    """Return the names of the tasks and rules of these windows, by id."""
    if not found:
        return {}
    tenant = found[0].tenant_id
    ids = {one.value for one in found if one.scope == WindowScope.TASK}
    tasks = Task.objects.filter(tenant_id=tenant, id__in=ids).values_list("id", "name")
    names = {str(task_id): name for task_id, name in tasks}
    if any(one.scope == WindowScope.RULE for one in found):
        rules: list[AlertRule] = list_rules(tenant)
        names |= {str(rule.pk): f"the rule {rule.name}" for rule in rules}
    return names
