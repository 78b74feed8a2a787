"""The values of the task's form: text to numbers, instants, pairs and JSON, and back.

``form`` reads with them. A value that cannot be read is noted at its pointer and left out. An
unchanged field keeps the exact value of the base.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import UTC, tzinfo
from typing import Any, TypeVar

from dashboard.fields import instant_of
from shared.clock_text import field_text
from shared.exceptions import FieldError, InvalidInput
from shared.instants import format_instant, parse_instant
from shared.strict_json import named, read_json
from tasks.schedules.zones import UnknownZone, find_zone

Parsed = TypeVar("Parsed")

_BETWEEN_WORDS = re.compile(r"[,\s]+")


@dataclass(frozen=True, slots=True)
class Form:
    """A form being read: its fields, their first contents, the base of these, and the errors."""

    fields: Mapping[str, str]
    shown: Mapping[str, str]
    base: Mapping[str, Any]
    errors: list[FieldError]

    def text(self, name: str, default: str = "") -> str:
        """Return the field without blanks around it."""
        return self.fields.get(name, "").strip() or default

    def same(self, *names: str) -> bool:
        """Return whether the fields still show the values of the base."""
        return all(
            name in self.shown and lines(self.fields.get(name, "")) == lines(self.shown[name])
            for name in names
        )

    def read(self, reader: Callable[[str, str], Any], text: str, pointer: str) -> Any:
        """Return the value that a reader of JSON finds in a field's text; note its refusal."""
        try:
            return reader(text, pointer)
        except InvalidInput as refused:
            self.errors.extend(named(refused, pointer, "").errors)
            return None

    def refuse(self, pointer: str, code: str, message: str) -> None:
        """Note an error of a field."""
        self.errors.append(FieldError(pointer, code, message))


def judged(form: Form, body: Any, parse: Callable[[Any], Parsed]) -> Parsed:
    """Return the result of ``parse`` for the body that was read from the form.

    Raise InvalidInput with the errors of the form, and with the errors of ``parse`` elsewhere:
    ``parse`` only sees an unreadable field as a missing one.
    """
    try:
        parsed = parse(body)
    except InvalidInput as refused:
        unread = [error.pointer for error in form.errors]
        others = [
            error
            for error in refused.errors
            if not any(_within(error.pointer, at) or _within(at, error.pointer) for at in unread)
        ]
        raise InvalidInput([*form.errors, *others], refused.message) from refused
    if form.errors:
        raise InvalidInput(form.errors)
    return parsed


def _within(pointer: str, place: str) -> bool:
    return f"{pointer}/".startswith(f"{place}/")


def lines(text: str) -> list[str]:
    """Return the lines of a field; browsers send CRLF, other separators may be part of a value."""
    return [line.removesuffix("\r") for line in text.split("\n")]


def read_number(form: Form, name: str, pointer: str, *, keep: bool = True) -> dict[str, Any]:
    """Return the field's number; nothing given is null, or left out unless ``keep``."""
    text = form.text(name)
    if not text:
        return {name: None} if keep else {}
    try:
        value = float(text)
    except ValueError:
        value = math.nan
    if not math.isfinite(value):
        form.refuse(pointer, "invalid", "Must be a number.")
        return {}
    return {name: int(value) if value.is_integer() else value}


def read_instant(
    form: Form, name: str, base: Mapping[str, Any], *, required: bool = False
) -> str | None:
    """Return the instant of a date and time in the task's zone; an offset may be given."""
    text = form.text(name)
    at = f"#/schedule/{name}"
    if not text:
        if required:
            form.refuse(at, "required", "Give a date and time.")
        return None
    if base.get(name) and form.same(name, "timezone"):
        return str(base[name])
    try:
        zone = find_zone(form.text("timezone", "UTC")).info
        return format_instant(instant_of(text, zone))
    except UnknownZone:
        return None  # validation says so of the zone itself
    except ValueError:
        form.refuse(at, "invalid", "Give a date and time like 2026-11-20 08:00.")
        return None


def read_words(form: Form, name: str) -> list[str]:
    """Return the words of a field; commas, blanks and lines are between them."""
    return [word for word in _BETWEEN_WORDS.split(form.fields.get(name, "")) if word]


def exact_text(form: Form, name: str, before: str | None) -> str:
    """Return the field without blanks around it, or exactly what it still shows."""
    return before if before is not None and form.same(name) else form.text(name)


def text_block(form: Form, name: str, before: str | None) -> str | None:
    """Return the lines of a field, exactly what it still shows, or None for nothing."""
    if before is not None and form.same(name):
        return before
    text = "\n".join(lines(form.fields.get(name, ""))).strip()
    return f"{text}\n" if text else None


def read_payload(form: Form, *, is_raw: bool = False) -> Any:
    """Return the payload as JSON, or the text itself; nothing given is null."""
    text = form.fields.get("payload", "")
    if is_raw and text:
        return "\n".join(lines(text))
    if not text.strip():
        return None
    return form.read(read_json, text, "#/payload")


def read_pairs(form: Form, field: str, separator: str, pointer: str) -> dict[str, str]:
    """Return the pairs of a field that holds one in each line."""
    pairs: dict[str, str] = {}
    for number, line in enumerate(lines(form.fields.get(field, "")), start=1):
        if not line.strip():
            continue
        name, found, value = (part.strip() for part in line.partition(separator))
        if not found or not name or name in pairs:
            problem = "is given twice" if name in pairs else f"is not “name{separator} value”"
            form.refuse(pointer, "invalid", f"Line {number} {problem}.")
            continue
        pairs[name] = value
    return pairs


def show_instant(text: str | None, zone: tzinfo) -> str:
    """Return an instant as the form's date and time in the zone."""
    if not text:
        return ""
    return field_text(parse_instant(text), zone)


def show_plain(value: Any) -> str:
    """Return a number or word as a field shows it."""
    if isinstance(value, float) and value.is_integer():
        return str(int(value))
    return str(value)


def yes_or_no(value: Any) -> str:
    """Return a truth as the selects of the form name it."""
    return "yes" if value else "no"


def zone_or_utc(name: str) -> tzinfo:
    """Return the zone of a name; UTC for a name that the zone database no longer has."""
    try:
        return find_zone(name).info
    except UnknownZone:
        return UTC
