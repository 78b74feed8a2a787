"""From expected instants to the ledger: which run, which are skipped, and why.

Called by materialize, which writes the plan. Every instant from the cursor to the horizon is
accounted for exactly once and in order: as a row, or within one span when a long stretch of
instants is skipped for one reason. Instants that one call does not reach start at `next_run_at`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from itertools import groupby, islice, takewhile
from typing import NotRequired, TypedDict, Unpack

from tasks.choices import MISFIRE_COALESCE, MISFIRE_POLICIES
from tasks.schedules.base import CALENDAR_EXCLUDED, MICROSECOND, Occurrence, Spec

GRACE_EXCEEDED = "misfire_grace_exceeded"
SKIPPED = "misfire_skipped"
COALESCED = "misfire_coalesced"
REPLAYED = "misfire_replayed"

#: A longer stretch of skipped instants becomes one span.
SPAN_FROM = 101

_UNBOUNDED = 2**62


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
    """The ledger's next entries; `occurrences` is how many instants they account for.

    ``caught_up``: the one run of a coalesced stretch is chosen and more of the stretch is left.
    The caller passes it to the call that continues from `next_run_at`, which chooses no other.
    """

    rows: list[PlannedRow]
    spans: list[Span]
    next_run_at: datetime | None
    occurrences: int
    caught_up: bool = False


class Question(TypedDict):
    """The keyword arguments of :func:`plan`."""

    #: The next instant without a row.
    cursor: datetime
    now: datetime
    #: The last moment to account for.
    horizon: datetime
    policy: str
    #: Missed instants older than this are skipped under every policy; None: no limit.
    grace_seconds: float | None
    #: The end of the time without a scheduler that the cursor lies in. Instants then count as late
    #: at this moment, and a grace shorter than the threshold applies.
    unowned_until: NotRequired[datetime | None]
    #: From an instant to its due time, and the longest time between them, where the two differ.
    due: NotRequired[Callable[[datetime], datetime]]
    jitter_seconds: NotRequired[float]
    #: Which missed instant a coalesced run represents; the latest unless given.
    coalesce: NotRequired[str]
    #: How many of the missed instants, the last ones, are replayed; None, the default: all.
    replay_limit: NotRequired[int | None]
    #: ``caught_up`` of the plan before this one, if this one continues it.
    caught_up: NotRequired[bool]
    #: An instant that nothing prepared or released this long after it was due is missed; 15
    #: unless given.
    missed_after_seconds: NotRequired[float]
    #: At most this many rows and spans; 200 unless given.
    limit: NotRequired[int]
    #: How many more occurrences the task may have; None, the default: no limit.
    remaining: NotRequired[int | None]


def plan(spec: Spec, **asked: Unpack[Question]) -> Plan:
    """Account for the instants from the cursor to the horizon, in order.

    The policy does not apply to a one-time task; only an explicit grace skips it. An excluded
    instant never runs and is never chosen to represent others; it counts as one of `remaining`
    like every other.
    """
    now, horizon = asked["now"], asked["horizon"]
    _check_words(asked)
    planner = _Planner(spec, asked["cursor"], asked.get("limit", 200), asked.get("remaining"))
    # Both bounds are exclusive: an instant exactly 15 s old is not missed yet.
    unowned_until = asked.get("unowned_until")
    missed_until = _before(unowned_until or now, asked.get("missed_after_seconds", 15.0))
    if asked["grace_seconds"] is not None:
        # Without an outage an instant is always a moment late: that must not exceed a grace.
        latest = missed_until if unowned_until is None else unowned_until - MICROSECOND
        too_old_until = min(_before(now, asked["grace_seconds"]), latest)
        planner.skip(min(_due_by(too_old_until, spec, asked), horizon), GRACE_EXCEEDED)
    if spec.kind != "once":
        planner.missed(min(_due_by(missed_until, spec, asked), horizon), asked)
    planner.run(horizon, "")
    return planner.plan()


def _check_words(asked: Question) -> None:
    policy, which = asked["policy"], asked.get("coalesce", "latest")
    if policy not in MISFIRE_POLICIES:
        raise ValueError(f"unknown misfire policy {policy!r}")
    if which not in MISFIRE_COALESCE:
        raise ValueError(f"unknown instant to coalesce onto {which!r}")


def _before(now: datetime, seconds: float) -> datetime:
    return now - timedelta(seconds=seconds) - MICROSECOND


def _due_by(until: datetime, spec: Spec, asked: Question) -> datetime:
    """Return the latest moment up to which every instant is due by ``until``.

    An instant is due before the next one, so only the last one up to then can be due later.
    """
    due, jitter = asked.get("due"), asked.get("jitter_seconds", 0.0)
    if due is None or jitter <= 0 or until < asked["cursor"]:
        return until
    width = min(1.0, jitter)
    while True:
        after = until - timedelta(seconds=width)
        last = max(
            (one.at for one in takewhile(lambda o: o.at <= until, spec.walk(after))), default=None
        )
        if last is not None or width >= jitter:
            return until if last is None or due(last) <= until else last - MICROSECOND
        width = min(8 * width, jitter)


class _Planner:
    """Moves one cursor forward through the instants and writes down each."""

    def __init__(self, spec: Spec, cursor: datetime, limit: int, remaining: int | None) -> None:
        self._spec = spec
        self._limit = limit
        self._bounded = remaining is not None
        self._remaining = _UNBOUNDED if remaining is None else remaining
        self._rows: list[PlannedRow] = []
        self._spans: list[Span] = []
        self._occurrences = 0
        # Everything up to here is accounted for.
        self._done = cursor - MICROSECOND
        # More is left of a stretch than one call accounts for: nothing after it may be written.
        self._stopped = False
        self._caught_up = False

    def plan(self) -> Plan:
        following = self._spec.next_after(self._done) if self._remaining > 0 else None
        next_run_at = following.at if following else None
        return Plan(self._rows, self._spans, next_run_at, self._occurrences, self._caught_up)

    def missed(self, until: datetime, asked: Question) -> None:
        if asked["policy"] == "replay":
            self._replay(until, asked.get("replay_limit"))
        elif asked["policy"] == "skip":
            self.skip(until, SKIPPED)
        elif asked.get("coalesce") == "earliest":
            self._coalesce_earliest(until, asked.get("caught_up", False))
        else:
            self._coalesce_latest(until)

    def run(self, until: datetime, reason: str) -> None:
        if not self._spec.may_exclude:
            self._write_run(self._spec.between(self._done, until, self._room()), reason)
            return
        for excluded, group in groupby(self._chunk(until), lambda found: bool(found.excluded)):
            if excluded:
                self._write_skipped(list(group), CALENDAR_EXCLUDED)
            else:
                self._write_run(list(islice(group, self._room())), reason)
            if not self._room():
                return
        self._stop_if_any_left(until)

    def skip(self, until: datetime, reason: str) -> None:
        if not self._room():
            return
        if self._spec.may_exclude:
            for excluded, group in groupby(self._chunk(until), lambda found: bool(found.excluded)):
                self._write_skipped(list(group), CALENDAR_EXCLUDED if excluded else reason)
            self._stop_if_any_left(until)
            return
        count, last = self._count_open(until, self._spec.count_chunk)
        if last and count >= SPAN_FROM:
            first = next(self._spec.walk(self._done))
            self._write_span(Span(first.at, last, count, reason))
            # A cron line may have more missed instants than one call counts.
            self._stop_if_any_left(until)
        else:
            self._write_skipped(self._spec.between(self._done, until, self._room()), reason)

    def _replay(self, until: datetime, limit: int | None) -> None:
        """Run the last ``limit`` instants, all without one; skip the older ones."""
        # Instants are a second apart at least, so a short stretch need not be counted.
        if limit is not None and (until - self._done).total_seconds() + 1 > limit:
            most = limit + self._spec.count_chunk
            count, last = self._count_open(until, most)
            if last and count > limit:
                _, cut = self._count_open(until, count - limit)
                self.skip(cut or last, SKIPPED)
                self._stopped = self._stopped or count == most
        self.run(until, REPLAYED)

    def _coalesce_latest(self, until: datetime) -> None:
        chunk = self._spec.count_chunk
        count, last = self._count_open(until, chunk)
        if last is None:
            self.skip(until, COALESCED)  # The excluded ones.
        elif count == chunk and self._any_open(last, until):
            # The latest missed instant lies beyond the ones that a call counts: skip all of these.
            self.skip(last, COALESCED)
            self._stopped = True
        else:
            self._run_only(last, until)

    def _coalesce_earliest(self, until: datetime, caught_up: bool) -> None:
        if not caught_up:
            _, first = self._count_open(until, 1)
            if first is None:
                self.skip(until, COALESCED)
                return
            self._run_only(first, until)
        else:
            self.skip(until, COALESCED)
        chosen = caught_up or any(row.reason == COALESCED and row.run for row in self._rows)
        self._caught_up = chosen and self._any_left(until)

    def _run_only(self, at: datetime, until: datetime) -> None:
        """Run one of the instants up to a moment and skip the others."""
        self.skip(at - MICROSECOND, COALESCED)
        self._write_run(self._spec.between(self._done, at, min(1, self._room())), COALESCED)
        self.skip(until, COALESCED)

    def _count_open(self, until: datetime, limit: int) -> tuple[int, datetime | None]:
        """Count the first instants up to a moment that are not excluded; return the last, too."""
        if not self._room():
            return 0, None
        if not self._spec.may_exclude:
            return self._spec.count_between(self._done, until, min(limit, self._remaining))
        count, last = 0, None
        for found in islice(self._open(self._done, until), limit):
            count, last = count + 1, found.at
        return count, last

    def _open(self, after: datetime, until: datetime) -> Iterator[Occurrence]:
        """Yield the instants that are not excluded, up to the task's last occurrence."""
        if not self._bounded:
            return self._spec.walk_open(after, until)
        left = islice(self._spec.walk(self._done), self._remaining)
        inside = takewhile(lambda found: found.at <= until, left)
        return (found for found in inside if found.at > after and not found.excluded)

    def _any_open(self, after: datetime, until: datetime) -> bool:
        if self._spec.may_exclude:
            return next(self._open(after, until), None) is not None
        following = self._spec.next_after(after)
        counted = self._remaining <= self._spec.count_chunk
        return not counted and following is not None and following.at <= until

    def _chunk(self, until: datetime) -> Iterator[Occurrence]:
        """Yield the next instants, excluded or not, as many as one call walks through."""
        most = min(self._remaining, self._spec.count_chunk)
        walk = takewhile(lambda found: found.at <= until, self._spec.walk(self._done))
        return islice(walk, most)

    def _any_left(self, until: datetime) -> bool:
        if self._remaining <= 0:
            return False
        following = self._spec.next_after(self._done)
        return following is not None and following.at <= until

    def _stop_if_any_left(self, until: datetime) -> None:
        self._stopped = self._stopped or self._any_left(until)

    def _room(self) -> int:
        if self._stopped:
            return 0
        return max(0, min(self._remaining, self._limit - len(self._rows) - len(self._spans)))

    def _write_run(self, found: Sequence[Occurrence], reason: str) -> None:
        self._write_rows(found, run=True, reason=reason)

    def _write_skipped(self, found: Sequence[Occurrence], reason: str) -> None:
        if len(found) >= SPAN_FROM and self._room():
            self._write_span(Span(found[0].at, found[-1].at, len(found), reason))
        else:
            self._write_rows(found[: self._room()], run=False, reason=reason)

    def _write_rows(self, found: Sequence[Occurrence], *, run: bool, reason: str) -> None:
        self._rows += [PlannedRow(occurrence.at, run, reason) for occurrence in found]
        if found:
            self._account(len(found), found[-1].at)

    def _write_span(self, span: Span) -> None:
        self._spans.append(span)
        self._account(span.count, span.last)

    def _account(self, count: int, last: datetime) -> None:
        self._occurrences += count
        self._remaining -= count
        self._done = last
