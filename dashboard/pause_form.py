"""The end of a pause in the console's forms: a length from a list, or a time in plain words."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime, timedelta

from django.utils.timezone import get_current_timezone_name

from shared.exceptions import FieldError, InvalidInput
from tasks.plain_times.moments import read_moment
from tasks.schedules.zones import find_zone

#: Lengths in hours; empty is until resumed.
PAUSES = (
    ("", "until I resume it"),
    ("1", "for an hour"),
    ("8", "for 8 hours"),
    ("24", "for a day"),
)


def read_end(form: Mapping[str, str], *, now: datetime) -> datetime | None:
    """Return when the pause ends by itself, None for never; raise InvalidInput.

    ``until`` is read on the viewer's clock: `monday 9:00`, `in 3 days`, `2026-12-01 9:00`.
    """
    hours, until = form.get("hours", ""), form.get("until", "").strip()
    if hours not in {value for value, _ in PAUSES}:
        raise _refusal("hours", "Choose the hours anew.")
    if hours and until:
        raise _refusal("until", "Choose how long, or give a time, not both.")
    if hours:
        return now + timedelta(hours=int(hours))
    if not until:
        return None
    try:
        zone = find_zone(get_current_timezone_name())
        end = read_moment(until, now=now, zone=zone, ahead=True)
    except ValueError as error:
        raise _refusal("until", str(error)) from error
    if end <= now:
        raise _refusal("until", "A pause cannot end in the past.")
    return end


def _refusal(name: str, message: str) -> InvalidInput:
    return InvalidInput([FieldError(f"#/{name}", "invalid", message)], message)
