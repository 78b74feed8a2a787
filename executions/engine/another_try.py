"""Whether what ended without an answer of a receiver is tried again, and when.

Asked where no worker of ours decides: when a lease over the API runs out, and when its holder says
that the job failed. What a worker of ours was answered is judged in ``executions.delivery``.
"""

from __future__ import annotations

import random
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

from executions.choices import Status
from shared.backoff import delay_seconds


@dataclass(frozen=True, slots=True)
class Ended:
    """An attempt that ended: its number, of how many, and the nominal time that ages are from."""

    number: int
    max_attempts: int
    scheduled_for: datetime
    cancel_requested: bool


@dataclass(frozen=True, slots=True)
class Verdict:
    """The state that it moves to, why, and after how many seconds it is tried again."""

    status: str
    reason: str
    retry_in: float = 0.0


def judge(
    ended: Ended,
    policy: Mapping[str, Any],
    now: datetime,
    *,
    refusal: str = "",
    delay: float | None = None,
    reason: str = "",
) -> Verdict:
    """Return what follows: another attempt, unless something stands against it.

    ``refusal`` is a reason not to try again that the caller knows; ``delay`` stands for the
    policy's; ``reason`` is noted with another attempt.
    """
    if ended.cancel_requested:
        return Verdict(Status.CANCELLED, "cancelled")
    if refusal:
        return Verdict(Status.FAILED, refusal)
    if ended.number >= ended.max_attempts:
        return Verdict(Status.FAILED, "attempts_exhausted")
    wait = delay_seconds(policy, ended.number, random.random) if delay is None else delay
    longest = policy.get("max_age_seconds")
    if longest is not None and now + timedelta(seconds=wait) > ended.scheduled_for + timedelta(
        seconds=longest
    ):
        return Verdict(Status.FAILED, "max_age_exceeded")
    return Verdict(Status.RETRYING, reason, wait)
