"""A member's own settings: alerts, channels, quiet hours and browsers.

The page also has the settings of the tenant, which its admins may change.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from datetime import time
from typing import Any
from uuid import UUID

from django.conf import settings as deployment
from django.contrib import messages
from django.contrib.staticfiles import finders
from django.http import Http404, HttpRequest, HttpResponse, HttpResponseNotAllowed
from django.shortcuts import redirect, render
from django.utils.timezone import get_current_timezone_name

from dashboard.access import ConsoleRequest, Done, action, page
from dashboard.fields import read_version
from dashboard.sign_in_guard import method_of
from notifications.choices import AlertKind, Channel
from notifications.models import Delivery, PushSubscription
from notifications.presentation import (
    RECEIVERS,
    present_delivery,
    present_preference,
    present_subscription,
)
from notifications.recipients import preference_of
from notifications.services.addresses import ask_again
from notifications.services.preferences import update_preference
from notifications.services.push_subscriptions import subscribe, unsubscribe
from notifications.services.trials import send_trial
from notifications.transports.errors import TransportError
from notifications.transports.vapid import public_key
from shared.conf import conf
from shared.exceptions import Conflict, FieldError, InvalidInput, NotFound, PunctualError
from tasks.schedules.zones import zone_names
from tenants.choices import Role
from tenants.services import change_tenant
from tenants.services.provider_sign_in import is_by_provider

_CHANNELS = (
    ("console_events", "Toast in the console"),
    ("email_events", "E-mail"),
    ("push_events", "Browser push"),
)
_LOG = 10
_WORKER_FILE = "js/push_worker.js"
_MAX_KEY = 500


@page(Role.VIEWER)
def settings(request: ConsoleRequest) -> HttpResponse:
    """Show the visitor's own preferences, browsers and latest messages."""
    membership = request.visitor.membership
    has_chosen = hasattr(membership, "notification_preference")
    chosen = present_preference(preference_of(membership))
    if not has_chosen:
        # The member has chosen none yet: the zone of the page's clock is the best guess.
        chosen["timezone"] = get_current_timezone_name()
    browsers = PushSubscription.objects.filter(membership=membership).order_by("-created_at")
    log = Delivery.objects.filter(membership=membership).select_related(*RECEIVERS, "alert")
    return render(
        request,
        "dashboard/settings.html",
        {
            "chosen": chosen,
            "channels": [label for _, label in _CHANNELS],
            "events": [
                {
                    "value": value,
                    "label": text,
                    "channels": [
                        {"name": name, "label": label, "on": value in chosen[name]}
                        for name, label in _CHANNELS
                    ],
                }
                for value, text in AlertKind.choices
            ],
            "browsers": [present_subscription(one) for one in browsers],
            "push_key": public_key() or "",
            "log": [
                {**present_delivery(one), "title": one.alert.title}
                for one in log.order_by("-created_at")[:_LOG]
            ],
            "zones": zone_names(),
            "zone_hint": "For e-mail and the quiet hours. Pages show "
            f"{get_current_timezone_name()}; the button above switches.",
            "mail_from": deployment.DEFAULT_FROM_EMAIL,
            "owns": request.visitor.may(Role.OWNER),
            "has_providers": bool(conf().oidc_providers),
        },
    )


@action(Role.VIEWER)
def save(request: ConsoleRequest) -> Done:
    """Save the form; each member changes only their own preferences."""
    visitor, form = request.visitor, request.POST
    changes: dict[str, Any] = {name: form.getlist(name) for name, _ in _CHANNELS}
    changes |= {
        "email_address": form.get("email_address", "").strip() or None,
        "timezone": form.get("timezone", "").strip() or "UTC",
        "quiet_from": _time(request, "quiet_from"),
        "quiet_to": _time(request, "quiet_to"),
        "quiet_except_final": "quiet_except_final" in form,
        "digest_minutes": _minutes(request),
    }
    member = visitor.membership.pk
    kept = update_preference(visitor.tenant.pk, member, changes, actor=visitor.actor)
    if kept.is_confirmed:
        return Done("Saved.")
    return Done(f"Saved. {kept.email_address} is used once the link in a message to it is opened.")


@action(Role.ADMIN)
def save_tenant(request: ConsoleRequest) -> Done:
    """Change the tenant's settings."""
    name = "default_jitter_seconds"
    try:
        changes = {name: float(request.POST.get(name, ""))}
    except ValueError as error:
        message = "Give the jitter in seconds, such as 30."
        raise InvalidInput([FieldError(f"#/{name}", "invalid", message)]) from error
    _change_tenant(request, changes)
    return Done("Saved.")


@action(Role.ADMIN)
def save_idempotency(request: ConsoleRequest) -> Done:
    """Change the need of an Idempotency-Key for API calls, and the retention of answers."""
    name = "idempotency_seconds"
    text = request.POST.get(name, "").strip()
    if not re.fullmatch("[0-9]{1,9}", text):
        message = "Give the time as whole seconds, such as 86400."
        raise InvalidInput([FieldError(f"#/{name}", "invalid", message)])
    changes = {"idempotency_required": "idempotency_required" in request.POST, name: int(text)}
    _change_tenant(request, changes)
    return Done("Saved.")


@action(Role.OWNER)
def save_second_factor(request: ConsoleRequest) -> Done:
    """Decide whether members need a second factor."""
    required = "second_factor_required" in request.POST
    _change_tenant(request, {"second_factor_required": required})
    return Done("Saved.")


@action(Role.OWNER)
def save_provider(request: ConsoleRequest) -> Done:
    """Decide whether members sign in by an OpenID provider only."""
    required = "provider_required" in request.POST
    if required and not is_by_provider(method_of(request)):
        raise Conflict(
            "Sign in by your provider first: this session began otherwise, and would lose sight "
            "of the tenant.",
            code="not_by_provider",
        )
    _change_tenant(request, {"provider_required": required})
    return Done("Saved.")


def _change_tenant(request: ConsoleRequest, changes: dict[str, Any]) -> None:
    visitor, version = request.visitor, read_version(request)
    change_tenant(visitor.tenant.pk, changes, actor=visitor.actor, expected_version=version)


def _minutes(request: ConsoleRequest) -> int:
    text = request.POST.get("digest_minutes", "").strip() or "0"
    if not re.fullmatch("[0-9]{1,5}", text):
        message = "Give the minutes as a whole number, such as 60."
        raise InvalidInput([FieldError("#/digest_minutes", "invalid", message)])
    return int(text)


def _time(request: ConsoleRequest, name: str) -> time | None:
    text = request.POST.get(name, "").strip()
    try:
        return time.fromisoformat(text).replace(tzinfo=None) if text else None
    except ValueError as error:
        message = "Give the quiet hours as times like 22:00."
        raise InvalidInput([FieldError(f"#/{name}", "invalid", message)]) from error


@page(Role.VIEWER)
def try_channel(request: ConsoleRequest) -> HttpResponse:
    """Send the visitor a real test message, outside of any transaction."""
    if request.method != "POST":
        return HttpResponseNotAllowed(["POST"])
    channel = request.POST.get("channel", "")
    if channel not in Channel.values:
        raise InvalidInput([FieldError("#/channel", "invalid", "Choose a channel.")])
    visitor = request.visitor
    return _sent(request, lambda: send_trial(visitor.membership, channel, actor=visitor.actor))


@page(Role.VIEWER)
def confirm_address(request: ConsoleRequest) -> HttpResponse:
    """Ask the visitor's new address once more to confirm that it is theirs."""
    if request.method != "POST":
        return HttpResponseNotAllowed(["POST"])
    return _sent(request, lambda: ask_again(request.visitor.membership))


def _sent(request: ConsoleRequest, send: Callable[[], str]) -> HttpResponse:
    """Send, and return to the settings with a message about the result."""
    try:
        messages.success(request, f"Sent to {send()}.")
    except TransportError as error:
        messages.error(request, f"The message could not be sent: {error}")
    except PunctualError as error:
        messages.error(request, error.message)
    return redirect("dashboard:settings")


@action(Role.VIEWER)
def push_subscribe(request: ConsoleRequest) -> Done:
    """Subscribe this browser to pushes."""
    visitor, form = request.visitor, request.POST
    subscribe(
        visitor.tenant.pk,
        visitor.membership.pk,
        endpoint=form.get("endpoint", "")[:2048],
        p256dh=form.get("p256dh", "")[:_MAX_KEY],
        auth=form.get("auth", "")[:_MAX_KEY],
        user_agent=request.headers.get("User-Agent", "")[:200],
        actor=visitor.actor,
    )
    return Done("This browser now gets push messages.")


@action(Role.VIEWER)
def push_unsubscribe(request: ConsoleRequest, subscription_id: UUID) -> Done:
    """Forget one of the visitor's own browsers."""
    visitor = request.visitor
    own = PushSubscription.objects.filter(membership=visitor.membership, pk=subscription_id)
    if not own.exists():
        raise NotFound("There is no such browser.")
    unsubscribe(visitor.tenant.pk, subscription_id, actor=visitor.actor)
    return Done("Removed.")


def push_worker(request: HttpRequest) -> HttpResponse:
    """Serve the service worker from the root, so that its scope covers every page."""
    path = finders.find(_WORKER_FILE)
    if not isinstance(path, str):
        raise Http404
    with open(path, encoding="utf-8") as file:
        answer = HttpResponse(file.read(), content_type="text/javascript; charset=utf-8")
    answer["Cache-Control"] = "no-cache"
    return answer
