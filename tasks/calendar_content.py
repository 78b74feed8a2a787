"""The content of a calendar, read strictly from JSON and in its normal form: days and windows.

Every door passes its body here. Raises InvalidInput with every field that is wrong. In the normal
form days and windows are in order, none twice, instants are UTC text with milliseconds.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, date, datetime
from typing import Any

from shared.hidden_characters import hidden_problem
from shared.instants import InstantError, ceil_millisecond, format_instant, parse_instant
from tasks.field_reader import Errors, FieldReader, called_in_json, is_number, text_problem
from tasks.payloads import require_object

NAME_LENGTH = 200
DESCRIPTION_LENGTH = 1000
MAX_DATES = 10_000
MAX_WINDOWS = 10_000
FIELDS = ("name", "description", "weekend", "dates", "windows")
#: Fields of an answer; a client that sends one back learns that it cannot be set.
READ_ONLY = (
    *("id", "version", "tasks", "created_at", "updated_at", "date_count", "window_count"),
    "last_import",
)
FIRST_DAY, LAST_DAY = date(1970, 1, 1), date(2199, 12, 31)
_EARLIEST = datetime(1970, 1, 1, tzinfo=UTC)
_LATEST = datetime(2199, 12, 31, 23, 59, 59, tzinfo=UTC)
_WEEK = 7
_DAY = re.compile(r"\d{4}-\d{2}-\d{2}", re.ASCII)


@dataclass(frozen=True, slots=True)
class Content:
    """A calendar in normal form; the model describes its parts."""

    name: str
    description: str = ""
    weekend: tuple[int, ...] = (6, 7)
    dates: tuple[dict[str, str], ...] = ()
    windows: tuple[dict[str, str], ...] = ()


def read_content(body: Any, current: Content | None = None) -> Content:
    """Return the content of a body; with ``current`` it is an edit, and omitted fields stay.

    A calendar keeps its name for good, since tasks name it.
    """
    given = dict(require_object(body))
    errors = Errors()
    reader = FieldReader(given, "#", errors)
    reader.refuse_unknown(FIELDS, read_only=READ_ONLY)
    base = current or Content("")
    content = Content(
        name=_name(reader, current),
        description=_description(reader, base.description),
        weekend=_weekend(reader, base.weekend),
        dates=_dates(reader, base.dates),
        windows=_windows(reader, base.windows),
    )
    errors.raise_if_any()
    return content


def normal_dates(days: Iterable[tuple[date, str]]) -> tuple[dict[str, str], ...]:
    """Return days with their names in normal form; of a day given twice the first name stays."""
    named: dict[date, str] = {}
    for day, name in days:
        named[day] = named.get(day) or name
    return tuple({"date": day.isoformat(), "name": named[day]} for day in sorted(named))


def normal_windows(
    windows: Iterable[tuple[datetime, datetime, str]],
) -> tuple[dict[str, str], ...]:
    """Return windows with their names in normal form; the same window twice is one."""
    named: dict[tuple[datetime, datetime], str] = {}
    for start, end, name in windows:
        named[start, end] = named.get((start, end)) or name
    return tuple(
        {"start": format_instant(start), "end": format_instant(end), "name": named[start, end]}
        for start, end in sorted(named)
    )


def _name(reader: FieldReader, current: Content | None) -> str:
    if current is None and "name" not in reader.data:
        reader.error("name", "required", "Give the calendar a name; tasks refer to it.")
        return ""
    name = str(reader.text("name", current.name if current else "", longest=NAME_LENGTH))
    if current is None and (problem := hidden_problem(name)):
        reader.error("name", *problem)
    if current is not None and name != current.name:
        message = f"A calendar keeps its name ({current.name!r}), because tasks refer to it."
        reader.error("name", "read_only", message)
    return name


def _description(reader: FieldReader, default: str) -> str:
    if reader.data.get("description") == "":
        return ""
    text = reader.text("description", default, longest=DESCRIPTION_LENGTH, printable=False)
    return str(text)


def _weekend(reader: FieldReader, default: tuple[int, ...]) -> tuple[int, ...]:
    given = reader.sequence("weekend", list(default))
    found: list[int] = []
    for place, day in enumerate(given[: _WEEK + 1]):
        whole = is_number(day) and isinstance(day, int) and 1 <= day <= _WEEK
        if not whole or day in found:
            message = "Give weekdays from 1 (Monday) to 7 (Sunday), each once."
            reader.errors.add(f"#/weekend/{place}", "invalid_choice", message)
            return default
        found.append(day)
    if len(found) == _WEEK:
        reader.error("weekend", "out_of_range", "A week needs a working day.")
    return tuple(sorted(found))


def _dates(reader: FieldReader, default: tuple[dict[str, str], ...]) -> tuple[dict[str, str], ...]:
    if "dates" not in reader.data:
        return default
    found = []
    for place, item in enumerate(_items(reader, "dates", MAX_DATES)):
        part = _part(reader, f"#/dates/{place}", {"date": item} if isinstance(item, str) else item)
        if part is None or reader.errors.full:
            continue
        part.refuse_unknown(("date", "name"))
        day = _day(part)
        if day is not None:
            found.append((day, _label(part)))
    return normal_dates(found)


def _windows(
    reader: FieldReader, default: tuple[dict[str, str], ...]
) -> tuple[dict[str, str], ...]:
    if "windows" not in reader.data:
        return default
    found = []
    for place, item in enumerate(_items(reader, "windows", MAX_WINDOWS)):
        part = _part(reader, f"#/windows/{place}", item)
        if part is None or reader.errors.full:
            continue
        part.refuse_unknown(("start", "end", "name"))
        start, end = _moment(part, "start"), _moment(part, "end")
        if start is not None and end is not None:
            if end <= start:
                part.error("end", "end_before_start", "A window must end after its start.")
            found.append((start, end, _label(part)))
    return normal_windows(found)


def _items(reader: FieldReader, key: str, most: int) -> Sequence[Any]:
    items = reader.sequence(key, [])
    if len(items) > most:
        reader.error(key, "too_many", f"Give at most {most} {key}.")
        return ()
    return items


def _part(reader: FieldReader, pointer: str, item: Any) -> FieldReader | None:
    if isinstance(item, Mapping):
        return FieldReader(item, pointer, reader.errors)
    message = f"Must be an object, not {called_in_json(item)}."
    reader.errors.add(pointer, "invalid_type", message)
    return None


def _day(part: FieldReader) -> date | None:
    text = part.text("date", None, longest=100)
    if text is None:
        if "date" not in part.data:
            part.error("date", "required", "Say which day, as 2027-01-01.")
        return None
    # fromisoformat reads other spellings of ISO 8601, such as week dates, too.
    try:
        day = date.fromisoformat(text) if _DAY.fullmatch(text) else None
    except ValueError:
        day = None
    if day is None:
        part.error("date", "invalid_date", "Give a day as 2027-01-01.")
    elif not FIRST_DAY <= day <= LAST_DAY:
        part.error("date", "out_of_range", "Must be between the years 1970 and 2199.")
    else:
        return day
    return None


def _moment(part: FieldReader, key: str) -> datetime | None:
    text = part.text(key, None, longest=100)
    if text is None:
        if key not in part.data:
            part.error(key, "required", f"Say the window's {key}, as 2026-11-20T08:00:00Z.")
        return None
    try:
        moment = parse_instant(text)
    except InstantError as wrong:
        part.error(key, "invalid_time", str(wrong))
        return None
    if not _EARLIEST <= moment <= _LATEST:
        part.error(key, "out_of_range", "Must be between the years 1970 and 2199.")
        return None
    return ceil_millisecond(moment)


def _label(part: FieldReader) -> str:
    name = part.data.get("name", "")
    if name == "":
        return ""
    text = part.text("name", "", longest=NAME_LENGTH)
    return str(text) if not text_problem(str(text), longest=NAME_LENGTH) else ""
