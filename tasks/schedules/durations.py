"""ISO 8601 durations of a fixed length, read strictly. Called by `spec`."""

from __future__ import annotations

import re
from datetime import timedelta

_DURATION = re.compile(
    r"P(?!$)(?:(\d+)W)?(?:(\d+)D)?(?:T(?!$)(?:(\d+)H)?(?:(\d+)M)?(?:(\d+)(?:[.,](\d+))?S)?)?",
    re.ASCII,
)
_UNITS = (604_800, 86_400, 3_600, 60, 1)
#: A hundred years: far beyond any use, far from the end of the calendar.
_LONGEST = timedelta(days=36_525)


def parse_duration(value: object) -> timedelta:
    """Return the length of an ISO 8601 duration of whole seconds, at least one; else ValueError."""
    text = value.strip().upper() if isinstance(value, str) and len(value) <= 64 else ""
    match = _DURATION.fullmatch(text)
    if not match:
        raise ValueError(_what_is_wrong(text))
    *counts, fraction = match.groups()
    if fraction and int(fraction):
        raise ValueError("The shortest unit is the whole second. Write PT2S, not PT1.5S.")
    seconds = sum(int(n or 0) * unit for n, unit in zip(counts, _UNITS, strict=True))
    if seconds < 1:
        raise ValueError("The shortest interval is one second, PT1S.")
    if seconds > _LONGEST.total_seconds():
        raise ValueError("The longest interval is a hundred years, P36525D.")
    return timedelta(seconds=seconds)


def _what_is_wrong(text: str) -> str:
    if re.fullmatch(r"P(\d+Y)?(\d+M)?(\d+W)?(\d+D)?(T.*)?", text, re.ASCII) and len(text) > 1:
        date_part = text.partition("T")[0]
        if "Y" in date_part or "M" in date_part:
            return "Months and years have no fixed length. Use a cron expression for those."
    if re.fullmatch(r"[-+]P.*|P.*-\d.*", text, re.ASCII):
        return "The duration has a sign. Write it without, such as PT5M."
    if "." in text or "," in text:
        return "Only seconds may have decimals, and those must be zero. Write PT90M, not PT1.5H."
    return "This is not an ISO 8601 duration. Write it as PT5M, PT1H30M or P1D."
