"""Decides what an attempt's answer or error means: success, try again, or give up.

Pure. Called by the run stage after each call; the engine turns the result into a transition.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from functools import lru_cache
from typing import Literal

from executions.delivery.errors import DeliveryError
from executions.delivery.http_messages import Response
from shared.status_patterns import parse_status_pattern

Kind = Literal["success", "retryable", "permanent"]

MAX_RETRY_AFTER_SECONDS = 86_400
_REDIRECTS = frozenset({300, 301, 302, 303, 305, 306, 307, 308})
_GONE = 410
_TIMEOUTS = frozenset({"timeout_connect", "timeout_total"})
#: Error code -> the word of ``retry_on`` that covers it; other codes are never retried, save
#: ``internal``, which is not the receiver's fault and always is.
_RETRY_WORDS = {
    "timeout_connect": "timeout",
    "timeout_total": "timeout",
    "dns_failed": "connection",
    "connection_refused": "connection",
    "connection_reset": "connection",
    "tls_failed": "connection",
    "response_invalid": "connection",
}
#: The words of ``retry_on`` besides status patterns.
RETRY_WORDS = frozenset(_RETRY_WORDS.values())


@dataclass(frozen=True, slots=True)
class Outcome:
    """What one attempt came to."""

    kind: Kind
    outcome: Literal["SUCCEEDED", "FAILED", "TIMED_OUT"]
    error_code: str | None = None
    error_message: str | None = None
    #: The HTTP status, when there was an answer.
    status: int | None = None
    #: The receiver's wish, 0 to a day; only for retryable outcomes.
    retry_after_seconds: float | None = None


def classify(
    result: Response | DeliveryError,
    *,
    success_statuses: Sequence[str],
    retry_on: Sequence[str],
    now: datetime,
) -> Outcome:
    """Return the outcome; ValueError for a pattern that validation would have refused.

    A redirect, 410 and a forbidden address are final whatever ``retry_on`` says.
    """
    if isinstance(result, DeliveryError):
        return _classify_error(result, tuple(retry_on))
    status = result.status
    if status in _statuses(tuple(success_statuses)):
        return Outcome("success", "SUCCEEDED", status=status)
    if status in _REDIRECTS:
        message = f"The receiver redirected (HTTP {status})."
        return Outcome("permanent", "FAILED", "redirect_forbidden", message, status)
    message = f"The receiver answered HTTP {status}."
    if status == _GONE or status not in _statuses(tuple(retry_on)):
        return Outcome("permanent", "FAILED", "http_status", message, status)
    retry_after = next(
        (value for name, value in result.headers if name.lower() == "retry-after"), None
    )
    wait = None if retry_after is None else parse_retry_after(retry_after, now)
    return Outcome("retryable", "FAILED", "http_status", message, status, wait)


def _classify_error(error: DeliveryError, retry_on: tuple[str, ...]) -> Outcome:
    retried = error.code == "internal" or _RETRY_WORDS.get(error.code) in retry_on
    return Outcome(
        kind="retryable" if retried else "permanent",
        outcome="TIMED_OUT" if error.code in _TIMEOUTS else "FAILED",
        error_code=error.code,
        error_message=error.message,
    )


@lru_cache(maxsize=1024)
def _statuses(words: tuple[str, ...]) -> frozenset[int]:
    return frozenset(
        status for word in words if word not in RETRY_WORDS for status in parse_status_pattern(word)
    )


_SECONDS = re.compile(r"[+-]?[0-9]+")
#: More digits than this are beyond the limit, and int() refuses thousands of them.
_MAX_DIGITS = 15


def parse_retry_after(value: str, now: datetime) -> float | None:
    """Return seconds from ``now``, 0 to a day, or None when the value makes no sense."""
    text = value.strip()
    if _SECONDS.fullmatch(text):
        seconds = float(text[: _MAX_DIGITS + 1])
        return min(max(seconds, 0.0), float(MAX_RETRY_AFTER_SECONDS))
    try:
        moment = parsedate_to_datetime(text)
    except (ValueError, TypeError, OverflowError, IndexError):
        return None
    if moment.tzinfo is None:
        moment = moment.replace(tzinfo=UTC)
    try:
        seconds = (moment - now).total_seconds()
    except OverflowError:
        return None
    return min(max(seconds, 0.0), float(MAX_RETRY_AFTER_SECONDS))
