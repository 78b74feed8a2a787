"""From expected instants to the ledger: which run, which are skipped, and why.

Called by materialize, which writes the plan. Every instant from the cursor to the horizon is
accounted for exactly once and in order: as a row, or within one span when a long stretch of
instants is skipped for one reason. What one call does not reach starts at `next_run_at`.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import NotRequired, TypedDict, Unpack

from tasks.schedules.base import MICROSECOND, Spec

GRACE_EXCEEDED = "misfire_grace_exceeded"
SKIPPED = "misfire_skipped"
COALESCED = "misfire_coalesced"
REPLAYED = "misfire_replayed"

#: A longer stretch of skipped instants becomes one span.
SPAN_FROM = 101


@dataclass(frozen=True, slots=True)
class PlannedRow:
    """One instant; the reason is empty when it runs on time."""

    at: datetime
    run: bool
    reason: str


@dataclass(frozen=True, slots=True)
class Span:
    """A stretch of skipped instants, both ends included."""

    first: datetime
    last: datetime
    count: int
    reason: str


@dataclass(frozen=True, slots=True)
class Plan:
    """The ledger's next entries; `occurrences` is how many instants they account for."""

    rows: list[PlannedRow]
    spans: list[Span]
    next_run_at: datetime | None
    occurrences: int


class Question(TypedDict):
    """What :func:`plan` is asked, as keyword arguments."""

    #: The next instant without a row.
    cursor: datetime
    now: datetime
    #: The last moment to account for.
    horizon: datetime
    policy: str
    #: Missed instants older than this are skipped whatever the policy; None: no limit.
    grace_seconds: float | None
    #: An instant without a row this long after its time is missed; 15 unless given.
    missed_after_seconds: NotRequired[float]
    #: At most this many rows and spans; 200 unless given.
    limit: NotRequired[int]
    #: How many more occurrences the task may have; None, the default: no limit.
    remaining: NotRequired[int | None]


def plan(spec: Spec, **asked: Unpack[Question]) -> Plan:
    """Account for the instants from the cursor to the horizon, in order.

    The policy spares a one-time task, which is only ever dropped by an explicit grace.
    """
    policy, now, horizon = asked["policy"], asked["now"], asked["horizon"]
    if policy not in ("coalesce", "skip", "replay"):
        raise ValueError(f"unknown misfire policy {policy!r}")
    planner = _Planner(spec, asked["cursor"], asked.get("limit", 200), asked.get("remaining"))
    # Both bounds are exclusive: an instant exactly 15 s old is not missed yet.
    missed_until = _before(now, asked.get("missed_after_seconds", 15.0))
    if asked["grace_seconds"] is not None:
        too_old_until = _before(now, asked["grace_seconds"])
        planner.skip(min(too_old_until, missed_until, horizon), GRACE_EXCEEDED)
    if spec.kind != "once":
        planner.missed(min(missed_until, horizon), policy)
    planner.run(horizon, "")
    return planner.plan()


def _before(now: datetime, seconds: float) -> datetime:
    return now - timedelta(seconds=seconds) - MICROSECOND


class _Planner:
    """Moves one cursor forward through the instants and writes down each."""

    def __init__(self, spec: Spec, cursor: datetime, limit: int, remaining: int | None) -> None:
        self._spec = spec
        self._limit = limit
        self._remaining = 2**62 if remaining is None else remaining
        self._rows: list[PlannedRow] = []
        self._spans: list[Span] = []
        self._occurrences = 0
        # Everything up to here is accounted for.
        self._done = cursor - MICROSECOND
        self._stopped = False

    def plan(self) -> Plan:
        following = self._spec.next_after(self._done) if self._remaining > 0 else None
        next_run_at = following.at if following else None
        return Plan(self._rows, self._spans, next_run_at, self._occurrences)

    def missed(self, until: datetime, policy: str) -> None:
        if policy == "replay":
            self.run(until, REPLAYED)
        elif policy == "skip":
            self.skip(until, SKIPPED)
        else:
            self._coalesce(until)

    def run(self, until: datetime, reason: str) -> None:
        self._write_rows(until, run=True, reason=reason)

    def skip(self, until: datetime, reason: str) -> None:
        count, last = self._count(until)
        if last and count >= SPAN_FROM:
            self._write_span(count, last, reason)
            # A cron line may have more missed instants than one call counts.
            self._stopped = self._any_left(self._done, 0, until)
        else:
            self._write_rows(until, run=False, reason=reason)

    def _coalesce(self, until: datetime) -> None:
        count, last = self._count(until)
        if last is None:
            return
        if self._any_left(last, count, until):
            # The latest missed instant lies beyond what one call counts: all of these give way.
            self.skip(last, COALESCED)
            self._stopped = True
        else:
            self.skip(last - MICROSECOND, COALESCED)
            self._write_rows(last, run=True, reason=COALESCED)

    def _count(self, until: datetime) -> tuple[int, datetime | None]:
        if self._room() == 0:
            return 0, None
        chunk = min(self._remaining, self._spec.count_chunk)
        return self._spec.count_between(self._done, until, chunk)

    def _any_left(self, after: datetime, counted: int, until: datetime) -> bool:
        """Tell whether the task has another instant in (after, until]."""
        if self._remaining <= counted:
            return False
        following = self._spec.next_after(after)
        return following is not None and following.at <= until

    def _room(self) -> int:
        if self._stopped:
            return 0
        return min(self._remaining, self._limit - len(self._rows) - len(self._spans))

    def _write_rows(self, until: datetime, *, run: bool, reason: str) -> None:
        found = self._spec.between(self._done, until, self._room())
        self._rows += [PlannedRow(occurrence.at, run, reason) for occurrence in found]
        if found:
            self._account(len(found), found[-1].at)

    def _write_span(self, count: int, last: datetime, reason: str) -> None:
        first = next(self._spec.walk(self._done))
        self._spans.append(Span(first.at, last, count, reason))
        self._account(count, last)

    def _account(self, count: int, last: datetime) -> None:
        self._occurrences += count
        self._remaining -= count
        self._done = last
