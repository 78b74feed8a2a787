"""Turns the recorded times of an attempt into the phases of its waterfall.

Pure arithmetic in milliseconds since the origin of the picture; nothing is ever negative,
though the clocks of a worker and of the database may differ.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime

#: Phase -> its word, in the order in which they happen.
PHASES: Mapping[str, str] = {
    "queue": "queue wait",
    "dns": "DNS",
    "connect": "connect",
    "tls": "TLS",
    "first_byte": "first byte",
    "body": "body",
    "no_answer": "no answer",
    "call": "call",
    "rest": "beside the call",
}
_OPENING = ("dns", "connect", "tls")
#: Milliseconds; recorded times are no finer.
_LEAST_REST = 0.001


@dataclass(frozen=True, slots=True)
class AttemptFacts:
    """One attempt as recorded; one that still runs has no end, one never started no start.

    ``timings`` are milliseconds by phase as an attempt stores them: dns, connect and tls are
    lengths; first_byte and total are measured from the start of the call.
    """

    number: int
    state: str
    due_at: datetime | None = None
    started_at: datetime | None = None
    finished_at: datetime | None = None
    timings: Mapping[str, float | None] = field(default_factory=dict)
    response_status: int | None = None
    error_code: str = ""


@dataclass(frozen=True, slots=True)
class Phase:
    """A phase by its name in :data:`PHASES`, in milliseconds since the origin."""

    name: str
    start: float
    end: float

    @property
    def length(self) -> float:
        """Return how long it took."""
        return self.end - self.start


def origin_of(attempts: list[AttemptFacts], now: datetime) -> datetime:
    """Return the first moment that the attempts know."""
    known = [
        moment
        for attempt in attempts
        for moment in (attempt.due_at, attempt.started_at, attempt.finished_at)
        if moment is not None
    ]
    return min(known, default=now)


def phases_of(attempt: AttemptFacts, origin: datetime, now: datetime) -> list[Phase]:
    """Return the phases of an attempt in their order, without gaps between them.

    The phases after the queue wait add up to the attempt's duration. The last of them, the time
    beside the call, is the part that the call did not take.
    """
    end = _since(origin, attempt.finished_at or now)
    due = None if attempt.due_at is None else _since(origin, attempt.due_at)
    if attempt.started_at is None:
        return [] if due is None else [Phase("queue", due, max(due, end))]
    started = _since(origin, attempt.started_at)
    phases = [Phase("queue", due, started)] if due is not None and due < started else []
    return [*phases, *_call(attempt.timings, started, max(started, end))]


def _call(timings: Mapping[str, float | None], started: float, end: float) -> list[Phase]:
    total = timings.get("total")
    if total is None:
        return [Phase("call", started, end)]
    called = _phases_of_call(timings, started, min(started + max(total, 0.0), end))
    rest = end - called[-1].end
    return [*called, Phase("rest", called[-1].end, end)] if rest >= _LEAST_REST else called


def _phases_of_call(
    timings: Mapping[str, float | None], started: float, finish: float
) -> list[Phase]:
    at, phases = started, []
    for name in _OPENING:
        length = timings.get(name)
        if length is not None:
            phases.append(Phase(name, at, min(at + max(length, 0.0), finish)))
            at = phases[-1].end
    first_byte = timings.get("first_byte")
    if first_byte is None:
        return [*phases, Phase("no_answer", at, finish)]
    answered = min(max(at, started + max(first_byte, 0.0)), finish)
    return [*phases, Phase("first_byte", at, answered), Phase("body", answered, finish)]


def _since(origin: datetime, moment: datetime) -> float:
    return max(0.0, (moment - origin).total_seconds() * 1000)
