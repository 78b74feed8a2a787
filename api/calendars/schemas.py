"""Bodies and answers of the calls about calendars, for the OpenAPI document.

``tasks.calendar_content`` reads the bodies; tests hold the two against each other.
"""

from __future__ import annotations

from typing import Any

from rest_framework import serializers

from api.tasks.definition_serializers import DocumentedSerializer
from api.tasks.schema_parts import ID, INSTANT, Schema
from tasks.calendar_content import DESCRIPTION_LENGTH, MAX_DATES, MAX_WINDOWS, NAME_LENGTH
from tasks.calendar_import import Mode
from tasks.ical.found import SHOWN
from tasks.ical.limits import MAX_BYTES

_LABEL: Schema = {"type": "string", "maxLength": NAME_LENGTH}
_DAY: Schema = {"type": "string", "format": "date", "examples": ["2027-01-01"]}
_DATE: Schema = {
    "type": "object",
    "properties": {"date": _DAY, "name": _LABEL},
    "required": ["date"],
    "additionalProperties": False,
}
_WINDOW: Schema = {
    "type": "object",
    "properties": {"start": INSTANT, "end": INSTANT, "name": _LABEL},
    "required": ["start", "end"],
    "additionalProperties": False,
    "description": "No task runs from its start on; at its end tasks run again.",
}
_NAME: Schema = {
    "type": "string",
    "minLength": 1,
    "maxLength": NAME_LENGTH,
    "description": "Tasks refer to it, so it cannot change.",
}
_PARTS: Schema = {
    "description": {"type": "string", "maxLength": DESCRIPTION_LENGTH},
    "weekend": {
        "type": "array",
        "items": {"type": "integer", "minimum": 1, "maximum": 7},
        "uniqueItems": True,
        "maxItems": 6,
        "default": [6, 7],
        "description": "ISO weekdays (1 is Monday) that are no working days. They count for "
        "moving runs and for working_day, and exclude nothing by themselves.",
    },
    "dates": {
        "type": "array",
        "items": {"anyOf": [_DAY, _DATE]},
        "maxItems": MAX_DATES,
        "description": "Local days, in the zone of each task.",
    },
    "windows": {"type": "array", "items": _WINDOW, "maxItems": MAX_WINDOWS},
}
_COUNT: Schema = {"type": "integer", "minimum": 0}
_HEAD: Schema = {
    "id": ID,
    "name": _NAME,
    "description": _PARTS["description"],
    "weekend": _PARTS["weekend"],
}
_TAIL: Schema = {
    "version": {"type": "integer", "minimum": 1},
    "tasks": _COUNT | {"description": "How many tasks name it."},
    "created_at": INSTANT,
    "updated_at": INSTANT,
}


def _all(properties: Schema) -> Schema:
    return {
        "type": "object",
        "properties": properties,
        "required": list(properties),
        "additionalProperties": False,
    }


def _named(item: Schema) -> Schema:
    return {"type": "array", "items": item | {"required": list(item["properties"])}}


def _remarks(description: str) -> Schema:
    """Return the schema of a list of remarks about a file."""
    properties: Schema = {
        "line": {"type": "integer", "minimum": 1},
        "name": {"type": "string", "description": "The event's summary; may be empty."},
        "uid": {"type": "string", "description": "The event's UID; may be empty."},
        "reason": {"type": "string"},
    }
    return {
        "type": "array",
        "items": _all(properties),
        "maxItems": SHOWN,
        "description": f"{description} The first {SHOWN}, by line.",
    }


_REPORT: Schema = {
    "dates": _COUNT,
    "windows": _COUNT,
    "skipped_count": _COUNT,
    "skipped": _remarks("Events, or days and windows of an event, that were left out, and why."),
    "notes_count": _COUNT,
    "notes": _remarks("Events that were read otherwise than written, and how."),
}
_IMPORTED: Schema = _all(_REPORT)
_LAST_IMPORT: Schema = {
    "anyOf": [
        _all({"at": INSTANT, "mode": {"type": "string", "enum": list(Mode)}, **_REPORT}),
        {"type": "null"},
    ],
    "description": "The report of the last iCalendar file that was imported.",
}
_CALENDAR: Schema = _all(
    {
        **_HEAD,
        "dates": _named(_DATE),
        "windows": _named(_WINDOW),
        "last_import": _LAST_IMPORT,
        **_TAIL,
    }
)


class CalendarCreateSerializer(DocumentedSerializer):
    """The body of creating a calendar."""

    json_schema = {
        "type": "object",
        "properties": {"name": _NAME, **_PARTS},
        "required": ["name"],
        "additionalProperties": False,
    }


class CalendarEditSerializer(DocumentedSerializer):
    """The body of editing a calendar; a list replaces the stored one."""

    json_schema = {
        "type": "object",
        "properties": {"name": _NAME, **_PARTS},
        "additionalProperties": False,
    }


class CalendarSerializer(DocumentedSerializer):
    """A calendar as answered."""

    json_schema = _CALENDAR


class CalendarSummarySerializer(DocumentedSerializer):
    """A calendar in a list: its days are counted."""

    json_schema = _all({**_HEAD, "date_count": _COUNT, "window_count": _COUNT, **_TAIL})


class CalendarImportSerializer(DocumentedSerializer):
    """An iCalendar text."""

    json_schema = {
        "type": "object",
        "properties": {
            "ical": {"type": "string", "minLength": 1, "maxLength": MAX_BYTES},
            "mode": {"type": "string", "enum": list(Mode), "default": "add"},
        },
        "required": ["ical"],
        "additionalProperties": False,
    }


class ImportedDaysSerializer(DocumentedSerializer):
    """The import report."""

    json_schema = _IMPORTED


class CalendarImportedSerializer(serializers.Serializer[Any]):
    """The import report, and the calendar after the import."""

    imported = ImportedDaysSerializer()
    calendar = CalendarSerializer()
