"""API keys on the console: what each may do, where it was last used, and how to change it.

Admins and owners see the page. The text of a key is in the one answer that made it, and in no
stored answer, message or session. Services compare each change with the member's own rights.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any
from uuid import UUID

from django.contrib import messages
from django.http import HttpResponse, HttpResponseNotAllowed
from django.shortcuts import redirect, render
from django.urls import reverse
from django.utils import timezone

from dashboard.access import ConsoleRequest, Done, action, page, run_once
from dashboard.fields import instant_of, read_text
from dashboard.listing import read_filters, read_page
from shared import database_clock
from shared.clock_text import field_text
from shared.exceptions import FieldError, InvalidInput, PunctualError
from tenants.authority import Authority
from tenants.choices import SCOPES, Role
from tenants.models import ApiKey
from tenants.services import (
    create_api_key,
    edit_api_key,
    get_api_key,
    revoke_api_key,
    rotate_api_key,
)
from tenants.services.api_keys import DEFAULT_OVERLAP_SECONDS, state_of

#: Scope -> what it allows.
_SCOPES = tuple(
    zip(
        SCOPES,
        (
            "see tasks, executions and statistics",
            "create, edit and delete tasks",
            "pause, run, cancel and retry",
            "lease executions of a pool",
            "manage keys and settings",
        ),
        strict=True,
    )
)
_OVERLAPS = (
    (str(DEFAULT_OVERLAP_SECONDS), "a day"),
    ("0", "not at all: it is refused at once"),
    ("3600", "an hour"),
    (str(7 * 24 * 3600), "7 days"),
)
_REPLAYED = "Idempotent-Replayed"


@page(Role.ADMIN)
def api_keys(request: ConsoleRequest) -> HttpResponse:
    """List the tenant's keys, newest first, revoked ones too."""
    keys = ApiKey.objects.filter(tenant_id=request.visitor.tenant.pk)
    shown = read_page(keys, read_filters(request, {}))
    now = database_clock.now()
    for key in shown["rows"]:
        key.state = _state(key, now)
        key.is_changeable = not key.owner or request.visitor.may(Role.OWNER)
    return render(request, "dashboard/api_keys.html", shown)


@page(Role.ADMIN)
def api_key_new(request: ConsoleRequest) -> HttpResponse:
    """Show the form of a new key; create it, and show its text once."""
    if request.method not in ("GET", "POST"):
        return HttpResponseNotAllowed(["GET", "POST"])
    if request.method == "GET":
        return _form(request, None, _fields_of(None), {})

    def run() -> HttpResponse:
        values = _read(request)
        made, text = create_api_key(
            request.visitor.tenant,
            **values,
            owner="owner" in request.POST,
            actor=request.visitor.actor,
            by=_authority(request),
        )
        return _made(request, made, text)

    return _answered(request, None, run)


@page(Role.ADMIN)
def api_key_edit(request: ConsoleRequest, key_id: UUID) -> HttpResponse:
    """Show a key in the form; save its changes."""
    if request.method not in ("GET", "POST"):
        return HttpResponseNotAllowed(["GET", "POST"])
    found = get_api_key(request.visitor.tenant.pk, key_id)
    if request.method == "GET":
        return _form(request, found, _fields_of(found), {})

    def run() -> HttpResponse:
        visitor, changes = request.visitor, _read(request)
        if request.POST.get("expires_at", "").strip() == _fields_of(found)["expires_at"]:
            # The field shows whole seconds.
            del changes["expires_at"]
        saved = edit_api_key(
            visitor.tenant.pk,
            key_id,
            changes,
            actor=visitor.actor,
            by=_authority(request),
            # The form sends every field: one that was opened before another change would undo it.
            seen=request.POST.get("seen", ""),
        )
        messages.success(request, f"Saved {saved.name}. It holds with the key's next call.")
        return redirect("dashboard:api_keys")

    return _answered(request, found, run)


@page(Role.ADMIN)
def api_key_rotate(request: ConsoleRequest, key_id: UUID) -> HttpResponse:
    """Replace a key, and show the text of the new one once."""
    if request.method != "POST":
        return HttpResponseNotAllowed(["POST"])
    visitor = request.visitor

    def run() -> HttpResponse:
        given = request.POST.get("overlap_seconds", "")
        if given not in dict(_OVERLAPS):
            message = "Choose how long the old key stays valid."
            raise InvalidInput([FieldError("#/overlap_seconds", "invalid", message)], message)
        made, text = rotate_api_key(
            visitor.tenant.pk,
            key_id,
            overlap_seconds=int(given),
            actor=visitor.actor,
            by=_authority(request),
        )
        return _made(request, made, text)

    try:
        return _as_page(run_once(request, run))
    except PunctualError as refused:
        messages.error(request, refused.message)
        return redirect("dashboard:api_keys")


@action(Role.ADMIN)
def api_key_revoke(request: ConsoleRequest, key_id: UUID) -> Done:
    """Revoke a key: its next call is refused, and its open sockets are closed."""
    visitor = request.visitor
    revoked = revoke_api_key(visitor.tenant.pk, key_id, actor=visitor.actor, by=_authority(request))
    return Done(f"Revoked {revoked.name}.", reverse("dashboard:api_keys"))


def _authority(request: ConsoleRequest) -> Authority:
    return Authority(user_id=request.visitor.user.pk)


def _state(key: ApiKey, now: Any) -> str:
    if key.revoked_at is not None:
        return "revoked"
    if not key.is_valid_at(now):
        return "expired"
    return "being replaced" if key.replaced_by else "valid"


def _made(request: ConsoleRequest, made: ApiKey, text: str) -> HttpResponse:
    """Return the page with the text; what is stored for a repeat of the form has none."""
    shown = {"key": made, "text": text}
    answer = render(request, "dashboard/api_key_made.html", shown)
    without = render(request, "dashboard/api_key_made.html", {**shown, "text": ""})
    answer.stored = without.content  # type: ignore[attr-defined]  # read by api.idempotency
    answer["Cache-Control"] = "no-store"
    return answer


def _as_page(answer: HttpResponse) -> HttpResponse:
    """Return an answer that may be a stored one, whose type is not kept."""
    if _REPLAYED in answer and answer.status_code == 200:
        answer["Content-Type"] = "text/html; charset=utf-8"
        answer["Cache-Control"] = "no-store"
    return answer


def _answered(
    request: ConsoleRequest, found: ApiKey | None, run: Callable[[], HttpResponse]
) -> HttpResponse:
    """Run the change, or show the form again with its errors."""
    try:
        return _as_page(run_once(request, run))
    except InvalidInput as refused:
        errors: dict[str, str] = {}
        for one in refused.errors:
            # #/addresses/2 is an error of the field addresses.
            field = [*one.pointer.split("/"), "form"][1]
            errors[field] = f"{errors.get(field, '')} {one.message}".strip()
    except PunctualError as refused:
        errors = {"form": refused.message}
    sent = {
        **{name: request.POST.get(name, "") for name in ("name", "addresses", "expires_at")},
        "scopes": request.POST.getlist("scopes"),
        "owner": "owner" in request.POST,
    }
    return _form(request, found, sent, errors)


def _form(
    request: ConsoleRequest, found: ApiKey | None, fields: dict[str, Any], errors: dict[str, str]
) -> HttpResponse:
    shown = {
        "key": found,
        "fields": fields,
        "errors": errors,
        "scopes": _SCOPES,
        "overlaps": _OVERLAPS,
        "may_own": request.visitor.may(Role.OWNER),
        "seen": request.POST.get("seen") or (state_of(found) if found else ""),
        "zone_hint": f"In {timezone.get_current_timezone_name()}; empty: it does not expire.",
    }
    return render(request, "dashboard/api_key_form.html", shown, status=400 if errors else 200)


def _fields_of(found: ApiKey | None) -> dict[str, Any]:
    if found is None:
        return {"name": "", "scopes": ["read"], "addresses": "", "expires_at": "", "owner": False}
    end = found.expires_at
    return {
        "name": found.name,
        "scopes": found.scopes,
        "addresses": "\n".join(found.addresses),
        "expires_at": field_text(end) if end else "",
        "owner": found.owner,
    }


def _read(request: ConsoleRequest) -> dict[str, Any]:
    """Return the values of the form; raise InvalidInput."""
    name = read_text(request, "name", longest=200)
    if not name:
        raise InvalidInput([FieldError("#/name", "required", "Give the key a name.")])
    return {
        "name": name,
        "scopes": request.POST.getlist("scopes"),
        "addresses": request.POST.get("addresses", "").replace(",", " ").split(),
        "expires_at": _end(request.POST.get("expires_at", "").strip()),
    }


def _end(text: str) -> Any:
    if not text:
        return None
    try:
        return instant_of(text, timezone.get_current_timezone())
    except ValueError as error:
        message = "Give a date and time, or nothing."
        raise InvalidInput([FieldError("#/expires_at", "invalid", message)]) from error
