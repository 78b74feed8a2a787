"""Decides whether another attempt follows one that ended, and after how long.

The only place that decides it: for answers of receivers and ends of runs in workers, for lost
workers in rescue, and for leases over the API. Pure, and free of Django's models, since workers
use it, too. The callers decide what the end means.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, Literal

from shared.backoff import delay_seconds
from wire.outcomes import Decision


@dataclass(frozen=True, slots=True)
class Ended:
    """An attempt that ended: its number, of how many; the times are the database's.

    ``scheduled_for`` is the nominal time, from which ages count.
    """

    number: int
    max_attempts: int
    scheduled_for: datetime
    now: datetime
    cancel_requested: bool = False


@dataclass(frozen=True, slots=True)
class Known:
    """What the caller knows besides the policy."""

    #: A reason not to try again.
    refusal: str = ""
    #: The policy's rule for the answer: it lowers the attempts and sets the delay.
    rule: Mapping[str, Any] = field(default_factory=dict)
    #: Seconds that replace the rule's and the policy's delay.
    delay: float | None = None
    #: The shortest wait, in seconds, that the receiver asked for.
    at_least: float = 0.0
    #: Why there is another attempt, where there is one.
    reason: str = ""


@dataclass(frozen=True, slots=True)
class Verdict:
    """The state that it moves to, why, and after how many seconds it is tried again."""

    #: A value of ``executions.choices.Status``.
    status: Literal["RETRYING", "FAILED", "CANCELLED"]
    reason: str
    retry_in: float = 0.0

    def said(self) -> Decision:
        """Return it as a worker writes it to the outcome stream."""
        if self.status == "RETRYING":
            return {"verb": "retrying", "reason": self.reason, "retry_in": self.retry_in}
        verb: Literal["failed", "cancelled"] = "failed" if self.status == "FAILED" else "cancelled"
        return {"verb": verb, "reason": self.reason}


_NOTHING = Known()


def judge(
    ended: Ended,
    policy: Mapping[str, Any],
    rand: Callable[[], float],
    known: Known = _NOTHING,
) -> Verdict:
    """Return the verdict: another attempt, unless something forbids it.

    In this order: a requested cancel, the caller's refusal, the limit of attempts, and the age.
    No retry begins later than ``max_age_seconds`` after the nominal time, not even one that a
    receiver asked to wait for. ``rand`` gives evenly spread numbers in [0, 1).
    """
    if ended.cancel_requested:
        return Verdict("CANCELLED", "cancelled")
    if known.refusal:
        return Verdict("FAILED", known.refusal)
    limit = min(ended.max_attempts, known.rule.get("max_attempts") or ended.max_attempts)
    if ended.number >= limit:
        return Verdict("FAILED", "attempts_exhausted")
    wait = max(_delay(ended, policy, rand, known), known.at_least)
    oldest = policy.get("max_age_seconds")
    age = (ended.now - ended.scheduled_for).total_seconds()
    if oldest is not None and age + wait > oldest:
        return Verdict("FAILED", "max_age_exceeded")
    return Verdict("RETRYING", known.reason, wait)


def _delay(
    ended: Ended, policy: Mapping[str, Any], rand: Callable[[], float], known: Known
) -> float:
    fixed = known.rule.get("delay_seconds") if known.delay is None else known.delay
    return delay_seconds(policy, ended.number, rand) if fixed is None else float(fixed)
