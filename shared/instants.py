"""Instants as text: RFC 3339 with an offset in, UTC with milliseconds out.

All code that reads or returns a time uses this module, so that no door is laxer than another. It
refuses a date alone, a week date, a time without offset and a leap second.
"""

from __future__ import annotations

import re
from datetime import UTC, datetime, timedelta, timezone, tzinfo

_INSTANT = re.compile(
    r"(\d{4})-(\d{2})-(\d{2})[Tt](\d{2}):(\d{2}):(\d{2})(?:\.(\d{1,9}))?"
    r"(?:[Zz]|([+-])(\d{2}):(\d{2}))",
    re.ASCII,
)
_MILLISECOND = timedelta(milliseconds=1)
_HINT = (
    "Give an RFC 3339 date and time with an offset, like 2026-11-20T08:00:00Z "
    "or 2026-11-20T09:00:00+01:00."
)
_NO_SUCH_TIME = "There is no such date and time between years 1 and 9999."


class InstantError(ValueError):
    """The text is not an instant; the message is a sentence for the caller."""


def parse_instant(text: str) -> datetime:
    """Return the instant in UTC; raise InstantError. Digits beyond microseconds are dropped."""
    found = _INSTANT.fullmatch(text)
    if found is None:
        raise InstantError(_lost_plus(text) or _HINT)
    year, month, day, hour, minute, second = map(int, found.group(1, 2, 3, 4, 5, 6))
    if second == 60:
        raise InstantError("Leap seconds cannot be scheduled; use second 59 or the next minute.")
    micros = int((found[7] or "0")[:6].ljust(6, "0"))
    try:
        zone = _offset(found[8], found[9], found[10])
        moment = datetime(year, month, day, hour, minute, second, micros, tzinfo=zone)
        return moment if zone is UTC else moment.astimezone(UTC)
    except (ValueError, OverflowError):
        raise InstantError(_NO_SUCH_TIME) from None


def format_instant(moment: datetime) -> str:
    """Return an aware datetime in UTC with milliseconds, rounded down, and ``Z``."""
    if moment.tzinfo is None:
        raise ValueError("an instant needs a time zone")
    return f"{moment.astimezone(UTC).isoformat(timespec='milliseconds')[:-6]}Z"


def format_local(moment: datetime, zone: tzinfo) -> str:
    """Return an aware datetime as wall time of the zone with its offset."""
    if moment.tzinfo is None:
        raise ValueError("an instant needs a time zone")
    return moment.astimezone(zone).isoformat(timespec="milliseconds")


def ceil_millisecond(moment: datetime) -> datetime:
    """Return the instant rounded up to a whole millisecond: nothing may start early.

    Raise InstantError within the last millisecond of the year 9999.
    """
    beyond = moment.microsecond % 1000
    try:
        return moment if beyond == 0 else moment + _MILLISECOND - timedelta(microseconds=beyond)
    except OverflowError:
        raise InstantError(_NO_SUCH_TIME) from None


def _lost_plus(text: str) -> str:
    """Return the remedy for a blank in place of the plus, as a URL decodes it."""
    if not _INSTANT.fullmatch(text.replace(" ", "+")):
        return ""
    escaped = text.replace(" ", "%2B")
    return f"The offset has a blank in place of its +. In a URL, write the + as %2B: {escaped}."


def _offset(sign: str | None, hours: str | None, minutes: str | None) -> timezone:
    if sign is None or hours is None or minutes is None:
        return UTC
    if int(minutes) > 59:
        raise ValueError("minutes of an offset end at 59")
    size = timedelta(hours=int(hours), minutes=int(minutes))
    return timezone(-size if sign == "-" else size)
