"""``manage.py schedule``: a schedule in plain words, with its next times."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from datetime import UTC, datetime
from typing import Any, ClassVar

from django.core.management.base import CommandParser

from shared.command_parser import Verb
from shared.commands import PunctualCommand, VerbCommand
from shared.durations import DurationError, format_iso, parse_duration
from shared.exceptions import FieldError, InvalidInput
from tasks.choices import DST_GAP, DST_OVERLAP
from tasks.preview import DEFAULT_COUNT, MAX_COUNT, preview

#: What a field of the preview is called on the command line.
_OPTIONS = {
    "count": "--count",
    "from": "--from",
    "timezone": "--tz",
    "start_at": "--start-at",
    "end_at": "--end-at",
}
_NOTES = {
    "dst_gap": "the clocks skip its time",
    "dst_overlap": "its time comes twice that day",
}


def add_preview_options(parser: CommandParser) -> None:
    """Add the options of ``preview``."""
    parser.add_argument(
        "expression", help="cron (5 or 6 fields, @daily …) or an interval such as 15m or PT15M"
    )
    parser.add_argument("--tz", default="UTC", metavar="ZONE", help="IANA zone (UTC)")
    parser.add_argument(
        "--count", type=int, default=DEFAULT_COUNT, help=f"1 to {MAX_COUNT} ({DEFAULT_COUNT})"
    )
    parser.add_argument("--from", dest="start", metavar="TIME", help="RFC 3339 time (now)")
    parser.add_argument("--start-at", metavar="TIME", help="no earlier than then")
    parser.add_argument("--end-at", metavar="TIME", help="no later than then")
    parser.add_argument(
        "--dst-gap", choices=DST_GAP, help="a time that the clocks skip (next_valid)"
    )
    parser.add_argument(
        "--dst-overlap", choices=DST_OVERLAP, help="a time that comes twice (first)"
    )


def preview_schedule(command: PunctualCommand, options: Mapping[str, Any]) -> None:
    """Preview, with the rules that hold for creation."""
    try:
        found = preview(_body(options), now=datetime.now(UTC))
    except InvalidInput as error:
        raise InvalidInput([_named(item) for item in error.errors]) from error
    command.emit(options, found, _lines(found))


class Command(VerbCommand):
    """Preview schedules that need not be saved."""

    help = "Say a schedule in plain words and list its next times."
    verbs: ClassVar[tuple[Verb, ...]] = (
        Verb(
            "preview",
            "say a schedule and its next times; nothing is saved",
            (
                'schedule preview "0 8 * * MON-FRI" --tz Europe/Berlin',
                'schedule preview "30 2 * * *" --tz Europe/Berlin --dst-gap skip --count 3',
                "schedule preview PT15M --from 2026-11-20T08:00:00Z --json",
            ),
            preview_schedule,
            add_preview_options,
        ),
    )


def _body(options: Mapping[str, Any]) -> dict[str, Any]:
    expression = options["expression"].strip()
    interval = _interval(expression)
    given = {
        "every": interval,
        "cron_expression": None if interval else expression,
        "timezone": options["tz"],
        "count": options["count"],
        "from": options["start"],
        "start_at": options["start_at"],
        "end_at": options["end_at"],
        "dst_gap": options["dst_gap"],
        "dst_overlap": options["dst_overlap"],
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
    option = _OPTIONS.get(item.pointer.rpartition("/")[2])
    message = f"{option}: {item.message}" if option else item.message
    return FieldError(item.pointer, item.code, message)


def _lines(found: Mapping[str, Any]) -> Iterator[str]:
    yield found["text"]
    if not found["occurrences"]:
        yield "It does not fire again."
    for occurrence in found["occurrences"]:
        local = datetime.fromisoformat(occurrence["local"])
        notes = "".join(f"  {_NOTES.get(note, note)}" for note in occurrence["notes"])
        yield f"  {local:%a %Y-%m-%d %H:%M:%S %z}  {occurrence['utc']}{notes}"
