"""A break of the demo as it happens: what was struck, what took over, and what is counted.

Two ledgers are compared: Punctual's own rows, and the receiver's tally of what arrived. Everything
is read; :mod:`executions.demo` begins breaks.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any, NamedTuple
from uuid import UUID

from executions.choices import FINAL, AttemptOutcome, Status
from executions.demo import breaks, pulses
from executions.demo.breaks import Break, Kind
from executions.ledger import totals
from executions.loop.clocks import database_now
from executions.models import Attempt, Execution, PartitionLease, SchedulerNode
from insight.takeovers import last_takeovers
from shared.ids import first_id_at

#: A start this much after its instant is late.
LATE_MS = 1000
_KILLS = (Kind.WORKER, Kind.SCHEDULER)


class Moment(NamedTuple):
    """Something that happened; ``tone`` is bad, good or plain."""

    at: datetime
    text: str
    tone: str = "plain"


class Stretch(NamedTuple):
    """A time in which a circuit was not closed; ``until`` is None while it is not."""

    since: datetime
    until: datetime | None


#: (tenant, since when) -> the stretches of its circuits; alerts have them.
CircuitOf = Callable[[UUID, datetime], Sequence[Stretch]]


class Run(NamedTuple):
    """One execution of a pulse, a row of the ledger."""

    id: UUID
    status: str
    attempt: int
    lost_count: int
    start_delay_ms: float | None
    scheduled_for: datetime
    finished_at: datetime | None

    @property
    def is_late(self) -> bool:
        """Return whether its first attempt began late."""
        return self.start_delay_ms is not None and self.start_delay_ms > LATE_MS

    @property
    def was_touched(self) -> bool:
        """Return whether the break shows in it: it began late, or needed a second attempt."""
        return self.is_late or self.attempt > 1


@dataclass(frozen=True, slots=True)
class Counts:
    """The instants of the pulses in both ledgers.

    ``arrived`` executions got an answer of success from the receiver. ``sent_again`` requests are
    further attempts of an execution, each recorded; ``doubled`` ones repeat an attempt, which must
    not happen. ``missing`` instants should have run and did not. The receiver's figures are None
    where it was started again since, or does not answer.
    """

    expected: int
    due: int
    succeeded: int
    under_way: int
    failed: int
    skipped: int
    late: int
    slowest_ms: float | None
    retries: int
    lost_attempts: int
    taken_back: int
    requests: int | None
    arrived: int | None
    sent_again: int | None
    doubled: int | None
    missing: int | None


@dataclass(frozen=True, slots=True)
class Report:
    """What a break looks like at the moment ``now``.

    ``phase``: ``waits`` for its strike, ``acts`` while the fault lasts, ``recovers`` until the last
    instant has run, ``over``. ``waiting`` partitions belong to the killed scheduler, ``unowned``
    ones to none. ``recovered_after`` is from the strike until the last execution that it delayed
    had ended; None before the end, or where it delayed none.
    """

    broken: Break
    now: datetime
    phase: str
    struck_at: datetime | None
    waiting: int
    unowned: int
    counts: Counts
    moments: tuple[Moment, ...]
    recovered_after: float | None

    @property
    def kept(self) -> bool | None:
        """Return whether nothing was lost and nothing doubled; None before it can be told."""
        counts = self.counts
        if self.phase != "over" or counts.missing is None:
            return None
        return counts.missing == counts.doubled == counts.skipped == counts.failed == 0


def report(tenant_id: UUID, circuit_of: CircuitOf) -> Report | None:
    """Return the tenant's last break as it is now; None before the first one.

    ``circuit_of`` returns the times in which the receiver's circuit was not closed.
    """
    broken = breaks.last_of(tenant_id)
    if broken is None:
        return None
    now = database_now()
    strike = _strike_of(broken)
    runs = _runs(tenant_id, broken)
    lost = _lost_attempts(runs, broken)
    struck_at = _struck_at(broken, strike, now)
    counts = _counts(broken, runs, lost, breaks.trial(tenant_id), now)
    phase = _phase(broken, runs, struck_at, now)
    recovered = _recovered_after(runs, struck_at)
    moments = [
        Moment(broken.first, f"{broken.pulses} pulses begin to fire every second"),
        *_of_strike(broken, strike, now),
        *_of_takeovers(broken),
        *_of_circuit(circuit_of(tenant_id, broken.first), broken),
        *_of_lost(lost),
        *(_of_end(broken, runs) if phase == "over" else ()),
    ]
    return Report(
        broken=broken,
        now=now,
        phase=phase,
        struck_at=struck_at,
        waiting=_waiting(strike),
        unowned=PartitionLease.objects.count() - PartitionLease.objects.standing().count(),
        counts=counts,
        moments=tuple(sorted(moments, key=lambda one: one.at)),
        recovered_after=recovered if phase == "over" else None,
    )


def _strike_of(broken: Break) -> dict[str, Any] | None:
    """Return the supervisor's strike of this break; None for another one's."""
    found = breaks.strike() if broken.kind in _KILLS else None
    if found is None or _moment(found["due_at"]) < broken.first:
        return None
    return found


def _struck_at(broken: Break, strike: Mapping[str, Any] | None, now: datetime) -> datetime | None:
    if broken.kind not in _KILLS:
        return broken.strikes_at if now >= broken.strikes_at else None
    return _moment(strike["struck_at"]) if strike and strike["struck_at"] else None


def _runs(tenant_id: UUID, broken: Break) -> list[Run]:
    found = Execution.objects.filter(
        tenant_id=tenant_id,
        task_id__in=pulses.of_tenant(tenant_id).values("id"),
        id__gte=first_id_at(broken.first),
        id__lt=first_id_at(broken.last + timedelta(milliseconds=1)),
    )
    return [Run(*row) for row in found.values_list(*Run._fields)]


def _lost_attempts(runs: Iterable[Run], broken: Break) -> list[datetime]:
    """Return when each attempt was given up whose worker was lost."""
    found = Attempt.objects.filter(
        id__gte=first_id_at(broken.first),
        execution_id__in=[run.id for run in runs if run.lost_count],
        outcome=AttemptOutcome.WORKER_LOST,
    )
    return sorted(found.values_list("finished_at", flat=True))


def _counts(
    broken: Break,
    runs: Sequence[Run],
    lost: Sequence[datetime],
    trial: Mapping[str, Any] | None,
    now: datetime,
) -> Counts:
    statuses = Counter(run.status for run in runs)
    seconds = int((min(now, broken.last) - broken.first).total_seconds()) + 1
    delays = [run.start_delay_ms for run in runs if run.start_delay_ms is not None]
    taken_back = totals.read().get(totals.EXPIRED_EXECUTIONS, 0) - broken.taken_back
    return Counts(
        expected=broken.expected,
        due=broken.pulses * max(0, seconds),
        succeeded=statuses[Status.SUCCEEDED],
        under_way=sum(run.status not in FINAL and run.scheduled_for <= now for run in runs),
        failed=statuses[Status.FAILED] + statuses[Status.CANCELLED],
        skipped=statuses[Status.SKIPPED],
        late=sum(run.is_late for run in runs),
        slowest_ms=max(delays, default=None),
        retries=sum(max(0, run.attempt - 1) for run in runs),
        lost_attempts=len(lost),
        taken_back=max(0, taken_back),
        **_arrivals(broken, runs, trial),
    )


def _arrivals(
    broken: Break, runs: Sequence[Run], trial: Mapping[str, Any] | None
) -> dict[str, int | None]:
    """Return the receiver's figures of the pulses."""
    names = ("requests", "arrived", "sent_again", "doubled", "missing")
    if trial is None or not trial["complete"]:
        return dict.fromkeys(names)
    known = {str(run.id): run for run in runs}
    times: Counter[str] = Counter()
    tries: Counter[str] = Counter()
    arrived = set()
    for execution, _, sent, answered_ok in trial["attempts"]:
        if execution in known:
            times[execution] += sent
            tries[execution] += 1
            if answered_ok:
                arrived.add(execution)
    done = sum(known[one].status == Status.SUCCEEDED for one in arrived)
    return {
        "requests": times.total(),
        "arrived": len(arrived),
        "sent_again": tries.total() - len(tries),
        "doubled": times.total() - tries.total(),
        "missing": broken.expected - done,
    }


def _phase(broken: Break, runs: Sequence[Run], struck_at: datetime | None, now: datetime) -> str:
    ended = sum(run.status in FINAL for run in runs)
    if now > broken.gives_up_at or (now > broken.last and ended >= broken.expected):
        return "over"
    if struck_at is None:
        return "waits" if now <= broken.last else "recovers"
    if broken.kind not in _KILLS and now < _fault_ends(broken):
        return "acts"
    return "recovers"


def _fault_ends(broken: Break) -> datetime:
    return broken.strikes_at + timedelta(seconds=breaks.FAULT_SECONDS)


def _recovered_after(runs: Iterable[Run], struck_at: datetime | None) -> float | None:
    ends = [run.finished_at for run in runs if run.was_touched and run.finished_at]
    if struck_at is None or not ends:
        return None
    return max(0.0, (max(ends) - struck_at).total_seconds())


def _waiting(strike: Mapping[str, Any] | None) -> int:
    """Return how many partitions still belong to the killed scheduler."""
    if strike is None or strike["kind"] != Kind.SCHEDULER or not strike["struck_at"]:
        return 0
    killed = SchedulerNode.objects.filter(pid=strike["pid"], name__startswith=f"{strike['name']}@")
    found: int = PartitionLease.objects.filter(owner__in=killed.values("id")).count()
    return found


def _of_strike(broken: Break, strike: Mapping[str, Any] | None, now: datetime) -> Iterator[Moment]:
    if broken.kind not in _KILLS:
        how = "answers 503" if broken.kind == Kind.RECEIVER_FAILS else "takes 3 s longer"
        ends = _fault_ends(broken)
        if now >= broken.strikes_at:
            yield Moment(broken.strikes_at, f"The receiver {how} from now on", "bad")
        if now >= ends:
            yield Moment(ends, "The receiver answers as usual again", "good")
        return
    if strike is None or not strike["struck_at"]:
        return
    name, at = strike["name"], _moment(strike["struck_at"])
    yield Moment(at, f"{name} (pid {strike['pid']}) was killed", "bad")
    if strike["back_at"]:
        text = f"The supervisor started {name} again (pid {strike['new_pid']})"
        yield Moment(_moment(strike["back_at"]), text, "good")


def _of_takeovers(broken: Break) -> Iterator[Moment]:
    for one in last_takeovers():
        if broken.first < one.at <= broken.gives_up_at:
            taker = _name(one.taken_by) or "A scheduler"
            seconds = f"{one.unowned_seconds:.1f} s"
            partitions = _many(one.partitions, "partition")
            former = (
                f"took over {partitions} of {_name(one.lost_by)}, which had no "
                f"scheduler for at most {seconds}"
                if one.lost_by
                else f"took {partitions} that had been released, after {seconds} without one"
            )
            yield Moment(one.at, f"{taker} {former}", "good")


def _of_circuit(circuit: Iterable[Stretch], broken: Break) -> Iterator[Moment]:
    for one in circuit:
        if broken.first <= one.since <= broken.gives_up_at:
            yield Moment(one.since, "The circuit opened: calls wait, and no attempt is lost", "bad")
            if one.until is not None:
                yield Moment(one.until, "The circuit closed: calls go out again", "good")


def _of_lost(lost: Sequence[datetime]) -> Iterator[Moment]:
    for at, count in sorted(Counter(lost).items()):
        calls = _many(count, "call")
        yield Moment(at, f"Given back, to be tried again: {calls} of the lost worker")


def _of_end(broken: Break, runs: Sequence[Run]) -> Iterator[Moment]:
    """Yield the last late start and the last end, which are known only now."""
    late = [run for run in runs if run.is_late]
    if late:
        last = max(late, key=lambda run: (_began(run), run.start_delay_ms))
        seconds = (last.start_delay_ms or 0.0) / 1000
        yield Moment(_began(last), f"The last late start, {seconds:.1f} s after its instant")
    ends = [run.finished_at for run in runs if run.finished_at]
    if ends:
        text = f"{len(ends)} of {broken.expected} instants have ended"
        yield Moment(max(ends), text, "good" if len(ends) == broken.expected else "bad")


def _many(count: int, noun: str) -> str:
    return f"{count} {noun}" if count == 1 else f"{count} {noun}s"


def _name(scheduler: str) -> str:
    return scheduler.partition("@")[0]


def _began(run: Run) -> datetime:
    return run.scheduled_for + timedelta(milliseconds=run.start_delay_ms or 0.0)


def _moment(text: str) -> datetime:
    return datetime.fromisoformat(text)
