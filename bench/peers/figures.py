"""From arrivals to figures: one turn of a contender, medians over the rounds, ratios."""

from __future__ import annotations

import statistics
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any

from bench.peers.contender import Recorded
from bench.peers.plan import Plan
from bench.peers.target import Arrival
from operations.proof.percentiles import Distribution, distribution

OWN = "punctual"
#: The kind of the process that is called: no contender's, so left out of what one costs.
TARGET = "target"
PERCENTILES = ("p50", "p95", "p99", "max")


@dataclass(frozen=True, slots=True)
class Turn:
    """One contender's plan, carried out once."""

    contender: str
    count: int
    #: Different calls that arrived.
    received: int
    #: Arrivals beyond the first of each call.
    doubled: int
    #: Arrivals before their due time.
    early: int
    #: Arrivals between the first and the last, per second.
    per_second: float
    #: Arrival minus due time, milliseconds; None where nothing was due at a time of its own.
    delays_ms: Distribution | None
    #: Calls recorded as succeeded; None where nothing is kept of a call.
    recorded: int | None = None
    #: The same a second, from the first arrival until the last was recorded.
    recorded_per_second: float | None = None
    #: Processor seconds of the turn by kind of process, that of the target included.
    cpu_seconds: dict[str, float] = field(default_factory=dict)
    #: How long it took to hand everything over.
    scheduling_seconds: float = 0.0

    @property
    def kept(self) -> bool:
        """Whether every call arrived exactly once, none early, and is recorded if any is."""
        arrived = self.received == self.count and not self.doubled and not self.early
        return arrived and self.recorded in (None, self.count)

    def as_json(self) -> dict[str, Any]:
        """Return the figures for the stored result."""
        return {
            "contender": self.contender,
            "count": self.count,
            "received": self.received,
            "doubled": self.doubled,
            "early": self.early,
            "per_second": round(self.per_second, 1),
            "recorded": self.recorded,
            "recorded_per_second": _rounded(self.recorded_per_second),
            "start_delay_ms": self.delays_ms.as_json() if self.delays_ms else None,
            "cpu_seconds": self.cpu_seconds,
            "scheduling_seconds": round(self.scheduling_seconds, 2),
        }


@dataclass(frozen=True, slots=True)
class Summary:
    """A contender's medians over its turns; of counts the worst turn."""

    contender: str
    turns: int
    count: int
    received: int
    doubled: int
    early: int
    per_second: float
    #: p50, p95, p99 and max in milliseconds; empty where nothing was due at a time of its own.
    delays_ms: dict[str, float]
    #: None where nothing is kept of a call.
    recorded_per_second: float | None
    #: Processor time for each webhook received by kind of process, microseconds, without the
    #: target.
    cpu_us: dict[str, float]

    @property
    def worker_cpu_us(self) -> float:
        """Microseconds of its workers alone."""
        return self.cpu_us.get("worker", 0.0)

    @property
    def all_cpu_us(self) -> float:
        """Microseconds of all its processes, servers included."""
        return sum(self.cpu_us.values())

    def as_json(self) -> dict[str, Any]:
        """Return the figures for the stored result."""
        return {
            "turns": self.turns,
            "count": self.count,
            "received": self.received,
            "doubled": self.doubled,
            "early": self.early,
            "per_second": round(self.per_second, 1),
            "start_delay_ms": {name: round(ms, 3) for name, ms in self.delays_ms.items()},
            "recorded_per_second": _rounded(self.recorded_per_second),
            "cpu_us": {kind: round(us, 1) for kind, us in self.cpu_us.items()},
            "cpu_us_all": round(self.all_cpu_us, 1),
        }


@dataclass(frozen=True, slots=True)
class Ratio:
    """Punctual beside one peer; a figure is None where it cannot be compared."""

    peer: str
    #: How many times the peer's webhooks a second.
    per_second: float | None
    #: How many times lower the start delay.
    p50: float | None
    p95: float | None
    p99: float | None

    def as_json(self) -> dict[str, float | None]:
        """Return the figures for the stored result."""
        return {
            "per_second": self.per_second,
            "p50_lower": self.p50,
            "p95_lower": self.p95,
            "p99_lower": self.p99,
        }


def turn_of(
    contender: str,
    plan: Plan,
    arrivals: Sequence[Arrival],
    *,
    timed: bool,
    recorded: Recorded | None = None,
) -> Turn:
    """Return the figures of a plan's arrivals; without ``timed`` the due times mean nothing."""
    seen = Counter(number for number, _ in arrivals)
    moments = [moment for _, moment in arrivals]
    delays = [moment / 1e6 - plan.due_ms(number) for number, moment in arrivals]
    return Turn(
        contender,
        plan.count,
        received=len(seen),
        doubled=len(arrivals) - len(seen),
        early=sum(delay < 0 for delay in delays) if timed else 0,
        per_second=rate(moments),
        delays_ms=distribution(delays) if timed else None,
        recorded=recorded.count if recorded else None,
        recorded_per_second=recorded_rate(recorded, moments) if recorded else None,
    )


def rate(moments_ns: Sequence[int]) -> float:
    """Return how many arrivals followed the first, per second until the last; 0 below two."""
    if len(moments_ns) < 2:
        return 0.0
    span = max(moments_ns) - min(moments_ns)
    return (len(moments_ns) - 1) / (span / 1e9) if span else 0.0


def recorded_rate(recorded: Recorded, moments_ns: Sequence[int]) -> float:
    """Return how many were recorded, per second from the first arrival to the last record."""
    span = recorded.at_ns - min(moments_ns, default=recorded.at_ns)
    return recorded.count / (span / 1e9) if span > 0 else 0.0


def summary_of(turns: Sequence[Turn]) -> Summary:
    """Return the medians of one contender's turns; ValueError without any."""
    if not turns:
        raise ValueError("no turns")
    timed = [turn.delays_ms for turn in turns if turn.delays_ms is not None]
    recorded = [one for turn in turns if (one := turn.recorded_per_second) is not None]
    return Summary(
        turns[0].contender,
        len(turns),
        turns[0].count,
        received=min(turn.received for turn in turns),
        doubled=max(turn.doubled for turn in turns),
        early=max(turn.early for turn in turns),
        per_second=statistics.median(turn.per_second for turn in turns),
        delays_ms={
            name: statistics.median(getattr(delays, name) for delays in timed)
            for name in PERCENTILES
            if timed
        },
        recorded_per_second=statistics.median(recorded) if recorded else None,
        cpu_us=cpu_us(turns),
    )


def cpu_us(turns: Sequence[Turn]) -> dict[str, float]:
    """Return the medians of the microseconds for each webhook received, by kind of process."""
    kinds = sorted({kind for turn in turns for kind in turn.cpu_seconds} - {TARGET})
    return {
        kind: statistics.median(
            turn.cpu_seconds.get(kind, 0.0) * 1e6 / max(1, turn.received) for turn in turns
        )
        for kind in kinds
    }


def ratios(summaries: Iterable[Summary]) -> list[Ratio]:
    """Return Punctual beside each peer; nothing where Punctual itself has no figures."""
    by_name = {one.contender: one for one in summaries}
    own = by_name.pop(OWN, None)
    if own is None:
        return []
    return [
        Ratio(
            peer.contender,
            per_second=_times(own.per_second, peer.per_second),
            p50=_times(peer.delays_ms.get("p50"), own.delays_ms.get("p50")),
            p95=_times(peer.delays_ms.get("p95"), own.delays_ms.get("p95")),
            p99=_times(peer.delays_ms.get("p99"), own.delays_ms.get("p99")),
        )
        for peer in by_name.values()
    ]


def _rounded(value: float | None) -> float | None:
    return round(value, 1) if value is not None else None


def _times(value: float | None, of: float | None) -> float | None:
    return round(value / of, 3) if value is not None and of else None
