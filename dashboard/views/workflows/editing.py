"""New and edited workflows: a definition as a list of steps, or as text in YAML or JSON."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from typing import Any
from uuid import UUID

from django.contrib import messages
from django.http import HttpResponse, HttpResponseNotAllowed
from django.shortcuts import redirect, render
from django.urls import reverse

from dashboard.access import ConsoleRequest, page, run_once
from dashboard.fields import read_version, zone_of
from dashboard.views.workflows.checking import errors_of
from dashboard.views.workflows.list_editor import list_context
from dashboard.workflow_text import read_text, without_defaults, write_text
from executions.changes import changing
from executions.loop.clocks import database_now
from executions.triggering.receiver_requests import address_of
from insight.workflow_runs import find_take
from shared.exceptions import InvalidInput, NotFound, PunctualError, VersionMismatch
from tasks import standing_pauses
from tasks.calendars import limits_of
from tasks.creation import create_task
from tasks.definition import Definition
from tasks.models import Task
from tasks.revisions import read_definition
from tasks.validation.bodies import StatusChange
from tasks.validation.workflow import (
    parse_workflow,
    parse_workflow_replace,
    workflow_fields,
)
from tenants.choices import Role
from workflows.launching import get_workflow

#: What a new workflow's page begins with.
_EXAMPLE = """\
name: Nightly report
schedule:
  cron_expression: "0 2 * * *"
  timezone: {zone}
steps:
  - key: extract
    target:
      url: {extract}
  - key: load
    depends_on: [extract]
    target:
      url: {load}
    payload:
      run: "{{{{ run.id }}}}"
  - key: approve
    kind: approval
    depends_on: [load]
    timeout_seconds: 86400
  - key: publish
    depends_on: [approve]
    target:
      url: {publish}
"""


@page(Role.ADMIN)
def workflow_new(request: ConsoleRequest) -> HttpResponse:
    """Show a new workflow as a list or as text, an example or a copy of another; create it."""
    if request.method == "GET":
        return _first_form(request)
    if request.method != "POST":
        return HttpResponseNotAllowed(["GET", "POST"])
    visitor, text = request.visitor, request.POST.get("definition", "")

    def create() -> HttpResponse:
        # From here on no calendar that it names is deleted.
        standing_pauses.share_active(visitor.tenant.pk)
        now, limits = database_now(), limits_of(visitor.tenant.pk)
        definition = parse_workflow(read_text(text), now=now, limits=limits)
        made = create_task(visitor.tenant.pk, definition, actor=visitor.actor, now=now)
        messages.success(request, "Created.")
        return redirect("dashboard:workflow", made.pk)

    try:
        return run_once(request, create)
    except PunctualError as refused:
        return _form(request, text, refused)


@page(Role.ADMIN)
def workflow_edit(request: ConsoleRequest, task_id: UUID) -> HttpResponse:
    """Show a workflow as a list or as text; save it as its next version.

    Refuse to save over another version that was saved meanwhile.
    """
    visitor = request.visitor
    found = get_workflow(visitor.tenant.pk, task_id)
    if request.method == "GET":
        return _form_of(request, found, task=found)
    if request.method != "POST":
        return HttpResponseNotAllowed(["GET", "POST"])
    text = request.POST.get("definition", "")
    expected = read_version(request) or found.version

    def edit(current: Definition, now: datetime) -> tuple[Definition, StatusChange | None]:
        limits = limits_of(visitor.tenant.pk)
        body = read_text(text)
        return parse_workflow_replace(body, now=now, limits=limits, current=current), None

    def save() -> HttpResponse:
        changing.edit_task(
            visitor.tenant.pk, task_id, edit, actor=visitor.actor, expected_version=expected
        )
        if (run_id := _run_of(request, found)) is not None:
            messages.success(request, "Saved. To use this version, retry the run.")
            return redirect("dashboard:workflow_run", run_id)
        messages.success(request, "Saved. Open runs continue with the version that they have.")
        return redirect("dashboard:workflow", task_id)

    try:
        return run_once(request, save)
    except VersionMismatch as refused:
        return _form(request, text, refused, task=found, version=found.version)
    except PunctualError as refused:
        return _form(request, text, refused, task=found, version=expected)


def _run_of(request: ConsoleRequest, task: Task) -> UUID | None:
    """Return the run of this workflow whose page led here, and is shown again after a save."""
    try:
        run_id = UUID(request.GET.get("run", ""))
        take = find_take(request.visitor.tenant.pk, run_id)
    except (ValueError, NotFound):
        return None
    return run_id if take.execution.task_id == task.pk else None


def _first_form(request: ConsoleRequest) -> HttpResponse:
    try:
        copied = UUID(request.GET.get("copy", ""))
    except ValueError:
        return _form(request, _example(request))
    return _form_of(request, get_workflow(request.visitor.tenant.pk, copied))


def _example(request: ConsoleRequest) -> str:
    """Return a first definition: it calls the test receiver, where there is one."""
    receiver = address_of(request.visitor.tenant.pk)
    place = f"{receiver}ok?step=" if receiver else "https://api.example.com/"
    calls = {step: f"{place}{step}" for step in ("extract", "load", "publish")}
    return _EXAMPLE.format(zone=zone_of(request), **calls)


def _form_of(request: ConsoleRequest, source: Task, *, task: Task | None = None) -> HttpResponse:
    """Show the form with the stored definition of a workflow."""
    body = without_defaults(workflow_fields(read_definition(source)))
    return _page(request, _Shown(write_text(body), body), task=task)


@dataclass(frozen=True, slots=True)
class _Shown:
    """What the form begins with: a text and its value, and why it was not saved."""

    text: str
    body: Any
    refused: PunctualError | None = None
    #: The version that the form replaces; None for the latest.
    version: int | None = None


def _form(
    request: ConsoleRequest,
    text: str,
    refused: PunctualError | None = None,
    *,
    task: Task | None = None,
    version: int | None = None,
) -> HttpResponse:
    """Show the form with a text, and what is wrong with it."""
    body: Any = None
    try:
        body = read_text(text)
    except InvalidInput as unreadable:
        refused = refused or unreadable
    return _page(request, _Shown(text, body, refused, version), task=task)


def _page(request: ConsoleRequest, form: _Shown, *, task: Task | None) -> HttpResponse:
    given = request.POST if request.method == "POST" else request.GET
    shown = {} if given.get("view") == "text" else list_context(request, form.body, task=task)
    text, refused = form.text, form.refused
    if shown and "\n" not in text.strip():
        # The list sends JSON in one line, which no person would read.
        text = write_text(form.body)
    run_id = _run_of(request, task) if task else None
    context = {
        "task": task,
        "run_id": run_id,
        "text": text,
        "version": form.version or (task.version if task else None),
        "errors": [] if refused is None else errors_of(refused, form.body),
        "save_url": _save_url(task, run_id),
        **shown,
    }
    status = 200 if refused is None else 400
    return render(request, "dashboard/workflow_form.html", context, status=status)


def _save_url(task: Task | None, run_id: UUID | None) -> str:
    if task is None:
        return reverse("dashboard:workflow_new")
    url = reverse("dashboard:workflow_edit", args=[task.pk])
    return url if run_id is None else f"{url}?run={run_id}"
