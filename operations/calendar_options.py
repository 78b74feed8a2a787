"""Reads the options of ``manage.py calendars`` into the body that the API takes."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any

from django.core.management.base import CommandParser

from operations.files import read_json
from shared.commands import wrong_use
from tasks.calendar_content import Content

_MOMENT = re.compile(r"(\d{4}-\d{2}-\d{2}[Tt]\d{2}:\d{2})(?=[Zz+-]|$)", re.ASCII)


def add_tenant(parser: CommandParser) -> None:
    """Add the option that every verb takes."""
    parser.add_argument("--tenant", help="name or id; may be left out where there is one")


def add_days(parser: CommandParser, *, removable: bool) -> None:
    """Add the options for the content of a calendar."""
    parser.add_argument("--description")
    parser.add_argument(
        "--weekend", metavar="DAYS", help="ISO weekdays such as 6,7; none for a week without one"
    )
    _many(parser, "--date", "DAY[=NAME]", "a day such as 2027-01-01, added")
    _many(parser, "--window", "START/END[=NAME]", "times such as 2026-11-20T22:00Z, added")
    if removable:
        _many(parser, "--remove-date", "DAY", "take a day out")
        _many(parser, "--remove-window", "START/END", "take a window out")
    parser.add_argument("--file", metavar="FILE", help="the fields of the API as JSON; - is stdin")


def body_of(options: Mapping[str, Any], current: Content) -> dict[str, Any]:
    """Return the fields that the options give, applied to the present content of the calendar."""
    body = _file(options["file"])
    if options["description"] is not None:
        body["description"] = options["description"]
    if options["weekend"] is not None:
        body["weekend"] = _weekend(options["weekend"])
    dates = [_date(text) for text in options["date"]]
    gone = set(options.get("remove_date") or ())
    if dates or gone:
        kept = body.get("dates", list(current.dates))
        _require_present("--remove-date", gone, {one["date"] for one in current.dates})
        body["dates"] = [one for one in kept if _day(one) not in gone] + dates
    windows = [_window("--window", text) for text in options["window"]]
    out = [_window("--remove-window", text) for text in options.get("remove_window") or ()]
    if windows or out:
        kept = body.get("windows", list(current.windows))
        body["windows"] = _without(kept, out) + windows
    return body


def _many(parser: CommandParser, name: str, metavar: str, text: str) -> None:
    parser.add_argument(name, action="append", default=[], metavar=metavar, help=f"{text}")


def _file(name: str | None) -> dict[str, Any]:
    if name is None:
        return {}
    body = read_json(name, "--file")
    if not isinstance(body, dict):
        raise wrong_use("--file", "give one JSON object.")
    return body


def _weekend(text: str) -> list[int]:
    if text.lower() == "none":
        return []
    try:
        return [int(part) for part in text.split(",")]
    except ValueError as error:
        raise wrong_use("--weekend", "give weekdays such as 6,7.") from error


def _date(text: str) -> dict[str, str]:
    day, _, name = text.partition("=")
    return {"date": day.strip(), "name": name.strip()}


def _day(one: Any) -> Any:
    return one.get("date") if isinstance(one, Mapping) else one


def _window(option: str, text: str) -> dict[str, str]:
    times, _, name = text.partition("=")
    start, slash, end = times.partition("/")
    if not slash:
        raise wrong_use(option, "give two times as START/END.")
    return {"start": _moment(start), "end": _moment(end), "name": name.strip()}


def _moment(text: str) -> str:
    return _MOMENT.sub(r"\1:00", text.strip())


def _without(kept: Sequence[Any], out: Sequence[Mapping[str, str]]) -> list[Any]:
    spans = {(_plain(one["start"]), _plain(one["end"])) for one in out}
    found = {(_plain(one["start"]), _plain(one["end"])) for one in kept}
    _require_present("--remove-window", spans, found)
    return [one for one in kept if (_plain(one["start"]), _plain(one["end"])) not in spans]


def _plain(moment: str) -> str:
    return moment.replace(".000Z", "Z").upper()


def _require_present(option: str, wanted: set[Any], present: set[Any]) -> None:
    missing = wanted - present
    if missing:
        first = sorted(missing)[0]
        shown = first if isinstance(first, str) else "/".join(first)
        raise wrong_use(option, f"the calendar has no {shown}.")
