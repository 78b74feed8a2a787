"""From the options of ``tasks create`` and ``edit`` to the body that the API takes.

This module checks only the form of the options. ``tasks.validation`` checks the rest, and
``spoken`` turns its pointers into the options that the operator typed.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from functools import partial
from typing import Any

from django.core.management.base import CommandParser

from executions.loop.clocks import database_now
from operations.files import json_or_word, json_value
from operations.finding import moment_option, zone_option
from operations.tasks import target_options as targets
from operations.tasks.target_options import Place
from shared.commands import wrong_use
from shared.durations import DurationError, format_iso, parse_duration
from shared.exceptions import FieldError, InvalidInput
from shared.instants import format_instant
from tasks.choices import DST_GAP, DST_OVERLAP
from tasks.plain_times.reading import read_when

#: Option -> place in the long form, for options whose text is the value.
_PLAIN = {
    "name": ("name",),
    "cron": ("schedule", "cron_expression"),
    "dst_gap": ("schedule", "dst_gap"),
    "dst_overlap": ("schedule", "dst_overlap"),
    "timezone": ("schedule", "timezone"),
    "priority": ("priority",),
    "payload_ref": ("payload_ref",),
    "owner": ("owner",),
}
_POINTERS = {
    **{
        f"#/{'/'.join(place)}": f"--{name.replace('_', '-')}"
        for name, place in (_PLAIN | dict(targets.PLAIN)).items()
    },
    **targets.POINTERS,
    "#/schedule/every": "--every",
    "#/schedule/delay_seconds": "--in",
    "#/schedule/run_at": "--at",
    "#/target/headers": "--header",
    "#/labels": "--label",
    "#/payload": "--payload",
}
_FIRST_TASK = re.compile(r"^#/tasks/0(?=/|$)")


def add_options(parser: CommandParser) -> None:
    """Add the options that say what a task calls, when and how."""
    when = parser.add_argument_group("when").add_mutually_exclusive_group()
    when.add_argument("--cron", metavar="EXPR", help='cron expression, such as "0 8 * * MON-FRI"')
    when.add_argument("--every", metavar="DURATION", help="interval: 90s, 15m, 2h, 1d or PT15M")
    when.add_argument("--at", metavar="TIME", help="once: tomorrow 9:00, or RFC 3339")
    when.add_argument("--in", dest="delay", metavar="DURATION", help="once, this long from now")
    when.add_argument(
        "--when", metavar="WORDS", help='in plain words, such as "every weekday at 9"'
    )
    parser.add_argument(
        "--timezone", "--tz", metavar="ZONE", help="IANA zone of the schedule (UTC)"
    )
    parser.add_argument(
        "--dst-gap", choices=DST_GAP, help="a time that the clocks skip (next_valid)"
    )
    parser.add_argument(
        "--dst-overlap", choices=DST_OVERLAP, help="a time that occurs twice (first)"
    )
    targets.add_options(parser)
    parser.add_argument(
        "--header", action="append", metavar="NAME:VALUE", help="header to send; repeatable"
    )
    parser.add_argument("--payload", metavar="JSON", help="what to send: JSON, @FILE, or - (stdin)")
    parser.add_argument(
        "--payload-ref", metavar="REF", help="URL or object key to send in place of a payload"
    )
    parser.add_argument("--name", help="name of the task")
    parser.add_argument("--owner", help="e-mail address, or name of an API key")
    parser.add_argument("--label", action="append", metavar="KEY=VALUE", help="label; repeatable")
    parser.add_argument("--priority", type=int, metavar="N", help="0 (first) to 9 (last)")
    parser.add_argument(
        "--set",
        action="append",
        metavar="PATH=JSON",
        help="any other field, such as schedule.jitter_seconds=30; repeatable",
    )


def body_of(options: Mapping[str, Any]) -> dict[str, Any]:
    """Return the long form's fields that the options give.

    Raise InvalidInput that names every option whose text cannot be read.
    """
    body: dict[str, Any] = {}
    wrong: list[FieldError] = []
    for read in _readers(options):
        try:
            _put(body, *read())
        except InvalidInput as refused:
            wrong += refused.errors
    if wrong:
        raise InvalidInput(wrong, "; ".join(error.message for error in wrong))
    return body


def _readers(options: Mapping[str, Any]) -> Iterator[Callable[[], tuple[Place, Any]]]:
    """Yield, for each given option, a function that returns its place and value.

    The function raises InvalidInput for a text that cannot be read.
    """
    for name, place in _PLAIN.items():
        if options[name] is not None:
            yield partial(targets.at, place, options[name])
    yield from targets.readers(options)
    yield from _timing(options)
    for text in options["header"] or ():
        yield partial(_header, text)
    for text in options["label"] or ():
        yield partial(_label, text)
    if options["payload"] is not None:
        yield lambda: (("payload",), json_value(options["payload"], "--payload", "#/payload"))
    for text in options["set"] or ():
        yield partial(_setting, text)


def _timing(options: Mapping[str, Any]) -> Iterator[Callable[[], tuple[Place, Any]]]:
    if options["every"] is not None:
        yield lambda: (("schedule", "every"), _interval(options["every"]))
    if options["delay"] is not None:
        yield lambda: (("schedule", "delay_seconds"), _seconds(options["delay"]))
    if options["at"] is not None:
        yield lambda: (("schedule", "run_at"), _moment(options))
    if options["when"] is not None:
        yield from _in_words(options)


def _moment(options: Mapping[str, Any]) -> str:
    found = moment_option("--at", options["at"], ahead=True, zone=options["timezone"])
    return format_instant(found)


def _in_words(options: Mapping[str, Any]) -> Iterator[Callable[[], tuple[Place, Any]]]:
    """Yield a function for each field of the schedule that the words mean, or one that refuses."""
    try:
        zone = zone_option(options["timezone"])
        found = read_when(options["when"], now=database_now(), zone=zone).schedule
    except InvalidInput as refusal:
        yield partial(_refuse, refusal)
        return
    except ValueError as error:
        yield partial(_refuse, wrong_use("--when", str(error)))
        return
    for name, value in found.items():
        yield partial(targets.at, ("schedule", name), value)


def _refuse(refusal: InvalidInput) -> tuple[Place, Any]:
    raise refusal


def _header(text: str) -> tuple[Place, Any]:
    name, value = _split(text, ":", "--header", "NAME:VALUE")
    return ("target", "headers", name.strip()), value.strip()


def _label(text: str) -> tuple[Place, Any]:
    name, value = _split(text, "=", "--label", "KEY=VALUE")
    return ("labels", name), value


def _setting(text: str) -> tuple[Place, Any]:
    path, value = _split(text, "=", "--set", "PATH=JSON")
    return tuple(path.split(".")), json_or_word(value, "--set", path)


def spoken(error: InvalidInput, *, by_option: bool = True) -> InvalidInput:
    """Return the error with each place named: as the option, or as the path in the file."""
    found = [_named(item, by_option=by_option) for item in error.errors]
    return InvalidInput(found, error.message)


def _named(item: FieldError, *, by_option: bool) -> FieldError:
    pointer = _FIRST_TASK.sub("#", item.pointer) if by_option else item.pointer
    option = None
    if by_option:
        places = [pointer, *(known for known in _POINTERS if pointer.startswith(f"{known}/"))]
        option = next((_POINTERS[place] for place in places if place in _POINTERS), None)
    where = option or pointer.removeprefix("#").strip("/").replace("/", ".")
    message = f"{where}: {item.message}" if where else item.message
    return FieldError(item.pointer, item.code, message)


def _put(body: dict[str, Any], place: Place, value: Any) -> None:
    *parents, last = place
    inner = body
    for key in parents:
        inner = inner.setdefault(key, {})
        if not isinstance(inner, dict):
            raise wrong_use("--set", f"{'.'.join(place)} lies inside a value that is no object")
    inner[last] = value


def _split(text: str, mark: str, option: str, form: str) -> tuple[str, str]:
    name, found, value = text.partition(mark)
    if not found or not name.strip():
        raise wrong_use(option, f"write {form}, not {text!r}")
    return name, value


def _interval(text: str) -> str:
    if text[:1] in ("P", "p"):
        return text
    try:
        return format_iso(parse_duration(text))
    except DurationError as error:
        raise wrong_use("--every", str(error)) from error


def _seconds(text: str) -> float:
    try:
        return parse_duration(text).total_seconds()
    except DurationError as error:
        raise wrong_use("--in", str(error)) from error
