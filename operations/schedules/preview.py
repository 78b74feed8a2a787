"""``manage.py schedule preview``: a schedule in plain words, with its next times.

The rules are those of creation; nothing is saved. Calendars are those of a tenant.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from datetime import UTC, datetime
from typing import Any

from django.core.management.base import CommandParser

from operations.finding import moment_option
from operations.tenancy import chosen_tenant
from shared.commands import PunctualCommand, with_former_names
from shared.durations import DurationError, format_iso, parse_duration
from shared.exceptions import FieldError, InvalidInput
from shared.instants import format_instant
from tasks.calendars import book
from tasks.choices import CALENDAR_POLICIES, DST_GAP, DST_OVERLAP
from tasks.limits import Book, no_calendars
from tasks.preview import DEFAULT_COUNT, MAX_COUNT, preview
from tasks.schedules.notes import NOTE_TEXTS

#: The names of the preview's fields on the command line.
_OPTIONS = {
    "words": "EXPRESSION",
    "count": "--limit",
    "from": "--since",
    "timezone": "--timezone",
    "start_at": "--start-at",
    "end_at": "--end-at",
    "working_day": "--working-day",
    "calendars": "--calendar",
    "calendar_policy": "--calendar-policy",
    "jitter_seconds": "--jitter",
}
#: Effects of a change of the clocks that need no line.
_NO_EFFECT = ("none", "elapsed")
#: A field of a cron expression; other texts are plain words.
_OF_CRON = re.compile(
    r"@\w*|(?:[\d*/,\-?#LWH()]|SUN|MON|TUE|WED|THU|FRI|SAT|JAN|FEB|MAR|APR|MAY|JUN|JUL|AUG|SEP"
    r"|OCT|NOV|DEC)+",
    re.ASCII | re.IGNORECASE,
)


def add_since(parser: CommandParser) -> None:
    """Add the moment from which coming times are shown."""
    with_former_names(
        parser.add_argument(
            "--since",
            "--from",
            dest="start",
            metavar="TIME",
            help="begin there: monday 9:00, or RFC 3339 (now)",
        )
    )


def add_preview_options(parser: CommandParser) -> None:
    """Add the options of ``preview``."""
    parser.add_argument(
        "expression",
        help="plain words (every weekday at 9, tomorrow 9:00), cron (5 or 6 fields, @daily …), "
        "or an interval such as 15m or PT15M",
    )
    parser.add_argument("--timezone", "--tz", default="UTC", metavar="ZONE", help="IANA zone (UTC)")
    with_former_names(
        parser.add_argument(
            "--limit",
            "--count",
            type=int,
            default=DEFAULT_COUNT,
            help=f"at most this many, 1 to {MAX_COUNT} ({DEFAULT_COUNT})",
        )
    )
    add_since(parser)
    parser.add_argument("--start-at", metavar="TIME", help="no earlier than then")
    parser.add_argument("--end-at", metavar="TIME", help="no later than then")
    parser.add_argument(
        "--dst-gap", choices=DST_GAP, help="a time that the clocks skip (next_valid)"
    )
    parser.add_argument(
        "--dst-overlap", choices=DST_OVERLAP, help="a time that occurs twice (first)"
    )
    parser.add_argument(
        "--working-day", type=int, metavar="N", help="the N-th of the month; -1 is the last"
    )
    parser.add_argument("--calendar", action="append", metavar="NAME", help="repeatable")
    parser.add_argument(
        "--calendar-policy", choices=CALENDAR_POLICIES, help="what a calendar excludes (skip)"
    )
    parser.add_argument(
        "--jitter", metavar="SECONDS", type=float, help="over how much starts are spread (0)"
    )
    parser.add_argument("--tenant", help="whose calendars: name or id")


def preview_schedule(command: PunctualCommand, options: Mapping[str, Any]) -> None:
    """Preview, with the rules that hold for creation."""
    calendars: Book = no_calendars
    if options["calendar"]:
        calendars = book(chosen_tenant(options["tenant"]).id)
    try:
        found = preview(_body(options), now=datetime.now(UTC), calendars=calendars)
    except InvalidInput as error:
        raise InvalidInput([_named(item) for item in error.errors]) from error
    command.emit(options, found, _lines(found))


def _body(options: Mapping[str, Any]) -> dict[str, Any]:
    expression = options["expression"].strip()
    interval = _interval(expression)
    is_cron = not interval and all(_OF_CRON.fullmatch(part) for part in expression.split())
    now = datetime.now(UTC)

    def moment(option: str, name: str) -> str | None:
        zone = options["timezone"]
        found = moment_option(option, options[name], ahead=True, zone=zone, now=now)
        return None if found is None else format_instant(found)

    given = {
        "every": interval,
        "cron_expression": expression if is_cron else None,
        "words": None if interval or is_cron else expression,
        "timezone": options["timezone"],
        "count": options["limit"],
        "from": moment("--since", "start"),
        "start_at": moment("--start-at", "start_at"),
        "end_at": moment("--end-at", "end_at"),
        "dst_gap": options["dst_gap"],
        "dst_overlap": options["dst_overlap"],
        "working_day": options["working_day"],
        "calendars": options["calendar"],
        "calendar_policy": options["calendar_policy"],
        "jitter_seconds": options["jitter"],
    }
    return {key: value for key, value in given.items() if value is not None}


def _interval(expression: str) -> str | None:
    """Return the expression as an ISO 8601 duration when it is an interval."""
    if " " in expression:
        return None
    if expression[:1] in ("P", "p"):
        return expression
    try:
        return format_iso(parse_duration(expression))
    except DurationError:
        return None


def _named(item: FieldError) -> FieldError:
    places = item.pointer.split("/")
    option = next((_OPTIONS[place] for place in reversed(places) if place in _OPTIONS), None)
    message = f"{option}: {item.message}" if option else item.message
    return FieldError(item.pointer, item.code, message)


def _lines(found: Mapping[str, Any]) -> Iterator[str]:
    yield found["text"]
    if found["understood"]:
        yield f"Understood as {found['understood']['expression']}"
    if not found["occurrences"]:
        yield "It does not fire again."
    for occurrence in found["occurrences"]:
        local = datetime.fromisoformat(occurrence["local"])
        notes = "".join(f"  {NOTE_TEXTS.get(note, note)}" for note in occurrence["notes"])
        yield f"  {local:%a %Y-%m-%d %H:%M:%S %z}  {occurrence['utc']}{_until(occurrence)}{notes}"
    yield from (
        change["text"] for change in found["clock_changes"] if change["effect"] not in _NO_EFFECT
    )


def _until(occurrence: Mapping[str, Any]) -> str:
    """Return the latest time to which jitter can move the start, or nothing without jitter."""
    until: str = occurrence["due_until"]
    return "" if until == occurrence["due_from"] else f" to {until}"
