"""How long after each strike its work went on elsewhere, from the receiver's ledger alone.

Watched are the crons of every second, which are spread over the partitions. Of the instants that
such a task is due at between a strike and the next, the first that began late shows the gap; the
takeover time is from the strike to its arrival, of the task that waited longest. What a strike
found not begun, and not late yet, is laid to it and not to the one before. Where none began late,
it is the arrival of the first instant: below two seconds, nobody noticed.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from operator import attrgetter

from operations.proof.ledger import Arrival
from operations.proof.oracle import Target

#: An instant that begins this much after its time was held up.
LATE_MS = 1000
_MS = 1_000_000
#: Instants due later after a strike are not laid to it.
REACH_MS = 15_000
#: The promise where another process of the kind goes on.
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
    """How long a strike was felt.

    ``seconds`` is None where no watched instant fell between it and the next. ``most_seconds`` is
    what is allowed: its own and that of every further strike before the work went on. ``last`` is
    what waited longest.
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
    """Return the takeover of each strike, in order; targets without an arrival are not waited for.

    They are lost, which is a promise of its own.
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
