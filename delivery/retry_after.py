"""Reads Retry-After: how long a receiver wants to be left alone."""

from __future__ import annotations

import math
import re
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime

from delivery.http_messages import Response

MAX_RETRY_AFTER_SECONDS = 86_400
#: Whole numbers are what RFC 9110 has, but receivers also send fractions.
_NUMBER = re.compile(r"[+-]?(?:[0-9]+(?:\.[0-9]*)?|\.[0-9]+)")
#: From here on a number is no delay but the moment of its end, as Unix time: a delay would be
#: fifty years.
_UNIX_SECONDS = datetime(2020, 1, 1, tzinfo=UTC).timestamp()
_UNIX_MILLISECONDS = _UNIX_SECONDS * 1000


def parse_retry_after(value: str, now: datetime) -> float | None:
    """Return seconds from ``now``, 0 to a day, or None when the value makes no sense.

    A part of a second counts as a whole one: to come too early would be a call for nothing.
    """
    text = value.strip(" \t")
    seconds = _of_number(float(text), now) if _NUMBER.fullmatch(text) else _of_date(text, now)
    return None if seconds is None else min(max(seconds, 0.0), float(MAX_RETRY_AFTER_SECONDS))


def asked_by(response: Response) -> float | None:
    """Return what an answer asks for that has just come, in seconds; None where it asks nothing."""
    for name, value in response.headers:
        if name.lower() == "retry-after":
            return parse_retry_after(value, datetime.now(UTC))
    return None


def _of_number(number: float, now: datetime) -> float:
    if number >= _UNIX_MILLISECONDS:
        return number / 1000 - now.timestamp()
    if number >= _UNIX_SECONDS:
        return number - now.timestamp()
    return float(math.ceil(max(number, 0.0)))


def _of_date(text: str, now: datetime) -> float | None:
    """Read a date in any of the three forms of RFC 9110, 5.6.7; without a zone it is GMT."""
    try:
        moment = parsedate_to_datetime(text)
    except (ValueError, TypeError, OverflowError, IndexError):
        return None
    if moment.tzinfo is None:
        moment = moment.replace(tzinfo=UTC)
    try:
        return (moment - now).total_seconds()
    except OverflowError:
        return None
