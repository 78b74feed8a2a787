"""ISO 8601 durations of a fixed length, read strictly. Called by `spec`."""

from __future__ import annotations

import re
from collections.abc import Sequence
from datetime import timedelta
from fractions import Fraction

from shared.durations import format_iso

_DURATION = re.compile(
    r"P(?!$)(?:(\d+)W)?(?:(\d+)D)?(?:T(?!$)(?:(\d+)H)?(?:(\d+)M)?(?:(\d+)(?:[.,](\d+))?S)?)?",
    re.ASCII,
)
_WITH_DECIMALS = re.compile(
    r"P(?:N?W)?(?:N?D)?(?:T(?:N?H)?(?:N?M)?(?:N?S)?)?".replace("N?", r"(\d+(?:[.,]\d+)?)"), re.ASCII
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
        instead = _rather(_seconds(counts) + 1, text)
        raise ValueError(f"The shortest unit is the whole second.{instead}")
    seconds = _seconds(counts)
    if seconds < 1:
        raise ValueError("The shortest interval is one second, PT1S.")
    if seconds > _LONGEST.total_seconds():
        raise ValueError("The longest interval is a hundred years, P36525D.")
    return timedelta(seconds=seconds)


def _seconds(counts: Sequence[str | None]) -> int:
    return sum(int(n or 0) * unit for n, unit in zip(counts, _UNITS, strict=True))


def _what_is_wrong(text: str) -> str:
    if re.fullmatch(r"P(\d+Y)?(\d+M)?(\d+W)?(\d+D)?(T.*)?", text, re.ASCII) and len(text) > 1:
        date_part = text.partition("T")[0]
        if "Y" in date_part or "M" in date_part:
            return "Months and years have no fixed length. Use a cron expression for those."
    if re.fullmatch(r"[-+]P.*|P.*-\d.*", text, re.ASCII):
        return "The duration has a sign. Write it without, such as PT5M."
    if "." in text or "," in text:
        return f"Only seconds may have decimals, and those must be zero.{_in_whole_units(text)}"
    return "This is not an ISO 8601 duration. Write it as PT5M, PT1H30M or P1D."


def _in_whole_units(text: str) -> str:
    """Return ' Write PT90M, not PT1.5H.' where whole seconds give the same length, or ''."""
    match = _WITH_DECIMALS.fullmatch(text)
    if not match:
        return ""
    written = (number.replace(",", ".") if number else "0" for number in match.groups())
    counts = (Fraction(number) for number in written)
    seconds = sum((count * unit for count, unit in zip(counts, _UNITS, strict=True)), Fraction())
    return _rather(int(seconds), text) if seconds.denominator == 1 else ""


def _rather(seconds: int, text: str) -> str:
    """Return ' Write PT2S, not PT1.5S.' where that length is allowed, or ''."""
    if not 1 <= seconds <= _LONGEST.total_seconds():
        return ""
    return f" Write {format_iso(timedelta(seconds=seconds))}, not {text}."
