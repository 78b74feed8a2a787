"""New and edited tasks: one form with a live preview, pasting, and a test before saving."""

from __future__ import annotations

import re
from collections.abc import Callable
from datetime import datetime, timedelta
from functools import partial
from typing import Any
from uuid import UUID

from django.contrib import messages
from django.http import HttpResponse, HttpResponseNotAllowed
from django.shortcuts import redirect, render
from django.urls import reverse
from django.views.decorators.http import require_POST

from dashboard.access import ConsoleRequest, page, run_once
from dashboard.fields import zone_of
from dashboard.pictures.attempt_phases import AttemptFacts
from dashboard.task_form.choices import CHOICES, TEMPLATE_NAMES, open_groups, open_parts
from dashboard.task_form.form import (
    EMPTY,
    UNITS,
    field_errors,
    form_of,
    given_fields,
    judge_form,
    read_form,
    secrets_of,
)
from dashboard.task_form.retry import rule_rows
from dashboard.task_form.target import kind_of
from dashboard.task_form.values import show_plain
from dashboard.views.task_preview import form_fields
from executions.changes import changing
from executions.loop.clocks import database_now
from executions.triggering.receiver_requests import address_of
from executions.triggering.receiver_target import DEFAULT_PATH
from executions.triggering.test_delivery import TestResult, send_test
from shared.exceptions import FieldError, InvalidInput, PunctualError, TooLarge, VersionMismatch
from tasks import choices
from tasks.calendars import limits_of, names
from tasks.cloning import copied_name
from tasks.creation import create_task
from tasks.definition import WORKFLOW_POOL, Definition, to_long
from tasks.importers.pasted import parse_pasted
from tasks.models import Task
from tasks.named_secrets.services import list_secrets
from tasks.plain_times.reading import EXAMPLES
from tasks.revisions import read_definition
from tasks.schedules.zones import zone_names
from tasks.validation.bodies import StatusChange, parse_copy, parse_create, parse_replace
from tenants.choices import Role

_WHEN = ("cron_expression", "every_count", "run_at", "delay_seconds")
_VERSION = re.compile(r"[0-9]{1,9}")


@page(Role.ADMIN)
def task_new(request: ConsoleRequest) -> HttpResponse:
    """Show the form of a new task, filled from an example, a copy or a paste; create it."""
    if request.method == "GET":
        return _form(request, _first_fields(request))
    if request.method != "POST":
        return HttpResponseNotAllowed(["GET", "POST"])
    fields = form_fields(request)
    if "paste" in request.POST:
        return _pasted(request, fields)
    visitor = request.visitor

    def create() -> HttpResponse:
        now = database_now()
        source = _source(request)
        definition = judge_form(fields, _base(source), _parser(visitor.tenant.pk, source, now))
        made = create_task(visitor.tenant.pk, definition, actor=visitor.actor, now=now)
        messages.success(request, "Created. This is when it fires next.")
        return redirect("dashboard:task", made.pk)

    try:
        return run_once(request, create)
    except PunctualError as refused:
        return _form(request, fields, _errors_of(refused))


@page(Role.ADMIN)
def task_edit(request: ConsoleRequest, task_id: UUID) -> HttpResponse:
    """Show a task in the form; save it as its next version, unless it has changed meanwhile."""
    found: Task = Task.objects.get_for_tenant(request.visitor.tenant.pk, task_id)
    if found.pool == WORKFLOW_POOL:
        return redirect("dashboard:workflow_edit", task_id)
    current = to_long(read_definition(found))
    if request.method == "GET":
        return _form(request, form_of(current), task=found)
    if request.method != "POST":
        return HttpResponseNotAllowed(["GET", "POST"])
    fields = form_fields(request)
    if "paste" in request.POST:
        return _pasted(request, fields, found)

    def edit(before: Definition, now: datetime) -> tuple[Definition, StatusChange | None]:
        limits = limits_of(visitor.tenant.pk)
        parse = partial(parse_replace, now=now, limits=limits, current=before)
        return judge_form(fields, to_long(before), parse), None

    version = request.POST.get("version", "")
    expected = int(version) if _VERSION.fullmatch(version) else found.version
    visitor = request.visitor

    def save() -> HttpResponse:
        changing.edit_task(
            visitor.tenant.pk, task_id, edit, actor=visitor.actor, expected_version=expected
        )
        messages.success(request, "Saved. From now on only the new version starts.")
        return redirect("dashboard:task", task_id)

    try:
        return run_once(request, save)
    except VersionMismatch as refused:
        return _form(request, fields, [_stale(refused)], task=found, version=found.version)
    except PunctualError as refused:
        return _form(request, fields, _errors_of(refused), task=found, version=expected)


@require_POST
@page(Role.ADMIN)
def task_test(request: ConsoleRequest) -> HttpResponse:
    """Send the form's call once, now, and show its result; a fragment."""
    visitor = request.visitor
    shown: dict[str, Any]
    try:
        source = _source(request)
        send = partial(send_test, visitor.tenant.pk, actor=visitor.actor, source=source)
        path = DEFAULT_PATH if request.POST.get("to") == "receiver" else None
        result = send(_testable(request, source), receiver_path=path)
        shown = {"result": result, "attempts": [_facts(result)], "now": _now()}
    except InvalidInput as refused:
        shown = {"errors": [error.message for error in refused.errors]}
    except PunctualError as refused:
        shown = {"errors": [refused.message]}
    return render(request, "dashboard/_test_result.html", shown)


def _testable(request: ConsoleRequest, source: Definition | None) -> dict[str, Any]:
    """Return the form's body; where a field has no valid value, raise all errors."""
    fields, base = form_fields(request), _base(source)
    try:
        return read_form(fields, base)
    except InvalidInput:
        judge_form(fields, base, _parser(request.visitor.tenant.pk, source, _now()))
        raise


def _now() -> datetime:
    return database_now()


def _stale(refused: VersionMismatch) -> FieldError:
    message = (
        "Another version was saved in the meantime. Your text is kept below. If you save again, "
        f"it replaces that version. {refused.message}"
    )
    return FieldError("#", "version_mismatch", message)


def _errors_of(refused: PunctualError) -> list[FieldError]:
    if isinstance(refused, InvalidInput) and refused.errors:
        return refused.errors
    pointer = "#/payload" if isinstance(refused, TooLarge) else "#"
    return [FieldError(pointer, refused.code, refused.message)]


def _source(request: ConsoleRequest) -> Definition | None:
    """Return the definition that the form was filled from; only it has the secrets."""
    try:
        wanted = UUID(request.POST.get("base_of", ""))
    except ValueError:
        return None
    source: Task = Task.objects.get_for_tenant(request.visitor.tenant.pk, wanted)
    return read_definition(source)


def _parser(
    tenant_id: UUID, source: Definition | None, now: datetime
) -> Callable[[Any], Definition]:
    limits = limits_of(tenant_id)
    if source is None:
        return partial(parse_create, now=now, limits=limits)
    return partial(parse_copy, source, now=now, limits=limits)


def _base(source: Definition | None) -> dict[str, Any] | None:
    """Return the source as it was shown; it supplies the parts that the form does not show."""
    return None if source is None else to_long(source)


def _first_fields(request: ConsoleRequest) -> dict[str, str]:
    fields = {
        **EMPTY,
        "timezone": zone_of(request),
        "jitter_seconds": show_plain(request.visitor.tenant.default_jitter_seconds),
    }
    copied = request.GET.get("copy")
    if copied:
        try:
            source: Task = Task.objects.get_for_tenant(request.visitor.tenant.pk, UUID(copied))
        except ValueError:
            return fields
        shown = form_of(to_long(read_definition(source)))
        return {**shown, "name": copied_name(shown["name"]), "base_of": copied}
    receiver = address_of(request.visitor.tenant.pk)
    if request.GET.get("example") and receiver:
        fields |= {
            "name": "My first task",
            "when": "every",
            "every_count": "10",
            "every_unit": "S",
            "url": f"{receiver}ok",
            "payload": '{\n  "hello": "world"\n}',
        }
    return fields


def _pasted(
    request: ConsoleRequest, fields: dict[str, str], task: Task | None = None
) -> HttpResponse:
    text = request.POST.get("pasted", "")
    try:
        pasted = parse_pasted(text, timezone=fields.get("timezone", "UTC"))
    except InvalidInput as refused:
        message = " ".join(error.message for error in refused.errors) or refused.message
        return _form(request, fields, task=task, paste_error=message, pasted=text)
    filled = {**fields, **given_fields(pasted.definition)}
    filled["name"] = fields.get("name") or filled.get("name", "")
    return _form(request, filled, task=task, notes=list(pasted.notes))


def _form(
    request: ConsoleRequest,
    fields: dict[str, str],
    errors: list[FieldError] | None = None,
    *,
    task: Task | None = None,
    version: int | None = None,
    **extra: Any,
) -> HttpResponse:
    known = field_errors(errors or [], kind_of(fields))
    if fields.get("when") == "words":
        # The fields that say when are not shown: their errors are of the words.
        known = {"words" if name in _WHEN else name: text for name, text in known.items()}
    chosen = [name for name in fields.get("calendars", "").split("\n") if name]
    context = {
        "fields": fields,
        "errors": known,
        "task": task,
        "version": version or (task.version if task else None),
        "base_of": task.pk if task else fields.get("base_of", ""),
        "zones": zone_names(),
        "examples": EXAMPLES,
        "methods": choices.METHODS,
        "units": UNITS,
        "calendars": sorted({*names(request.visitor.tenant.pk), *chosen}),
        "chosen_calendars": chosen,
        "choices": CHOICES,
        "open_parts": open_parts(fields, known),
        "open_groups": open_groups(fields, known),
        "rules": _rules(fields, known),
        "template_names": TEMPLATE_NAMES,
        "stored": _stored(request, task, fields),
        **_called(request, fields),
        "receiver": address_of(request.visitor.tenant.pk),
        "save_url": reverse("dashboard:task_edit", args=[task.pk])
        if task
        else reverse("dashboard:task_new"),
        **extra,
    }
    return render(request, "dashboard/task_form.html", context, status=400 if known else 200)


def _stored(request: ConsoleRequest, task: Task | None, fields: dict[str, str]) -> list[str]:
    """Return the fields whose secret is stored in the task, or in the source of the copy."""
    if task is None and fields.get("base_of"):
        tasks = Task.objects.for_tenant(request.visitor.tenant.pk)
        try:
            task = tasks.filter(pk=UUID(fields["base_of"])).first()
        except ValueError:
            return []
    return secrets_of(to_long(read_definition(task))) if task else []


def _called(request: ConsoleRequest, fields: dict[str, str]) -> dict[str, Any]:
    """Return what a target may name: pools, commands and secrets, the task's own among them."""
    limits = limits_of(request.visitor.tenant.pk)
    chosen = {name: {fields[name]} - {""} for name in ("pool_name", "command") if name in fields}
    return {
        "pools": sorted(limits.pools() | chosen.get("pool_name", set())),
        "commands": sorted(limits.commands | chosen.get("command", set())),
        "secret_names": [one.name for one in list_secrets(request.visitor.tenant.pk)],
        "variables": [
            {"command": name, "names": ", ".join(limits.variables.get(name, ()))}
            for name in sorted(limits.commands)
        ],
    }


def _rules(fields: dict[str, str], errors: dict[str, str]) -> list[dict[str, Any]]:
    """Return the rows of the rules, each with its errors."""
    return [
        {
            **row,
            "errors": [text for at, text in errors.items() if at.startswith(f"rule_{place}_")],
        }
        for place, row in enumerate(rule_rows(fields))
    ]


def _facts(result: TestResult) -> AttemptFacts:
    state = {"succeeded": "SUCCEEDED"}.get(result.outcome.lower(), "FAILED")
    status = result.response["status"] if result.response else None
    now = _now()
    return AttemptFacts(
        number=1,
        state=state,
        due_at=now,
        started_at=now,
        finished_at=now + timedelta(milliseconds=result.timings.get("total") or 0.0),
        timings=dict(result.timings),
        response_status=status,
        error_code=result.error_code,
    )
