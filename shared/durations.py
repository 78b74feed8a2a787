"""Durations as operators type them: ``2h``, ``1h30m``, ``PT15M``.

One reading for every command. Units are s, m, h, d and w; a day is 24 hours.
"""

from __future__ import annotations

import re
from datetime import timedelta

_SHORT = re.compile(
    r"(?:(\d+)w)?(?:(\d+)d)?(?:(\d+)h)?(?:(\d+)m)?(?:(\d+)s)?", re.ASCII | re.IGNORECASE
)
_ISO = re.compile(
    r"P(?:(\d+)W)?(?:(\d+)D)?(?:T(?:(\d+)H)?(?:(\d+)M)?(?:(\d+)S)?)?", re.ASCII | re.IGNORECASE
)
#: Longer than any sensible text; Python refuses to read numbers of thousands of digits.
_LONGEST = 200
_UNITS = ("weeks", "days", "hours", "minutes", "seconds")
_HINT = "write 90s, 15m, 2h, 3d, 1h30m or PT15M"


class DurationError(ValueError):
    """The text is no duration; the message is a sentence for the caller."""


def parse_duration(text: str) -> timedelta:
    """Return the duration; raise DurationError."""
    wanted = text.strip() if len(text) <= _LONGEST else ""
    found = _SHORT.fullmatch(wanted) or _ISO.fullmatch(wanted)
    if found is None or not any(found.groups()):
        raise DurationError(f"{text[:_LONGEST]!r} is no duration; {_HINT}.")
    parts = {
        unit: int(number) for unit, number in zip(_UNITS, found.groups(), strict=True) if number
    }
    try:
        return timedelta(**parts)
    except OverflowError:
        raise DurationError(f"{text!r} is longer than can be counted.") from None


def format_iso(duration: timedelta) -> str:
    """Return whole seconds of a positive duration as ISO 8601, such as ``P1DT2H``."""
    hours, rest = divmod(duration.seconds, 3600)
    minutes, seconds = divmod(rest, 60)
    days = f"{duration.days}D" if duration.days else ""
    time = "".join(
        f"{number}{unit}"
        for number, unit in ((hours, "H"), (minutes, "M"), (seconds, "S"))
        if number
    )
    return f"P{days}{'T' if time or not days else ''}{time or ('' if days else '0S')}"
