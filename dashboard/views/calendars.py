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
from executions.engine.clocks import database_now
from executions.services import calendar_changes
from shared.exceptions import FieldError, InvalidInput, PunctualError, TooLarge
from shared.instants import parse_instant
from tasks import calendars as services
from tasks.calendar_content import Content, read_content
from tasks.calendar_import import Imported, Mode, with_ical
from tasks.ical_lines import MAX_CHARACTERS
from tasks.models import Calendar
from tenants.choices import Role

_TASKS = 50
_DAYS = 500
_SKIPPED = 5
_VERSION = re.compile(r"[0-9]{1,9}", re.ASCII)


@page(Role.VIEWER)
def calendars(request: ConsoleRequest) -> HttpResponse:
    """List the tenant's calendars by name."""
    tenant = request.visitor.tenant.pk
    shown = read_page(services.summaries(tenant), read_filters(request, {}), order=("name", "id"))
    counts = services.counts_of_tasks(tenant)
    for calendar_ in shown["rows"]:
        calendar_.task_count = counts.get(calendar_.name, 0)
        calendar_.days_off = _weekend(calendar_.weekend)
    return render(request, "dashboard/calendars.html", shown)


@page(Role.VIEWER)
def calendar(request: ConsoleRequest, calendar_id: UUID) -> HttpResponse:
    """Show a calendar: its days and windows, and which tasks name it."""
    found = _get(request, calendar_id)
    naming = services.tasks_naming(found.tenant_id, found.name)
    count = naming.count()
    windows = [
        {**one, "start": parse_instant(one["start"]), "end": parse_instant(one["end"])}
        for one in found.windows[-_DAYS:]
    ]
    shown = {
        "calendar": found,
        "days_off": _weekend(found.weekend),
        "dates": found.dates[-_DAYS:],
        "windows": windows,
        "tasks": list(naming.order_by("name", "id").only("id", "name", "status")[:_TASKS]),
        "task_count": count,
        "modes": list(Mode),
    }
    return render(request, "dashboard/calendar.html", shown)


@page(Role.ADMIN)
def calendar_new(request: ConsoleRequest) -> HttpResponse:
    """Show the form of a new calendar; create it."""

    def create(fields: dict[str, Any]) -> Calendar:
        content = read_content(body_of(fields, named=True))
        visitor = request.visitor
        return services.create_calendar(visitor.tenant.pk, content, actor=visitor.actor)

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


@action(Role.ADMIN)
def calendar_import(request: ConsoleRequest, calendar_id: UUID) -> Done:
    """Take days from an iCalendar file or pasted text."""
    text = _uploaded(request)
    mode = request.POST.get("mode", Mode.ADD)
    if mode not in list(Mode):
        raise InvalidInput([FieldError("#/mode", "invalid", "Choose what to do with the days.")])
    imported: list[Imported] = []

    def edit(content: Content) -> Content:
        edited, found = with_ical(content, text, Mode(mode), now=database_now())
        imported.append(found)
        return edited

    visitor = request.visitor
    calendar_changes.update_calendar(visitor.tenant.pk, calendar_id, edit, actor=visitor.actor)
    return Done(_said(imported[-1]), reverse("dashboard:calendar", args=[calendar_id]))


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
    """Show the form; when it is sent, save it, or show it again with what is wrong."""
    if request.method not in ("GET", "POST"):
        return HttpResponseNotAllowed(["GET", "POST"])
    if request.method == "GET":
        fields = form_of(services.content_of(found) if found else None)
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


def _uploaded(request: ConsoleRequest) -> str:
    """Return the text of the file, or what was pasted where no file was chosen."""
    file = request.FILES.get("file")
    if file is None:
        text = request.POST.get("ical", "")
        if not text.strip():
            message = "Choose a file, or paste its text."
            raise InvalidInput([FieldError("#/ical", "required", message)])
        return text
    if (file.size or 0) > MAX_CHARACTERS:
        raise TooLarge(f"The file is larger than {MAX_CHARACTERS} bytes.")
    try:
        return str(file.read().decode("utf-8"))
    except UnicodeDecodeError as error:
        message = "The file is not UTF-8 text."
        raise InvalidInput([FieldError("#/ical", "ical_invalid", message)]) from error


def _said(imported: Imported) -> str:
    dates = f"{imported.dates} date{'' if imported.dates == 1 else 's'}"
    windows = f"{imported.windows} window{'' if imported.windows == 1 else 's'}"
    said = f"Read {dates} and {windows}."
    if imported.skipped:
        shown = (f"line {one.line}: {one.reason}" for one in imported.skipped[:_SKIPPED])
        said += f" Left out {len(imported.skipped)} ({'; '.join(shown)})."
    return said
