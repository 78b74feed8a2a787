"""Reads values of filters: numbers, durations, times and hosts, as ranges where they have an order.

A value is one of these, ``>``, ``>=``, ``<`` or ``<=`` in front of one, or ``first..last`` with
both ends included; one end may be left out. All raise ValueError with a sentence.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, date, datetime, time, timedelta
from typing import Any

from shared.hosts import HostError
from shared.instants import parse_instant
from tasks.destination_names import read_name

_COMPARISON = re.compile(r"(>=|<=|>|<)(.*)", re.DOTALL)
_NUMBER = re.compile(r"[0-9]{1,9}")
_STATUS = re.compile(r"([1-5])xx", re.IGNORECASE)
_DURATION = re.compile(r"(?:[0-9]{1,9}(?:\.[0-9]{1,3})?(?:ms|s|m|h|d|w))+")
_PART = re.compile(r"([0-9]+(?:\.[0-9]+)?)(ms|s|m|h|d|w)")
_RELATIVE = re.compile(r"([+-])(.+)", re.DOTALL)
_DATE = re.compile(r"\d{4}-\d{2}-\d{2}")
_MILLISECONDS = {
    "ms": 1.0,
    "s": 1000.0,
    "m": 60_000.0,
    "h": 3_600_000.0,
    "d": 86_400_000.0,
    "w": 604_800_000.0,
}
_DAY = timedelta(days=1)
#: Each one of a pattern multiplies what PostgreSQL tries; it refuses hundreds as too complex.
MOST_STARS = 10
#: Days by their names, counted from today in UTC.
_DAYS = {"yesterday": -1, "today": 0, "tomorrow": 1}
#: A relative time is at most a century away.
_FAR_MS = 100 * 366 * _MILLISECONDS["d"]


@dataclass(frozen=True, slots=True)
class Range:
    """The values between two ends; None is no end. ``above``, ``below``: without that end."""

    low: Any = None
    high: Any = None
    above: bool = False
    below: bool = False


@dataclass(frozen=True, slots=True)
class Moment:
    """A time: fixed, or so far from now, or from the beginning of the day in UTC."""

    fixed: datetime | None = None
    offset: timedelta = timedelta(0)
    of_day: bool = False

    def at(self, now: datetime) -> datetime:
        """Return the time, for this moment."""
        if self.fixed is not None:
            return self.fixed
        begin = now
        if self.of_day:
            begin = now.astimezone(UTC).replace(hour=0, minute=0, second=0, microsecond=0)
        return begin + self.offset


#: Reads one value: the first and the last of what it covers.
Covered = Callable[[str], tuple[Any, Any]]


def number(text: str) -> tuple[int, int]:
    """Read a whole number."""
    if not _NUMBER.fullmatch(text):
        raise ValueError(f"{text!r} is no whole number; write 3, >3, <=3 or 2..5.")
    return int(text), int(text)


def response_status(text: str) -> tuple[int, int]:
    """Read an HTTP status, or a class of them such as ``5xx``."""
    family = _STATUS.fullmatch(text)
    if family:
        first = int(family[1]) * 100
        return first, first + 99
    if not _NUMBER.fullmatch(text):
        raise ValueError(f"{text!r} is no HTTP status; write 503, 5xx, >=500 or 500..504.")
    return int(text), int(text)


def duration_ms(text: str) -> tuple[float, float]:
    """Read a duration as milliseconds."""
    if not _DURATION.fullmatch(text):
        raise ValueError(_no_duration(text))
    found = sum(float(count) * _MILLISECONDS[unit] for count, unit in _PART.findall(text))
    if found > _FAR_MS:
        raise ValueError(f"{text!r} is longer than a century.")
    return found, found


def moments(text: str) -> tuple[Moment, Moment]:
    """Read a time: a day in UTC, RFC 3339, ``now``, ``today``, ``-2h`` (ago) or ``+2h`` (ahead).

    The second one is behind what it covers: a day, or a millisecond.
    """
    word = text.lower()
    if word == "now":
        return Moment(), Moment()
    if word in _DAYS:
        begin = timedelta(days=_DAYS[word])
        return Moment(offset=begin, of_day=True), Moment(offset=begin + _DAY, of_day=True)
    if found := _RELATIVE.fullmatch(text):
        away = timedelta(milliseconds=duration_ms(found[2])[0])
        one = Moment(offset=-away if found[1] == "-" else away)
        return one, one
    try:
        if _DATE.fullmatch(text):
            begin_of_day = datetime.combine(date.fromisoformat(text), time(), UTC)
            return Moment(begin_of_day), Moment(begin_of_day + _DAY)
        at = parse_instant(text)
        return Moment(at), Moment(at + timedelta(milliseconds=1))
    except (ValueError, OverflowError):
        raise ValueError(
            f"{text!r} is no time; write 2026-11-20, 2026-11-20T08:00:00Z, today, -2h (two hours "
            "ago) or a range such as -2h..-1h."
        ) from None


def read_range(text: str, covered: Covered) -> Range:
    """Read a value, a comparison or a range of what has an order."""
    if found := _COMPARISON.fullmatch(text):
        first, last = covered(found[2])
        return {
            ">": Range(low=last, above=True),
            ">=": Range(low=first),
            "<": Range(high=first, below=True),
            "<=": Range(high=last),
        }[found[1]]
    if ".." not in text:
        first, last = covered(text)
        return Range(first, last)
    begin, _, end = text.partition("..")
    if not begin and not end:
        raise ValueError("A range has at least one end.")
    return Range(covered(begin)[0] if begin else None, covered(end)[1] if end else None)


def read_times(text: str) -> Range:
    """Read a range of times: its end is left out. A time such as ``-2h`` alone: from then on."""
    found = read_range(text, moments)
    if found.above:
        return Range(low=found.low)
    if _RELATIVE.fullmatch(text) and ".." not in text:
        return Range(low=found.low)
    return Range(found.low, found.high, below=True)


def pattern(text: str) -> str:
    """Read a text in which ``*`` is any text."""
    if text.count("*") > MOST_STARS:
        raise ValueError(f"A text has at most {MOST_STARS} *.")
    return text


def host(text: str) -> str:
    """Read ``host`` or ``host:port`` in any spelling; with ``*`` it is a pattern."""
    if "*" in text:
        return pattern(text).lower()
    try:
        return read_name(text)
    except HostError:
        raise ValueError(f"{text!r} is no host; write api.example.com or *.example.com.") from None


def as_pattern(text: str) -> str:
    """Return the regular expression of a text in which ``*`` is any text."""
    return "^{}$".format(".*".join(re.escape(part) for part in text.split("*")))


def _no_duration(text: str) -> str:
    if re.fullmatch(r"[0-9]+(\.[0-9]+)?", text[:20]):
        return f"{text!r} has no unit. Did you mean '{text}s'? Units are ms, s, m, h, d and w."
    return f"{text!r} is no duration; write 250ms, 1.5s, 2m, 1h30m or 3d."
