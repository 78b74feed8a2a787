"""The next instants of a schedule that need not be saved: ``POST /v1/schedules/preview``.

Reads the schedule by the rules of creation, so that every schedule with a preview can be saved,
and uses the same specification as the scheduler. Read-only.
"""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime, timedelta
from itertools import islice
from typing import Any

from shared.exceptions import FieldError, InvalidInput
from shared.instants import ceil_millisecond, format_instant, format_local, parse_instant
from tasks.choices import TIMING_FIELDS
from tasks.field_reader import Errors, FieldReader
from tasks.limits import Book, no_calendars
from tasks.payloads import require_object
from tasks.plain_times.reading import read_when
from tasks.plain_times.vocabulary import PlainTimeError
from tasks.schedules import spec
from tasks.schedules.base import Spec
from tasks.schedules.clock_changes import clock_changes, present_clock_changes
from tasks.schedules.jitter import due_until, in_words, jitter_of
from tasks.schedules.zones import UnknownZone, find_zone
from tasks.short_form import SHORT_SCHEDULE_FIELDS, as_long
from tasks.validation.schedule import (
    TIMING_HINT,
    Clock,
    read_instant,
    read_schedule,
    read_type,
    timing_given,
)

DEFAULT_COUNT = 10
MAX_COUNT = 1000
_PREVIEW_FIELDS = ("type", "schedule", "from", "count")
#: The fields that say when, in place of which ``words`` may stand.
_WORDS_INSTEAD_OF = ("schedule", *TIMING_FIELDS)


def preview(body: Any, *, now: datetime, calendars: Book = no_calendars) -> dict[str, Any]:
    """Return the schedule in plain words and its next instants strictly after ``from``.

    The schedule may be under ``schedule``, in the short form, or in plain ``words`` with the rest
    in the short form; ``every`` without ``start_at`` counts from now. ``calendars`` finds the
    calendars that it may name. Raise InvalidInput for a schedule that creation would refuse.
    """
    form, errors = Errors(), Errors()
    given, understood = _in_fields(require_object(body), now)
    long, rename = as_long(given, form)
    task_type, schedule, start, count = _read(long, errors, now, calendars)
    found = form.renamed(str) + errors.renamed(rename)
    if found:
        raise InvalidInput(found)
    days = tuple(calendars(schedule["calendars"]).values())
    parsed = spec.parse(task_type, schedule, anchor=ceil_millisecond(now), calendars=days)
    zone, jitter = find_zone(schedule["timezone"]).info, jitter_of(schedule)
    occurrences = islice(parsed.walk(start), _bounded(parsed, schedule, start, count))
    return {
        "text": parsed.text + in_words(jitter, (), task_id=""),
        "understood": understood,
        "clock_changes": present_clock_changes(clock_changes(schedule, now=start, calendars=days)),
        "occurrences": [
            {
                "utc": format_instant(occurrence.at),
                "local": format_local(occurrence.at, zone),
                # The new task's id will decide the instant in between.
                "due_from": format_instant(occurrence.at),
                "due_until": format_instant(due_until(parsed, occurrence.at, jitter)),
                "notes": list(occurrence.notes),
            }
            for occurrence in occurrences
        ],
    }


def _in_fields(
    body: Mapping[str, Any], now: datetime
) -> tuple[Mapping[str, Any], dict[str, Any] | None]:
    """Return the body with the fields that its plain words mean, and what was understood."""
    if "words" not in body:
        return body, None
    twice = [name for name in _WORDS_INSTEAD_OF if name in body]
    if twice:
        message = f"Give words or {twice[0]}, not both."
        raise InvalidInput([FieldError("#/words", "exclusive", message)])
    text, zone = body["words"], body.get("timezone", "UTC")
    if not isinstance(text, str):
        raise InvalidInput([FieldError("#/words", "type_invalid", "Must be a string.")])
    try:
        found = read_when(text, now=now, zone=find_zone(zone))
    except UnknownZone as error:
        raise InvalidInput([FieldError("#/timezone", "timezone_unknown", str(error))]) from error
    except PlainTimeError as error:
        raise InvalidInput([FieldError("#/words", "words_not_understood", str(error))]) from error
    rest = {name: value for name, value in body.items() if name != "words"}
    return {**rest, **found.schedule}, {
        "expression": found.expression,
        "schedule": found.schedule,
    }


def _read(
    body: Mapping[str, Any], errors: Errors, now: datetime, calendars: Book
) -> tuple[str, dict[str, Any], datetime, int]:
    reader = FieldReader(body, "#", errors)
    reader.refuse_unknown((*_PREVIEW_FIELDS, *SHORT_SCHEDULE_FIELDS))
    if "schedule" not in body:
        reader.error("schedule", "required", f"Say when: {TIMING_HINT}.")
    part = FieldReader(reader.mapping("schedule"), "#/schedule", errors)
    task_type = read_type(reader, timing_given(part))
    schedule: dict[str, Any] = {}
    if not errors.below("#/schedule"):
        clock = Clock(now, past_allowed=True, calendars=calendars)
        schedule = read_schedule(part, task_type, clock)
    start = read_instant(reader, "from") or ceil_millisecond(now)
    count = reader.integer("count", DEFAULT_COUNT, 1, MAX_COUNT)
    return task_type, schedule, start, count


def _bounded(parsed: Spec, schedule: Mapping[str, Any], start: datetime, count: int) -> int:
    """Return how many of the ``count`` instants ``max_occurrences`` still allows."""
    allowed = schedule.get("max_occurrences")
    if allowed is None:
        return count
    # Counting a longer past would cost more than a preview may.
    if schedule["start_at"] and allowed <= parsed.count_chunk:
        before = parse_instant(schedule["start_at"]) - timedelta(microseconds=1)
        if before < start:
            allowed -= parsed.count_between(before, start, allowed)[0]
    return min(count, int(allowed))
