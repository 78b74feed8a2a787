"""Computes the takeover time of each strike, from the receiver's ledger alone.

It watches the crons of every second, which are spread over the partitions. Of the instants of such
a task between a strike and the next, the first late one shows the gap. The takeover time is from
the strike to the arrival of that instant, for the task that waited longest. An instant that had not
begun at a strike, and was not late yet, counts for that strike and not for the one before. Where no
instant began late, the first arrival counts: below two seconds, no task was delayed.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from operator import attrgetter

from operations.proof.ledger import Arrival
from operations.proof.oracle import Target

#: An instant that begins this much after its time is late.
LATE_MS = 1000
_MS = 1_000_000
#: Instants that are due later than this after a strike do not count for it.
REACH_MS = 15_000
#: The promise where another process of the kind continues.
MOST_SECONDS = 10.0
#: And where none does: the supervisor has to start it again, which a busy machine makes slow.
MOST_ALONE_SECONDS = 30.0


@dataclass(frozen=True, slots=True)
class Strike:
    """A process that was killed, or Redis flushed, dated just afterwards."""

    kind: str
    name: str
    pid: int | None
    at_ns: int
    #: Whether no other process of the kind lived.
    alone: bool = True
    #: When the oldest outcome came that Redis held and no recorder had recorded; None without one.
    unrecorded_since_ns: int | None = None

    @property
    def most_seconds(self) -> float:
        """Return how long its takeover may take."""
        return MOST_ALONE_SECONDS if self.alone else MOST_SECONDS


@dataclass(frozen=True, slots=True)
class Instant:
    """When a watched task was due, and when it began (ns since the epoch)."""

    task_id: str
    due_ns: int
    began_ns: int


@dataclass(frozen=True, slots=True)
class Takeover:
    """The takeover time of a strike.

    ``seconds`` is None where no watched instant fell between it and the next. ``most_seconds`` is
    the limit: its own plus that of every further strike before the work continued. ``last`` is the
    instant that waited longest.
    """

    strike: Strike
    seconds: float | None
    most_seconds: float
    last: Instant | None = None

    @property
    def kept(self) -> bool:
        """Return whether it is within the promise."""
        return self.seconds is None or self.seconds <= self.most_seconds


def takeovers(
    strikes: Sequence[Strike], targets: Iterable[Target], arrivals: Iterable[Arrival]
) -> list[Takeover]:
    """Return the takeover of each strike, in order; targets without an arrival do not count.

    They are lost, which is another promise.
    """
    pulses = _pulses(targets, arrivals)
    moments = [strike.at_ns for strike in strikes]
    found = []
    for number, strike in enumerate(strikes):
        until_ns = min([*moments[number + 1 : number + 2], strike.at_ns + REACH_MS * _MS])
        ends = [
            end
            for instants in pulses.values()
            if (end := _went_on(instants, strike.at_ns, until_ns)) is not None
        ]
        if not ends:
            found.append(Takeover(strike, None, strike.most_seconds))
            continue
        last = max(ends, key=attrgetter("began_ns"))
        during = [one for one in strikes if strike.at_ns <= one.at_ns < last.began_ns]
        most = sum(one.most_seconds for one in during)
        found.append(Takeover(strike, (last.began_ns - strike.at_ns) / 1e9, most, last))
    return found


def _pulses(targets: Iterable[Target], arrivals: Iterable[Arrival]) -> dict[str, list[Instant]]:
    """Return every instant of each watched task, with its first arrival."""
    watched = {target.task_id for target in targets if target.kind == "cron"}
    first: dict[tuple[str, int], int] = {}
    for arrival in arrivals:
        if arrival.task_id in watched:
            key = (arrival.task_id, arrival.at_ms)
            first[key] = min(arrival.wall_ns, first.get(key, arrival.wall_ns))
    found: dict[str, list[Instant]] = {}
    for (task_id, at_ms), wall_ns in sorted(first.items()):
        found.setdefault(task_id, []).append(Instant(task_id, at_ms * _MS, wall_ns))
    return found


def _went_on(instants: Sequence[Instant], from_ns: int, until_ns: int) -> Instant | None:
    late = LATE_MS * _MS
    due = [one for one in instants if from_ns - late <= one.due_ns < until_ns - late]
    went_on = [one for one in due if one.began_ns - one.due_ns > late]
    return next(iter(went_on or [one for one in due if one.due_ns >= from_ns]), None)
