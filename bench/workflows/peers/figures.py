"""From arrivals to figures: gaps in chains, steps a second, what a kill has cost."""

from __future__ import annotations

import statistics
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

from bench.peers.figures import PERCENTILES, rate
from bench.peers.target import Arrival
from bench.workflows.peers.shapes import STEPS, Runs, number_of, parents
from operations.proof.percentiles import Distribution, distribution


@dataclass(frozen=True, slots=True)
class Counts:
    """What has come of the steps of a plan, by the receiver's ledger."""

    steps: int
    #: Steps whose call has come.
    executed: int
    #: Calls beyond the first of each step.
    again: int
    #: Steps whose first call came before that of a step that they wait for.
    early: int

    @property
    def lost(self) -> int:
        """Steps whose call has not come."""
        return self.steps - self.executed

    @property
    def flawless(self) -> bool:
        """Whether every step was executed once, and none before its time."""
        return not (self.lost or self.again or self.early)

    def as_json(self) -> dict[str, int]:
        """Return the figures for the stored result."""
        return {**asdict(self), "lost": self.lost}


@dataclass(frozen=True, slots=True)
class Speed:
    """The figures of one turn without a kill."""

    contender: str
    #: From the call of a step, which is answered at once, to that of the next one.
    gaps_ms: Distribution
    chains: Counts
    #: From the moment for which all runs were asked to the call of the last step.
    steps_per_second: float
    #: The same from the first call on.
    calls_per_second: float
    graphs: Counts

    def as_json(self) -> dict[str, Any]:
        """Return the figures for the stored result."""
        return {
            "contender": self.contender,
            "step_to_next_ms": self.gaps_ms.as_json(),
            "chains": self.chains.as_json(),
            "steps_per_second": round(self.steps_per_second, 1),
            "calls_per_second": round(self.calls_per_second, 1),
            "graphs": self.graphs.as_json(),
        }


@dataclass(frozen=True, slots=True)
class Kill:
    """What came of runs in whose midst everything was killed and started again."""

    contender: str
    #: Steps executed when everything was killed.
    before: int
    #: From the kill until servers and workers were ready again.
    restart_seconds: float
    #: From the kill until the last step that was executed.
    until_last_seconds: float
    counts: Counts

    def as_json(self) -> dict[str, Any]:
        """Return the figures for the stored result."""
        return {
            "contender": self.contender,
            "before": self.before,
            "restart_seconds": round(self.restart_seconds, 1),
            "until_last_seconds": round(self.until_last_seconds, 1),
            **self.counts.as_json(),
        }


@dataclass(frozen=True, slots=True)
class Summary:
    """A contender's medians over its turns; of counts the sum over all of them."""

    contender: str
    gaps_ms: Mapping[str, float]
    steps_per_second: float | None
    calls_per_second: float | None
    #: Of the turns without a kill, both shapes together.
    counts: Counts
    #: None where nothing was killed.
    killed: Counts | None
    until_last_seconds: float | None

    def as_json(self) -> dict[str, Any]:
        """Return the figures for the stored result."""
        return {
            "step_to_next_ms": {name: round(ms, 3) for name, ms in self.gaps_ms.items()},
            "steps_per_second": self.steps_per_second,
            "calls_per_second": self.calls_per_second,
            **self.counts.as_json(),
            "killed": self.killed.as_json() if self.killed else None,
            "kill_to_last_step_seconds": self.until_last_seconds,
        }


def counts_of(runs: Runs, arrivals: Iterable[Arrival]) -> Counts:
    """Return what has come of a plan's steps."""
    first: dict[int, int] = {}
    calls = 0
    for number, moment in arrivals:
        calls += 1
        first.setdefault(number, moment)
    return Counts(
        runs.calls, len(first), again=calls - len(first), early=sum(_early(runs.shape, first))
    )


def _early(shape: str, first: Mapping[int, int]) -> Iterable[bool]:
    before = parents(shape)
    for number, moment in first.items():
        run, step = divmod(number, STEPS)
        needed = [first.get(number_of(run, one)) for one in before[step]]
        yield any(one is None or one > moment for one in needed)


def gaps_ms(arrivals: Iterable[Arrival]) -> list[float]:
    """Return how long after each step of a chain the next one was called, for the first calls."""
    first: dict[int, int] = {}
    for number, moment in arrivals:
        first.setdefault(number, moment)
    return [
        (first[number + 1] - moment) / 1e6
        for number, moment in first.items()
        if number % STEPS < STEPS - 1 and number + 1 in first
    ]


def per_second(runs: Runs, arrivals: Sequence[Arrival]) -> float:
    """Return the steps a second, from the moment for which the runs were asked until the last."""
    last = max((moment for _, moment in arrivals), default=0)
    span = last / 1e9 - runs.at_ms / 1000
    return len({number for number, _ in arrivals}) / span if span > 0 else 0.0


def speed_of(
    contender: str,
    chains: tuple[Runs, Sequence[Arrival]],
    graphs: tuple[Runs, Sequence[Arrival]],
) -> Speed:
    """Return the figures of a turn: the plan of chains and that of graphs with their calls."""
    return Speed(
        contender,
        distribution(gaps_ms(chains[1])),
        counts_of(*chains),
        steps_per_second=per_second(*graphs),
        calls_per_second=rate([moment for _, moment in graphs[1]]),
        graphs=counts_of(*graphs),
    )


def summary_of(contender: str, speeds: Sequence[Speed], kills: Sequence[Kill]) -> Summary:
    """Return the medians and sums of one contender."""
    return Summary(
        contender,
        {
            name: statistics.median(getattr(one.gaps_ms, name) for one in speeds)
            for name in PERCENTILES
            if speeds
        },
        _median([one.steps_per_second for one in speeds]),
        _median([one.calls_per_second for one in speeds]),
        counts=total([counts for one in speeds for counts in (one.chains, one.graphs)]),
        killed=total([one.counts for one in kills]) if kills else None,
        until_last_seconds=_median([one.until_last_seconds for one in kills]),
    )


def total(counts: Sequence[Counts]) -> Counts:
    """Return the sums."""
    return Counts(
        sum(one.steps for one in counts),
        sum(one.executed for one in counts),
        again=sum(one.again for one in counts),
        early=sum(one.early for one in counts),
    )


def _median(values: Sequence[float]) -> float | None:
    return round(statistics.median(values), 1) if values else None
