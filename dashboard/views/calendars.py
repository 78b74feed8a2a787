"""Calendars: days and windows that tasks keep free, by hand or from an iCalendar file."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any
from uuid import UUID

from django.contrib import messages
from django.http import HttpResponse, HttpResponseNotAllowed
from django.shortcuts import redirect, render
from django.urls import reverse

from dashboard.access import ConsoleRequest, Done, action, page, run_once
from dashboard.calendar_form import WEEKDAYS, body_of, errors_of, fields_of, form_of
from dashboard.listing import read_filters, read_page
from executions.changes import calendar_changes
from shared.exceptions import FieldError, InvalidInput, PunctualError, TooLarge, Unavailable
from shared.instants import parse_instant
from tasks.calendar_content import read_content
from tasks.calendar_import import Imported, Mode
from tasks.calendars import content_of, counts_of_tasks, create_calendar, summaries, tasks_naming
from tasks.ical.limits import MAX_BYTES
from tasks.models import Calendar
from tenants.choices import Role

_TASKS = 50
_DAYS = 500
_VERSION = re.compile(r"[0-9]{1,9}", re.ASCII)


@page(Role.VIEWER)
def calendars(request: ConsoleRequest) -> HttpResponse:
    """List the tenant's calendars by name."""
    tenant = request.visitor.tenant.pk
    shown = read_page(summaries(tenant), read_filters(request, {}), order=("name", "id"))
    counts = counts_of_tasks(tenant)
    for calendar_ in shown["rows"]:
        calendar_.task_count = counts.get(calendar_.name, 0)
        calendar_.days_off = _weekend(calendar_.weekend)
    return render(request, "dashboard/calendars.html", shown)


@page(Role.VIEWER)
def calendar(request: ConsoleRequest, calendar_id: UUID) -> HttpResponse:
    """Show a calendar: its days and windows, and the tasks that name it."""
    return _calendar_page(request, _get(request, calendar_id))


@page(Role.ADMIN)
def calendar_new(request: ConsoleRequest) -> HttpResponse:
    """Show the form of a new calendar; create it."""

    def create(fields: dict[str, Any]) -> Calendar:
        content = read_content(body_of(fields, named=True))
        visitor = request.visitor
        return create_calendar(visitor.tenant.pk, content, actor=visitor.actor)

    return _form(request, None, create, "Created. Tasks can name it in their schedules.")


@page(Role.ADMIN)
def calendar_edit(request: ConsoleRequest, calendar_id: UUID) -> HttpResponse:
    """Show a calendar in the form; save it as its next version."""
    found = _get(request, calendar_id)
    sent = request.POST.get("version", "")
    expected = int(sent) if _VERSION.fullmatch(sent) else found.version

    def save(fields: dict[str, Any]) -> Calendar:
        visitor = request.visitor
        return calendar_changes.update_calendar(
            visitor.tenant.pk,
            calendar_id,
            lambda content: read_content(body_of(fields, named=False), content),
            actor=visitor.actor,
            expected_version=expected,
        )

    return _form(request, found, save, "Saved. Tasks that name it follow.")


@page(Role.ADMIN)
def calendar_import(request: ConsoleRequest, calendar_id: UUID) -> HttpResponse:
    """Import days from an iCalendar file or pasted text, or show the import without doing it."""
    if request.method != "POST":
        return HttpResponseNotAllowed(["POST"])
    tenant_id, actor = request.visitor.tenant.pk, request.visitor.actor
    try:
        mode = _mode(request)
        found = calendar_changes.read_days(tenant_id, calendar_id, _uploaded(request))
    except (InvalidInput, TooLarge, Unavailable) as refused:
        shown = {"import_error": refused.message}
        return _calendar_page(request, _get(request, calendar_id), shown, status=refused.status)
    if "preview" in request.POST:
        would_be, imported = calendar_changes.preview_import(tenant_id, calendar_id, found, mode)
        preview = {"preview": imported.present(), "said": _said(imported)}
        return _calendar_page(request, would_be, preview)

    def run() -> HttpResponse:
        _, taken = calendar_changes.import_days(tenant_id, calendar_id, found, mode, actor=actor)
        messages.success(request, _said(taken))
        return redirect("dashboard:calendar", calendar_id)

    return run_once(request, run)


@action(Role.ADMIN)
def calendar_delete(request: ConsoleRequest, calendar_id: UUID) -> Done:
    """Delete a calendar that no task names."""
    visitor = request.visitor
    calendar_changes.delete_calendar(visitor.tenant.pk, calendar_id, actor=visitor.actor)
    return Done("Deleted.", reverse("dashboard:calendars"))


def _form(
    request: ConsoleRequest,
    found: Calendar | None,
    save: Callable[[dict[str, Any]], Calendar],
    done: str,
) -> HttpResponse:
    """Show the form; when it is sent, save it, or show it again with its errors."""
    if request.method not in ("GET", "POST"):
        return HttpResponseNotAllowed(["GET", "POST"])
    if request.method == "GET":
        fields = form_of(content_of(found) if found else None)
        return _shown(request, found, fields, {})
    fields = fields_of(request.POST)

    def run() -> HttpResponse:
        saved = save(fields)
        messages.success(request, done)
        return redirect("dashboard:calendar", saved.pk)

    try:
        return run_once(request, run)
    except InvalidInput as refused:
        errors = errors_of(fields, refused.errors) or {"form": refused.message}
    except PunctualError as refused:
        errors = {"form": refused.message}
    return _shown(request, found, fields, errors)


def _shown(
    request: ConsoleRequest, found: Calendar | None, fields: dict[str, Any], errors: dict[str, str]
) -> HttpResponse:
    shown = {
        "calendar": found,
        "fields": fields,
        "errors": errors,
        "weekdays": WEEKDAYS,
        "version": request.POST.get("version") or (found.version if found else ""),
    }
    status = 400 if errors else 200
    return render(request, "dashboard/calendar_form.html", shown, status=status)


def _get(request: ConsoleRequest, calendar_id: UUID) -> Calendar:
    tenant = request.visitor.tenant.pk
    found: Calendar = Calendar.objects.get_for_tenant(tenant, calendar_id)
    return found


def _weekend(days: list[int]) -> str:
    names = dict(WEEKDAYS)
    return ", ".join(names[day] for day in days) or "none"


def _calendar_page(
    request: ConsoleRequest,
    found: Calendar,
    more: dict[str, Any] | None = None,
    *,
    status: int = 200,
) -> HttpResponse:
    naming = tasks_naming(found.tenant_id, found.name)
    named = naming.select_related(None)
    windows = [
        {**one, "start": parse_instant(one["start"]), "end": parse_instant(one["end"])}
        for one in found.windows[-_DAYS:]
    ]
    report = found.last_import
    shown = {
        "calendar": found,
        "days_off": _weekend(found.weekend),
        "dates": found.dates[-_DAYS:],
        "windows": windows,
        "tasks": list(named.order_by("name", "id").only("id", "name", "status")[:_TASKS]),
        "task_count": naming.count(),
        "report": report,
        "imported_at": parse_instant(report["at"]) if report else None,
        "ical": request.POST.get("ical", ""),
        "mode": request.POST.get("mode", Mode.ADD),
        **(more or {}),
    }
    return render(request, "dashboard/calendar.html", shown, status=status)


def _mode(request: ConsoleRequest) -> Mode:
    mode = request.POST.get("mode", Mode.ADD)
    if mode not in list(Mode):
        message = "Choose what to do with the days."
        raise InvalidInput([FieldError("#/mode", "invalid", message)], message)
    return Mode(mode)


def _uploaded(request: ConsoleRequest) -> bytes:
    """Return the bytes of the file, or the pasted text where no file was chosen."""
    file = request.FILES.get("file")
    if file is None:
        text = request.POST.get("ical", "")
        if not text.strip():
            message = "Choose a file, or paste its text."
            raise InvalidInput([FieldError("#/ical", "required", message)], message)
        return text.encode("utf-8", "replace")
    if (file.size or 0) > MAX_BYTES:
        raise TooLarge(f"The file is larger than {MAX_BYTES} bytes.")
    return bytes(file.read())


def _said(imported: Imported) -> str:
    dates = f"{imported.dates} date{'' if imported.dates == 1 else 's'}"
    windows = f"{imported.windows} window{'' if imported.windows == 1 else 's'}"
    left_out = imported.skipped.count
    return f"Read {dates} and {windows}." + (f" Left out: {left_out}." if left_out else "")
