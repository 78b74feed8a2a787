"""Alert rules: which conditions open an alert, over which tasks."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any
from uuid import UUID

from django.http import HttpRequest, HttpResponse, HttpResponseNotAllowed
from django.shortcuts import render
from django.urls import reverse

from dashboard.access import ConsoleRequest, Done, action, page
from dashboard.fields import read_limit, read_text, read_version
from dashboard.saved_form import save_form
from notifications.alert_kinds import KINDS
from notifications.choices import ALERT_KINDS, AlertKind, RuleScope
from notifications.models import AlertRule
from notifications.services.rules import (
    NAME_LENGTH,
    VALUE_LENGTH,
    RuleFields,
    create_rule,
    delete_rule,
    get_rule,
    list_rules,
    update_rule,
)
from shared.duration_words import duration_text
from tasks.models import Task
from tenants.choices import Role

_MOST = 2**31 - 1
_TEXTS = ("name", "kind", "scope", "value", "threshold", "window_seconds")
_BOXES = ("urgent", "enabled")


@page(Role.VIEWER)
def alert_rules(request: ConsoleRequest) -> HttpResponse:
    """List the rules: built-in ones by kind, then the tenant's own by name."""
    rules = list_rules(request.visitor.tenant.pk)
    of_tasks = {rule.value for rule in rules if rule.scope in (RuleScope.TASK, RuleScope.WORKFLOW)}
    tasks = Task.objects.filter(tenant_id=request.visitor.tenant.pk, id__in=of_tasks)
    names = {str(task_id): name for task_id, name in tasks.values_list("id", "name")}
    rows = [_row(rule, names) for rule in rules]
    return render(request, "dashboard/alert_rules.html", {"rows": rows})


@page(Role.ADMIN)
def alert_rule_new(request: ConsoleRequest) -> HttpResponse:
    """Show the form of a new rule; make it."""
    visitor = request.visitor

    def create() -> AlertRule:
        return create_rule(visitor.tenant.pk, _given(request), actor=visitor.actor)

    return _form(request, None, create, "Made. It judges from now on.")


@page(Role.ADMIN)
def alert_rule_edit(request: ConsoleRequest, rule_id: UUID) -> HttpResponse:
    """Show a rule; change it."""
    visitor = request.visitor
    found = get_rule(visitor.tenant.pk, rule_id)

    def change() -> AlertRule:
        return update_rule(
            visitor.tenant.pk,
            rule_id,
            _given(request, found),
            actor=visitor.actor,
            expected_version=read_version(request),
        )

    return _form(request, found, change, "Saved.")


@action(Role.ADMIN)
def alert_rule_delete(request: ConsoleRequest, rule_id: UUID) -> Done:
    """Delete a rule; close its open alerts."""
    visitor = request.visitor
    delete_rule(visitor.tenant.pk, rule_id, actor=visitor.actor)
    return Done("Deleted. Its open alerts are closed.", reverse("dashboard:alert_rules"))


def _row(rule: AlertRule, names: dict[str, str]) -> dict[str, Any]:
    facts = KINDS[rule.kind]
    return {
        "id": rule.id,
        "name": rule.name,
        "opens": facts.opens,
        "covers": "all tasks" if rule.scope == RuleScope.ALL else names.get(rule.value, rule.value),
        "threshold": rule.threshold if facts.threshold else None,
        "window": _window(rule),
        "urgent": rule.urgent,
        "enabled": rule.enabled,
        "built_in": rule.built_in,
    }


def _window(rule: AlertRule) -> str:
    if KINDS[rule.kind].window and not rule.window_seconds:
        return "at once"
    return duration_text(rule.window_seconds * 1000 if KINDS[rule.kind].window else None)


def _given(request: HttpRequest, found: AlertRule | None = None) -> RuleFields:
    """Return the fields of the form; raise InvalidInput.

    A built-in rule keeps all but its numbers. An empty number is the default of the kind.
    """
    given: RuleFields = {
        "urgent": "urgent" in request.POST,
        "enabled": "enabled" in request.POST,
    }
    if found is None:
        given["kind"] = request.POST.get("kind", "")
    if found is None or not found.built_in:
        given["name"] = read_text(request, "name", longest=NAME_LENGTH)
        given["scope"] = request.POST.get("scope", "")
        given["value"] = read_text(request, "value", longest=VALUE_LENGTH)
    threshold = _number(request, "threshold")
    if threshold is not None:
        given["threshold"] = threshold
    window = _number(request, "window_seconds")
    if window is not None:
        given["window_seconds"] = window
    return given


def _number(request: HttpRequest, name: str) -> int | None:
    """Return a whole number; one that no column holds becomes one that no kind allows."""
    value = read_limit(request, name, whole=True)
    return None if value is None else max(-1, min(int(value), _MOST))


def _form(
    request: ConsoleRequest, found: AlertRule | None, save: Callable[[], AlertRule], done: str
) -> HttpResponse:
    if request.method not in ("GET", "POST"):
        return HttpResponseNotAllowed(["GET", "POST"])
    if request.method == "GET":
        return _shown(request, found, _fields_of(found), {})

    errors = save_form(request, save, done=done, leads_to="dashboard:alert_rules")
    if isinstance(errors, HttpResponse):
        return errors
    sent: dict[str, Any] = {name: request.POST.get(name, "") for name in _TEXTS}
    sent |= {name: name in request.POST for name in _BOXES}
    return _shown(request, found, sent, errors)


def _shown(
    request: ConsoleRequest,
    found: AlertRule | None,
    fields: dict[str, Any],
    errors: dict[str, str],
) -> HttpResponse:
    facts = KINDS[found.kind] if found else None
    shown = {
        "rule": found,
        "fields": fields,
        "errors": errors,
        "facts": facts,
        "takes_value": found is None or (not found.built_in and facts and facts.takes_scope),
        "kinds": [(kind, AlertKind(kind).label) for kind in ALERT_KINDS],
        "scopes": RuleScope.choices,
        "version": request.POST.get("version") or (found.version if found else ""),
        "table": [(AlertKind(kind).label, one) for kind, one in KINDS.items()],
    }
    return render(request, "dashboard/alert_rule_form.html", shown, status=400 if errors else 200)


def _fields_of(found: AlertRule | None) -> dict[str, Any]:
    if found is None:
        return {"kind": AlertKind.FAILURES_IN_A_ROW, "scope": RuleScope.ALL, "enabled": True}
    return {name: getattr(found, name) for name in (*_TEXTS, *_BOXES)}
