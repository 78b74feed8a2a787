"""Computes the instants at which a task must run, apart from the product.

Cron in UTC by cronsim, fixed rate by arithmetic, one-time as given. An instant that falls into
the call that created its task may run or not; from the answer on, every instant must.
Times are whole milliseconds since 1970, clock readings nanoseconds.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from typing import Any

from cronsim import CronSim

EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


@dataclass(frozen=True, slots=True)
class Schedule:
    """When to run: exactly one of run_at_ms, delay_ms, every_ms (with start_ms) and cron."""

    run_at_ms: int | None = None
    delay_ms: int | None = None
    every_ms: int | None = None
    start_ms: int = 0
    cron: str | None = None
    end_ms: int | None = None
    max_occurrences: int | None = None

    @property
    def kind(self) -> str:
        """Return the word that reports use."""
        if self.cron is not None:
            return "cron"
        return "fixed rate" if self.every_ms is not None else "one-time"


@dataclass(frozen=True, slots=True)
class Planned:
    """A task that the load generator is going to create."""

    schedule: Schedule
    path: str
    definition: dict[str, Any] = field(hash=False)
    #: ok, slow, flaky or failing; only failing ends without a success.
    behaviour: str = "ok"
    max_attempts: int = 5
    #: When to create it, in milliseconds after the start.
    create_after_ms: int = 0


@dataclass(frozen=True, slots=True)
class Accepted:
    """A task that the product has acknowledged."""

    task_id: str
    planned: Planned
    sent_ns: int
    answered_ns: int


@dataclass(frozen=True, slots=True)
class Target:
    """One instant of one task."""

    task_id: str
    at_ms: int
    kind: str
    path: str
    behaviour: str
    max_attempts: int
    #: False where it may run but need not.
    required: bool = True
    #: How much later than at_ms the nominal time may be, where only bounds are known (delays).
    slack_ms: int = 0
    #: When its creation was answered; a start cannot be late before that.
    acknowledged_ms: int = 0


def to_ms(text: str) -> int:
    """Return an RFC 3339 time as milliseconds; a finer part is cut off."""
    moment = datetime.fromisoformat(text)
    if moment.tzinfo is None:
        raise ValueError(f"time without offset: {text}")
    return (moment - EPOCH) // timedelta(milliseconds=1)


def to_text(at_ms: int) -> str:
    """Return milliseconds as RFC 3339 in UTC."""
    moment = EPOCH + timedelta(milliseconds=at_ms)
    return moment.isoformat(timespec="milliseconds").replace("+00:00", "Z")


def targets(accepted: Accepted, until_ms: int) -> list[Target]:
    """Return the task's instants from its creation to ``until_ms``, in order."""
    schedule = accepted.planned.schedule
    if schedule.run_at_ms is not None:
        return [_target(accepted, schedule.run_at_ms, required=True)]
    sent_ms, answered_ms = accepted.sent_ns // 1_000_000, -(-accepted.answered_ns // 1_000_000)
    if schedule.delay_ms is not None:
        at_ms = sent_ms + schedule.delay_ms
        return [_target(accepted, at_ms, required=True, slack_ms=answered_ms - sent_ms + 1)]
    last_ms = until_ms if schedule.end_ms is None else min(until_ms, schedule.end_ms)
    found = []
    for number, at_ms in enumerate(_instants(schedule, sent_ms), start=1):
        if at_ms > last_ms:
            break
        if schedule.max_occurrences is not None and number > schedule.max_occurrences:
            break
        # The contract does not say whether an instant equal to end_at still belongs to it.
        required = answered_ms < at_ms != schedule.end_ms
        found.append(_target(accepted, at_ms, required=required))
    return found


def _instants(schedule: Schedule, after_ms: int) -> Iterator[int]:
    """Yield the instants after the given time, without end."""
    if schedule.every_ms is not None:
        missed = max(0, (after_ms - schedule.start_ms) // schedule.every_ms + 1)
        at_ms = schedule.start_ms + missed * schedule.every_ms
        while True:
            yield at_ms
            at_ms += schedule.every_ms
    if schedule.cron is None:
        raise ValueError("a schedule needs run_at_ms, delay_ms, every_ms or cron")
    begin = EPOCH + timedelta(milliseconds=max(after_ms, schedule.start_ms))
    for moment in CronSim(schedule.cron, begin):
        yield (moment - EPOCH) // timedelta(milliseconds=1)


def _target(accepted: Accepted, at_ms: int, *, required: bool, slack_ms: int = 0) -> Target:
    planned = accepted.planned
    return Target(
        accepted.task_id,
        at_ms,
        planned.schedule.kind,
        planned.path,
        planned.behaviour,
        planned.max_attempts,
        required,
        slack_ms,
        -(-accepted.answered_ns // 1_000_000),
    )
