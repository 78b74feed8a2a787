"""Texts and times of the console's forms: notes, names, resolutions; read by the actions.

Refuses text that a database or a log cannot hold, because services trust their callers.
"""

from __future__ import annotations

import math
import re
from datetime import UTC, datetime, tzinfo

from django.http import HttpRequest

from shared.exceptions import FieldError, InvalidInput
from shared.hidden_characters import hidden_problem
from shared.instants import parse_instant
from tasks.field_reader import text_problem
from tasks.schedules.zones import zone_names

_VERSION = re.compile(r"[0-9]{1,9}")
_WITH_OFFSET = re.compile(r"(Z|[+-]\d\d:\d\d)$")


def zone_of(request: HttpRequest) -> str:
    """Return the zone of the visitor's browser, for new schedules; UTC while it is unknown."""
    zone = str(request.COOKIES.get("punctual_zone", "UTC"))
    return zone if zone in zone_names() else "UTC"


def instant_of(text: str, zone: tzinfo) -> datetime:
    """Return the instant of a date and time in the zone; an offset may be given.

    Raise ValueError for anything else.
    """
    if _WITH_OFFSET.search(text):
        return parse_instant(text)
    local = datetime.fromisoformat(text)
    try:
        return (local if local.tzinfo else local.replace(tzinfo=zone)).astimezone(UTC)
    except OverflowError as error:
        raise ValueError("There is no such date and time.") from error


def read_text(request: HttpRequest, name: str, *, longest: int, default: str = "") -> str:
    """Return the field stripped of blanks, ``default`` for an empty one; raise InvalidInput."""
    text = request.POST.get(name, "").strip()
    if not text:
        return default
    problem = text_problem(text, longest=longest)
    if name == "name":
        problem = problem or hidden_problem(text)
    if problem:
        code, sentence = problem
        label = name.replace("_", " ").capitalize()
        raise InvalidInput([FieldError(f"#/{name}", code, f"{label}: {sentence}")])
    return text


def read_limit(request: HttpRequest, name: str, *, whole: bool = False) -> float | int | None:
    """Return the number of a limit, None for an empty field; raise InvalidInput for other text."""
    text = request.POST.get(name, "").strip()
    if not text:
        return None
    try:
        value = float(text)
    except ValueError:
        value = math.nan
    if not math.isfinite(value) or (whole and not value.is_integer()):
        kind = "a whole number" if whole else "a number"
        label = name.replace("_", " ").capitalize()
        message = f"{label}: must be {kind}, or empty for no limit."
        raise InvalidInput([FieldError(f"#/{name}", "invalid", message)], message)
    return int(value) if value.is_integer() else value


def read_version(request: HttpRequest) -> int | None:
    """Return the version that the form was filled from; None without one."""
    text = request.POST.get("version", "")
    return int(text) if _VERSION.fullmatch(text) else None
