"""``/v1/calendars``: days and windows at which tasks do not run.

They live here, and not in tasks, because a change takes back prepared executions.
"""

from __future__ import annotations

from typing import Any, cast
from uuid import UUID

from drf_spectacular.utils import extend_schema
from rest_framework.request import Request
from rest_framework.response import Response

from api.calendars.parser import CHARSET, OCTETS, CalendarParser, is_calendar
from api.calendars.schemas import (
    CalendarCreateSerializer,
    CalendarEditSerializer,
    CalendarImportedSerializer,
    CalendarImportSerializer,
    CalendarSerializer,
    CalendarSummarySerializer,
)
from api.idempotency import idempotent, idempotent_outside
from api.protocol.pagination import LIST_PARAMETERS, paginate
from api.protocol.query import boolean, choice, text
from api.protocol.schema import list_answer
from api.protocol.views import PunctualView
from executions.changes import calendar_changes
from shared.exceptions import FieldError, InvalidInput
from tasks import calendars
from tasks.calendar_content import read_content
from tasks.calendar_import import Mode
from tasks.field_reader import Errors, FieldReader
from tasks.ical.limits import MAX_BYTES
from tasks.models import Calendar
from tasks.presentation_calendars import present_calendar, present_summary

#: Room for every day and window that a calendar may have, each with a name.
_MAX_BODY_BYTES = 8 * 1024 * 1024


class CalendarsView(PunctualView):
    """The tenant's calendars."""

    max_body_bytes = _MAX_BODY_BYTES
    query_parameters = {"GET": {**LIST_PARAMETERS, "q": text("Part of the name.")}}

    @extend_schema(
        operation_id="list_calendars",
        responses=list_answer("calendars", CalendarSummarySerializer),
    )
    def get(self, request: Request) -> Response:
        """List the calendars by name, their days counted."""
        counts = calendars.counts_of_tasks(self.tenant_id)
        page = paginate(
            calendars.summaries(self.tenant_id, self.query["q"]),
            self.query,
            key="calendars",
            serialize=lambda row: present_summary(row, counts.get(row.name, 0)),
            order=("name", "id"),
        )
        return Response(page)

    @extend_schema(
        operation_id="create_calendar",
        request=CalendarCreateSerializer,
        responses={201: CalendarSerializer},
    )
    @idempotent(required=False)
    def post(self, request: Request) -> Response:
        """Create a calendar; tasks name it in `schedule.calendars`."""
        made = calendars.create_calendar(
            self.tenant_id, read_content(request.data), actor=self.actor
        )
        location = {"Location": f"/v1/calendars/{made.id}", **_etag(made)}
        return Response(_shown(made), status=201, headers=location)


class CalendarView(PunctualView):
    """One calendar."""

    versioned = frozenset({"DELETE", "PATCH"})
    max_body_bytes = _MAX_BODY_BYTES

    @extend_schema(operation_id="get_calendar", responses=CalendarSerializer)
    def get(self, request: Request, calendar_id: UUID) -> Response:
        """Show a calendar with all its days and windows."""
        return _answer(Calendar.objects.get_for_tenant(self.tenant_id, calendar_id))

    @extend_schema(
        operation_id="edit_calendar",
        request=CalendarEditSerializer,
        responses=CalendarSerializer,
    )
    @idempotent(required=False)
    def patch(self, request: Request, calendar_id: UUID) -> Response:
        """Change a calendar; fields left out stay, a list replaces the stored one.

        Tasks that name it follow: from the answer on no instant that it now excludes starts.
        """
        calendar = calendar_changes.update_calendar(
            self.tenant_id,
            calendar_id,
            lambda content: read_content(request.data, content),
            actor=self.actor,
            expected_version=self.expected_version,
        )
        return _answer(calendar)

    @extend_schema(operation_id="delete_calendar", request=None, responses={204: None})
    @idempotent(required=False)
    def delete(self, request: Request, calendar_id: UUID) -> Response:
        """Delete a calendar that no task names; otherwise 409 `calendar_in_use`."""
        calendar_changes.delete_calendar(
            self.tenant_id,
            calendar_id,
            actor=self.actor,
            expected_version=self.expected_version,
        )
        return Response(status=204)


class ImportCalendarView(PunctualView):
    """Days from an iCalendar file."""

    versioned = frozenset({"POST"})
    parser_classes = [CalendarParser]
    receipt = frozenset({"imported"})
    #: A file as a string of JSON: line ends and quotes take two bytes.
    max_body_bytes = 2 * MAX_BYTES
    query_parameters = {
        "POST": {
            "mode": choice(
                *Mode,
                description="Keep the stored days, or replace them; a JSON body may name the mode "
                "itself.",
            ),
            "dry_run": boolean("Only report; the calendar stays as it is.", default=False),
        }
    }

    @extend_schema(
        operation_id="import_calendar",
        request={
            "application/json": CalendarImportSerializer,
            "text/calendar": {"type": "string", "maxLength": MAX_BYTES},
        },
        responses=CalendarImportedSerializer,
    )
    @idempotent_outside
    def post(self, request: Request, calendar_id: UUID) -> Response:
        """Take whole-day events as dates and timed ones as windows.

        Repeating events count from five years back to ten years ahead. An event that cannot be
        read is left out and listed with its line, its UID and the reason. A file that is no
        iCalendar file is 400 and changes nothing. `dry_run` answers with the calendar as it would
        be and changes nothing.
        """
        raw, charset, mode = _asked(request, self.query["mode"])
        found = calendar_changes.read_days(self.tenant_id, calendar_id, raw, charset)
        if self.query["dry_run"]:
            calendar, imported = calendar_changes.preview_import(
                self.tenant_id, calendar_id, found, mode
            )
        else:
            calendar, imported = calendar_changes.import_days(
                self.tenant_id,
                calendar_id,
                found,
                mode,
                actor=self.actor,
                expected_version=self.expected_version,
            )
        answer = {"imported": imported.present(), "calendar": _shown(calendar)}
        return Response(answer, headers=_etag(calendar))


def _answer(calendar: Calendar) -> Response:
    return Response(_shown(calendar), headers=_etag(calendar))


def _etag(calendar: Calendar) -> dict[str, str]:
    return {"ETag": f'"{calendar.version}"'}


def _shown(calendar: Calendar) -> dict[str, Any]:
    tasks = calendars.tasks_naming(calendar.tenant_id, calendar.name).count()
    return present_calendar(calendar, tasks)


def _asked(request: Request, in_query: str | None) -> tuple[bytes, str, Mode]:
    """Return the file's bytes, its encoding where that is known, and the mode."""
    if is_calendar(request.content_type):
        file = cast(dict[str, str], request.data)
        # An empty body reaches no parser.
        raw, charset = file.get(OCTETS, "").encode("latin-1"), file.get(CHARSET, "")
        return raw, charset, Mode(in_query or Mode.ADD)
    body, errors = cast(dict[str, Any], request.data), Errors()
    reader = FieldReader(body, "#", errors)
    reader.refuse_unknown(("ical", "mode"))
    ical = reader.text("ical", None, longest=MAX_BYTES, printable=False)
    mode = reader.choice("mode", list(Mode), in_query or Mode.ADD)
    if ical is None and not errors.below("#/ical"):
        errors.add("#/ical", "required", "Give the text of an iCalendar file.")
    errors.raise_if_any()
    if "mode" in body and in_query not in (None, mode):
        message = "The body and ?mode= say different things."
        raise InvalidInput([FieldError("?mode", "exclusive", message)], message)
    return str(ical).encode(), "", Mode(mode)
