"""Decides what an attempt's answer or error means: success, retry after some time, or failure.

Pure. Called after each call; the engine turns the result into a transition.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from functools import lru_cache
from typing import Any, Literal

from delivery.errors import DeliveryError
from delivery.http_messages import Response
from delivery.retry_after import parse_retry_after
from delivery.success import Criteria, read_criteria
from shared.status_patterns import parse_status_pattern
from wire import retry
from wire.outcomes import Decision
from wire.retry import Ended, Known

Kind = Literal["success", "accepted", "retryable", "permanent"]

_REDIRECTS = frozenset({300, 301, 302, 303, 305, 306, 307, 308})
_ACCEPTED = 202
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
#: Values of the stop header that mean nothing.
_NOT_STOPPED = frozenset({"false", "0"})


# Made for every attempt: a frozen one takes three times as long.
@dataclass(slots=True)
class Outcome:
    """The outcome of one attempt."""

    kind: Kind
    outcome: Literal["SUCCEEDED", "FAILED", "TIMED_OUT"]
    error_code: str | None = None
    error_message: str | None = None
    #: The HTTP status, when there was an answer.
    status: int | None = None
    #: The wait that the receiver asked for, 0 to a day; only for retryable outcomes.
    retry_after_seconds: float | None = None


# Made with every plan: a frozen one takes three times as long.
@dataclass(slots=True)
class Terms:
    """How a definition judges answers, read once."""

    success: frozenset[int]
    retry_statuses: frozenset[int]
    retry_words: frozenset[str]
    #: Statuses that are never retried, even those of ``retry_statuses``.
    stop: frozenset[int]
    #: Lower case; a header whose presence forbids a retry.
    stop_header: str | None
    criteria: Criteria | None
    #: Whether 202 means that the job goes on until the receiver ends it by a call.
    callback: bool


def read_terms(target: Mapping[str, Any], policy: Mapping[str, Any]) -> Terms:
    """Return the terms; ValueError for a pattern that validation would have refused."""
    words = tuple(policy["retry_on"])
    header = policy.get("stop_header")
    return Terms(
        success=_statuses(tuple(target["success"]["statuses"])),
        retry_statuses=_statuses(words),
        retry_words=RETRY_WORDS.intersection(words),
        stop=_statuses(tuple(policy.get("stop_on") or ())),
        stop_header=None if header is None else header.lower(),
        criteria=read_criteria(target["success"]),
        callback=target.get("completion") == "callback",
    )


def classify(result: Response | DeliveryError, terms: Terms, now: datetime) -> Outcome:
    """Return the outcome.

    A redirect, 410 and a forbidden address are final, even where ``retry_on`` covers them. An
    answer that misses the criteria counts as a passing state of the receiver and is retried.
    """
    if isinstance(result, DeliveryError):
        return _classify_error(result, terms)
    status = result.status
    if terms.callback and status == _ACCEPTED:
        return Outcome("accepted", "SUCCEEDED", status=status)
    if status in terms.success:
        mismatch = None if terms.criteria is None else terms.criteria.mismatch(result)
        if mismatch is None:
            return Outcome("success", "SUCCEEDED", status=status)
        final = status in terms.stop or _is_stopped(result, terms)
        return _failure(result, "response_mismatch", mismatch, now, final=final)
    if status in _REDIRECTS:
        message = f"The receiver redirected (HTTP {status})."
        return Outcome("permanent", "FAILED", "redirect_forbidden", message, status)
    message = f"The receiver answered HTTP {status}."
    final = not _retries_status(status, terms) or _is_stopped(result, terms)
    return _failure(result, "http_status", message, now, final=final)


def decide(
    outcome: Outcome,
    ended: Callable[[], Ended],
    policy: Mapping[str, Any],
    rand: Callable[[], float],
) -> Decision:
    """Return the verb of the outcome with its reason, and the wait before a retry.

    ``ended`` gives the attempt, which matters only where something went wrong.
    """
    if outcome.kind == "success":
        return {"verb": "succeeded"}
    if outcome.kind == "accepted":
        return {"verb": "accepted"}
    known = Known(
        refusal="not_retryable" if outcome.kind == "permanent" else "",
        rule=_rule_for(outcome.status, policy.get("rules") or ()),
        at_least=outcome.retry_after_seconds or 0.0,
    )
    return retry.judge(ended(), policy, rand, known).said()


def _failure(response: Response, code: str, message: str, now: datetime, *, final: bool) -> Outcome:
    if final:
        return Outcome("permanent", "FAILED", code, message, response.status)
    asked = _header(response, "retry-after")
    wait = None if asked is None else parse_retry_after(asked, now)
    return Outcome("retryable", "FAILED", code, message, response.status, wait)


def _retries_status(status: int, terms: Terms) -> bool:
    return status != _GONE and status in terms.retry_statuses and status not in terms.stop


def _is_stopped(response: Response, terms: Terms) -> bool:
    if terms.stop_header is None:
        return False
    value = _header(response, terms.stop_header)
    return value is not None and value.strip().lower() not in _NOT_STOPPED


def _header(response: Response, lowered: str) -> str | None:
    return next((value for name, value in response.headers if name.lower() == lowered), None)


def _rule_for(status: int | None, rules: Sequence[Mapping[str, Any]]) -> Mapping[str, Any]:
    """Return the first rule for the status; an empty one where there is none."""
    for rule in rules:
        if status in _statuses(tuple(rule["statuses"])):
            return rule
    return {}


def _classify_error(error: DeliveryError, terms: Terms) -> Outcome:
    if error.status is not None:
        retried = _retries_status(error.status, terms)
    else:
        retried = error.code == "internal" or _RETRY_WORDS.get(error.code) in terms.retry_words
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
