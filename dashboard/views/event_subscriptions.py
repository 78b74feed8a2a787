"""Event webhooks on the console: where a tenant's events are sent, how far, and what is wrong.

Members see the subscriptions, admins change them. A URL that was typed is in no answer, message or
session.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any
from uuid import UUID

from django.contrib import messages
from django.http import HttpResponse, HttpResponseNotAllowed
from django.shortcuts import redirect, render
from django.urls import reverse
from django.utils import timezone

from api.event_subscriptions.serializers import SubscriptionChangeBody, SubscriptionCreateBody
from api.protocol.bodies import read_fields
from dashboard.access import ConsoleRequest, Done, action, page
from dashboard.fields import instant_of, read_version
from dashboard.listing import read_filters, read_page
from dashboard.saved_form import save_form
from events.feed_types import TYPES
from notifications.choices import SubscriptionPause, SubscriptionStatus
from notifications.event_webhooks.trial import send_test_event
from notifications.models import EventSubscription
from notifications.services import event_subscriptions as services
from shared.exceptions import FieldError, InvalidInput
from tenants.choices import Role

_LIST = "dashboard:event_subscriptions"
#: What the form calls fields of the body.
_FIELDS = {"url": "receiver_url"}
_FIRST_TYPES = ("execution.failed",)


@page(Role.VIEWER)
def event_subscriptions(request: ConsoleRequest) -> HttpResponse:
    """List the subscriptions, newest first, each with how far it is."""
    found = services.list_subscriptions(request.visitor.tenant.pk)
    shown = read_page(found, read_filters(request, {}), order=("-created_at", "id"))
    shown["rows"] = [_row(one) for one in shown["rows"]]
    return render(request, "dashboard/event_subscriptions.html", shown)


@page(Role.ADMIN)
def event_subscription_new(request: ConsoleRequest) -> HttpResponse:
    """Show the form of a new subscription; add it."""
    visitor = request.visitor

    def create() -> EventSubscription:
        given = {"url": request.POST.get("receiver_url", "").strip(), **_body(request)}
        body = read_fields(SubscriptionCreateBody, given)
        return services.create_subscription(visitor.tenant.pk, **body, actor=visitor.actor)

    return _form(request, None, create, "Added. It gets the events from now on.")


@page(Role.ADMIN)
def event_subscription_edit(request: ConsoleRequest, event_subscription_id: UUID) -> HttpResponse:
    """Show what a subscription gets; change it."""
    visitor = request.visitor
    found = services.get_subscription(visitor.tenant.pk, event_subscription_id)

    def change() -> EventSubscription:
        url = request.POST.get("receiver_url", "").strip()
        given = {**({"url": url} if url else {}), **_body(request)}
        return services.change_subscription(
            visitor.tenant.pk,
            event_subscription_id,
            read_fields(SubscriptionChangeBody, given),
            actor=visitor.actor,
            expected_version=read_version(request),
        )

    return _form(request, found, change, "Saved.")


@page(Role.ADMIN)
def event_subscription_test(request: ConsoleRequest, event_subscription_id: UUID) -> HttpResponse:
    """Send a test event, outside of any transaction, and show the answer."""
    if request.method != "POST":
        return HttpResponseNotAllowed(["POST"])
    visitor = request.visitor
    trial = send_test_event(visitor.tenant.pk, event_subscription_id, actor=visitor.actor)
    if trial.taken:
        messages.success(request, f"Sent. The receiver answered HTTP {trial.status}.")
    else:
        messages.error(request, f"The test event was not taken. {trial.error}")
    return redirect(_LIST)


@action(Role.ADMIN)
def pause(request: ConsoleRequest, event_subscription_id: UUID) -> Done:
    """Stop sending; the place stays."""
    _set_status(request, event_subscription_id, SubscriptionStatus.PAUSED)
    return Done("Paused. It keeps its place, and continues there when it is resumed.")


@action(Role.ADMIN)
def resume(request: ConsoleRequest, event_subscription_id: UUID) -> Done:
    """Send again, from where it was."""
    _set_status(request, event_subscription_id, SubscriptionStatus.ACTIVE)
    return Done("Resumed where it was.")


@action(Role.ADMIN)
def redrive(request: ConsoleRequest, event_subscription_id: UUID) -> Done:
    """Send the events from a time on, again where they were sent, and resume."""
    visitor = request.visitor
    try:
        zone = timezone.get_current_timezone()
        since = instant_of(request.POST.get("since", "").strip(), zone)
    except ValueError as error:
        message = "Give a date and time like 2026-11-20 08:00."
        raise InvalidInput([FieldError("#/since", "invalid_time", message)], message) from error
    services.redrive_subscription(
        visitor.tenant.pk, event_subscription_id, after=None, since=since, actor=visitor.actor
    )
    return Done("The events from then on are sent again, with the same ids.", reverse(_LIST))


@action(Role.ADMIN)
def remove(request: ConsoleRequest, event_subscription_id: UUID) -> Done:
    """Remove a subscription."""
    visitor = request.visitor
    services.remove_subscription(visitor.tenant.pk, event_subscription_id, actor=visitor.actor)
    return Done("Removed.", reverse(_LIST))


def _set_status(request: ConsoleRequest, subscription_id: UUID, status: str) -> None:
    visitor = request.visitor
    services.change_subscription(
        visitor.tenant.pk, subscription_id, {"status": status}, actor=visitor.actor
    )


def _row(one: EventSubscription) -> dict[str, Any]:
    """Return a subscription as the list shows it."""
    reason = one.paused_reason
    chosen = one.filter
    return {
        **services.present_subscription(one),
        "why_paused": SubscriptionPause(reason).label if reason else "",
        "labels": [f"{name}:{value}" for name, value in chosen.get("labels", {}).items()],
        "task_count": len(chosen.get("task_ids", ())),
    }


def _body(request: ConsoleRequest) -> dict[str, Any]:
    """Return types and filter of the form, as the body of the call has them."""
    return {
        "types": request.POST.getlist("types"),
        "filter": {
            **({"labels": labels} if (labels := _labels(request)) else {}),
            **({"task_ids": tasks} if (tasks := _lines(request, "task_ids")) else {}),
        },
    }


def _labels(request: ConsoleRequest) -> dict[str, str]:
    found = {}
    for line in _lines(request, "labels"):
        name, colon, value = line.partition(":")
        if not colon or not name.strip():
            message = "Write each label as name:value, one a line."
            raise InvalidInput([FieldError("#/labels", "invalid_label", message)], message)
        if name.strip() in found:
            message = f"Give one value for the label {name.strip()[:40]!r}: a task has one."
            raise InvalidInput([FieldError("#/labels", "invalid_label", message)], message)
        found[name.strip()] = value.strip()
    return found


def _lines(request: ConsoleRequest, name: str) -> list[str]:
    return [line.strip() for line in request.POST.get(name, "").splitlines() if line.strip()]


def _form(
    request: ConsoleRequest,
    found: EventSubscription | None,
    save: Callable[[], EventSubscription],
    done: str,
) -> HttpResponse:
    if request.method not in ("GET", "POST"):
        return HttpResponseNotAllowed(["GET", "POST"])
    if request.method == "GET":
        return _shown(request, found, _fields_of(found), {})
    judged = _naming_fields(save)
    errors = save_form(request, judged, done=done, leads_to=_LIST, named=_FIELDS)
    if isinstance(errors, HttpResponse):
        return errors
    sent = {
        "types": request.POST.getlist("types"),
        "labels": request.POST.get("labels", ""),
        "task_ids": request.POST.get("task_ids", ""),
    }
    return _shown(request, found, sent, errors)


def _naming_fields(save: Callable[[], EventSubscription]) -> Callable[[], EventSubscription]:
    """Let errors name the fields of the form, which has the parts of the filter one by one."""

    def judged() -> EventSubscription:
        try:
            return save()
        except InvalidInput as error:
            found = [
                replace(one, pointer=one.pointer.replace("#/filter/", "#/")) for one in error.errors
            ]
            raise InvalidInput(found, error.message) from error

    return judged


def _fields_of(found: EventSubscription | None) -> dict[str, Any]:
    if found is None:
        return {"types": _FIRST_TYPES, "labels": "", "task_ids": ""}
    labels = found.filter.get("labels", {})
    return {
        "types": found.types,
        "labels": "\n".join(f"{name}:{value}" for name, value in labels.items()),
        "task_ids": "\n".join(found.filter.get("task_ids", ())),
    }


def _shown(
    request: ConsoleRequest,
    found: EventSubscription | None,
    fields: dict[str, Any],
    errors: dict[str, str],
) -> HttpResponse:
    shown = {
        "subscription": found,
        "fields": fields,
        "errors": errors,
        "types": TYPES,
        "zone_name": timezone.get_current_timezone_name(),
        "version": request.POST.get("version") or (found.version if found else ""),
    }
    status = 400 if errors else 200
    answer = render(request, "dashboard/event_subscription_form.html", shown, status=status)
    answer["Cache-Control"] = "no-store"
    return answer
