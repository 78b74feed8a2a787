"""Shared channels on the console: a list, a form, and a test that shows the real answer.

Members see the channels, admins change them. A URL that was typed is in no answer, message or
session.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any
from uuid import UUID

from django.contrib import messages
from django.http import HttpResponse, HttpResponseNotAllowed
from django.shortcuts import redirect, render
from django.urls import reverse

from dashboard.access import ConsoleRequest, Done, action, page
from dashboard.listing import read_filters, read_page
from dashboard.saved_form import save_form
from notifications.choices import ALERT_KINDS, AlertKind, ChannelKind
from notifications.models import AlertChannel, AlertRule
from notifications.services import channels as services
from notifications.services.channel_sending import send_channel_trial
from notifications.transports.chat import title_of
from shared.duration_words import duration_text
from tenants.choices import Role

#: Four decimals of a minute say each second.
_MINUTES = re.compile(r"[0-9]{1,5}(\.[0-9]{1,4})?", re.ASCII)
#: What the form calls fields of the body.
_FIELDS = {"url": "channel_url", "after_seconds": "after_minutes"}
_VERSION = re.compile(r"[0-9]{1,9}", re.ASCII)


@page(Role.VIEWER)
def channels(request: ConsoleRequest) -> HttpResponse:
    """List the tenant's channels by name."""
    found = services.list_channels(request.visitor.tenant.pk)
    shown = read_page(found, read_filters(request, {}), order=("name", "id"))
    for row in shown["rows"]:
        row.service_title = title_of(row.service)
        row.waits = duration_text(row.after_seconds * 1000)
        row.rule_names = [one.rule.name for one in row.rules.all()]
    return render(request, "dashboard/channels.html", shown)


@page(Role.ADMIN)
def channel_new(request: ConsoleRequest) -> HttpResponse:
    """Show the form of a new channel; add it."""
    visitor = request.visitor

    def create() -> AlertChannel:
        body = {"kind": request.POST.get("kind", ""), **_body(request)}
        body.setdefault("url", "")
        return services.create_channel(visitor.tenant.pk, body, actor=visitor.actor)

    return _form(request, None, create, "Added. Send a test message to see whether it arrives.")


@page(Role.ADMIN)
def channel_edit(request: ConsoleRequest, channel_id: UUID) -> HttpResponse:
    """Show what a channel gets; change it."""
    visitor = request.visitor
    found = services.get_channel(visitor.tenant.pk, channel_id)
    sent = request.POST.get("version", "")

    def change() -> AlertChannel:
        return services.change_channel(
            visitor.tenant.pk,
            channel_id,
            _body(request),
            actor=visitor.actor,
            expected_version=int(sent) if _VERSION.fullmatch(sent) else found.version,
        )

    return _form(request, found, change, "Saved.")


@action(Role.ADMIN)
def channel_remove(request: ConsoleRequest, channel_id: UUID) -> Done:
    """Remove a channel."""
    visitor = request.visitor
    services.remove_channel(visitor.tenant.pk, channel_id, actor=visitor.actor)
    return Done("Removed.", reverse("dashboard:channels"))


@page(Role.ADMIN)
def channel_test(request: ConsoleRequest, channel_id: UUID) -> HttpResponse:
    """Send a real test message, outside of any transaction, and show the answer."""
    if request.method != "POST":
        return HttpResponseNotAllowed(["POST"])
    visitor = request.visitor
    trial = send_channel_trial(visitor.tenant.pk, channel_id, actor=visitor.actor)
    if trial.sent:
        said = f": {trial.answer}" if trial.answer else ""
        messages.success(request, f"Sent. The channel answered HTTP {trial.status}{said}")
    else:
        messages.error(request, f"The message was not taken. {trial.error}")
    return redirect("dashboard:channels")


def _body(request: ConsoleRequest) -> dict[str, Any]:
    """Return the body of the form; an empty URL is one that stays."""
    url = request.POST.get("channel_url", "").strip()
    return {
        "name": request.POST.get("name", "").strip(),
        "kinds": request.POST.getlist("kinds"),
        "rules": request.POST.getlist("rules"),
        "after_seconds": _seconds(request),
        **({"url": url} if url else {}),
    }


def _seconds(request: ConsoleRequest) -> Any:
    """Return the minutes of the form in seconds, or the text where it is no number."""
    minutes = request.POST.get("after_minutes", "").strip() or "0"
    return round(float(minutes) * 60) if _MINUTES.fullmatch(minutes) else minutes


def _minutes(channel: AlertChannel) -> str:
    """Return the minutes before an alert escalates to the channel, or ""."""
    minutes = f"{channel.after_seconds / 60:.4f}".rstrip("0").rstrip(".")
    return minutes if channel.after_seconds else ""


def _form(
    request: ConsoleRequest,
    found: AlertChannel | None,
    save: Callable[[], AlertChannel],
    done: str,
) -> HttpResponse:
    if request.method not in ("GET", "POST"):
        return HttpResponseNotAllowed(["GET", "POST"])
    if request.method == "GET":
        return _shown(request, found, _fields_of(found), {})

    errors = save_form(request, save, done=done, leads_to="dashboard:channels", named=_FIELDS)
    if isinstance(errors, HttpResponse):
        return errors
    form = request.POST
    sent = {
        "name": form.get("name", ""),
        "kind": form.get("kind", ""),
        "kinds": form.getlist("kinds"),
        "rules": form.getlist("rules"),
        "after_minutes": form.get("after_minutes", ""),
    }
    return _shown(request, found, sent, errors)


def _fields_of(found: AlertChannel | None) -> dict[str, Any]:
    channel = found or AlertChannel(kind=ChannelKind.CHAT)
    rules = [str(one.rule_id) for one in found.rules.all()] if found else []
    return {
        "name": channel.name,
        "kind": channel.kind,
        "kinds": channel.kinds,
        "rules": rules,
        "after_minutes": _minutes(channel),
    }


def _shown(
    request: ConsoleRequest,
    found: AlertChannel | None,
    fields: dict[str, Any],
    errors: dict[str, str],
) -> HttpResponse:
    own = AlertRule.objects.filter(tenant=request.visitor.tenant, built_in=False).order_by("name")
    shown = {
        "channel": found,
        "service_title": title_of(found.service) if found else "",
        "fields": fields,
        "errors": errors,
        "kinds": ChannelKind.choices,
        "alert_kinds": [(kind, AlertKind(kind).label) for kind in ALERT_KINDS],
        "rules": [(str(rule.pk), rule.name) for rule in own],
        "version": request.POST.get("version") or (found.version if found else ""),
    }
    answer = render(request, "dashboard/channel_form.html", shown, status=400 if errors else 200)
    answer["Cache-Control"] = "no-store"
    return answer
