"""Named secrets on the console: where each may go and who uses it; never a value.

Members see the names, admins write. A value that was typed is in no answer, message or session.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

from django.http import HttpResponse, HttpResponseNotAllowed
from django.shortcuts import render
from django.urls import reverse

from dashboard.access import ConsoleRequest, Done, action, page
from dashboard.listing import read_filters, read_page
from dashboard.saved_form import save_form
from tasks.models import NamedSecret
from tasks.named_secrets import services, uses
from tenants.choices import Role

_FIELDS = ("name", "hosts", "commands")
_VERSION = re.compile(r"[0-9]{1,9}", re.ASCII)
_USERS = 20


@page(Role.VIEWER)
def secrets(request: ConsoleRequest) -> HttpResponse:
    """List the tenant's secrets by name."""
    found = services.list_secrets(request.visitor.tenant.pk)
    shown = read_page(found, read_filters(request, {}), order=("name", "id"))
    counts = uses.counts_of([row.id for row in shown["rows"]])
    for row in shown["rows"]:
        row.task_count = counts.get(row.id, 0)
    return render(request, "dashboard/secrets.html", shown)


@page(Role.ADMIN)
def secret_new(request: ConsoleRequest) -> HttpResponse:
    """Show the form of a new secret; write it."""
    visitor = request.visitor

    def create() -> NamedSecret:
        body = {"name": request.POST.get("name", "").strip(), **_body(request)}
        return services.create_secret(visitor.tenant.pk, body, actor=visitor.actor)

    return _form(request, None, create, "Written. Tasks can name it.")


@page(Role.ADMIN)
def secret_edit(request: ConsoleRequest, secret: str) -> HttpResponse:
    """Show where a secret may go and who uses it; replace its value, its places, or both."""
    visitor = request.visitor
    found = services.get_secret(visitor.tenant.pk, secret)
    sent = request.POST.get("version", "")

    def change() -> NamedSecret:
        return services.change_secret(
            visitor.tenant.pk,
            secret,
            _body(request),
            actor=visitor.actor,
            expected_version=int(sent) if _VERSION.fullmatch(sent) else found.version,
        )

    return _form(request, found, change, "Saved. Tasks use it from their next start.")


@action(Role.ADMIN)
def secret_remove(request: ConsoleRequest, secret: str) -> Done:
    """Remove a secret that no task uses."""
    visitor = request.visitor
    services.remove_secret(visitor.tenant.pk, secret, actor=visitor.actor)
    return Done(f"Removed {secret}.", reverse("dashboard:secrets"))


def _body(request: ConsoleRequest) -> dict[str, Any]:
    """Return the body of the form; an empty value is one that stays."""
    # A browser sends each line end of a text area as two characters.
    value = request.POST.get("secret_value", "").replace("\r\n", "\n")
    body: dict[str, Any] = {"value": value} if value else {}
    for key in ("hosts", "commands"):
        body[key] = request.POST.get(key, "").replace(",", " ").split()
    return body


def _form(
    request: ConsoleRequest,
    found: NamedSecret | None,
    save: Callable[[], NamedSecret],
    done: str,
) -> HttpResponse:
    if request.method not in ("GET", "POST"):
        return HttpResponseNotAllowed(["GET", "POST"])
    if request.method == "GET":
        return _shown(request, found, _fields_of(found), {})

    errors = save_form(
        request, save, done=done, leads_to="dashboard:secrets", named={"value": "secret_value"}
    )
    if isinstance(errors, HttpResponse):
        return errors
    sent = {name: request.POST.get(name, "") for name in _FIELDS}
    return _shown(request, found, sent, errors)


def _shown(
    request: ConsoleRequest,
    found: NamedSecret | None,
    fields: dict[str, str],
    errors: dict[str, str],
) -> HttpResponse:
    users = uses.users_of([found.id]).get(found.id, []) if found else []
    shown = {
        "secret": found,
        "fields": fields,
        "errors": errors,
        "users": users[:_USERS],
        "user_count": uses.counts_of([found.id]).get(found.id, 0) if found else 0,
        "version": request.POST.get("version") or (found.version if found else ""),
    }
    answer = render(request, "dashboard/secret_form.html", shown, status=400 if errors else 200)
    answer["Cache-Control"] = "no-store"
    return answer


def _fields_of(found: NamedSecret | None) -> dict[str, str]:
    if found is None:
        return {"name": "", "hosts": "", "commands": ""}
    return {
        "name": found.name,
        "hosts": "\n".join(found.hosts),
        "commands": "\n".join(found.commands),
    }
