"""What Punctual has to reach in each scenario, by itself and beside its peers."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from bench.peers.celery_peers import CeleryBacklog
from bench.peers.contenders import BURST, STEADY, THROUGHPUT
from bench.peers.figures import OWN, Ratio, Summary
from bench.peers.node_peers import BullMq, GraphileWorker
from bench.steady import targets_ms

#: Of the start delay of a burst, milliseconds, under which it has to stay.
_BURST_MS = {"p50": 300.0, "p95": 550.0, "p99": 600.0}
#: Executions in the ledger a second.
_RECORDED = {THROUGHPUT: 8000.0}
#: By scenario and peer: how many times its rate, and how many times lower each percentile.
_TIMES = {
    BURST: {
        BullMq.name: {"per_second": 1.7, "p99": 2.0},
        GraphileWorker.name: {"p50": 1.0, "p95": 1.0, "p99": 1.0},
    },
    THROUGHPUT: {CeleryBacklog.name: {"per_second": 8.0}},
}


def missed_targets(
    scenario: str, rate: float, summaries: Sequence[Summary], ratios: Sequence[Ratio]
) -> list[str]:
    """Return a line for each target that was missed; what did not take part misses nothing.

    ``rate`` is the steady one.
    """
    own = next((one for one in summaries if one.contender == OWN), None)
    if own is None:
        return []
    found = [*_alone(scenario, rate, own), *_beside(_TIMES.get(scenario, {}), ratios)]
    return [f"target missed: {line}" for line in found]


def _alone(scenario: str, rate: float, own: Summary) -> Iterator[str]:
    delays = {BURST: _BURST_MS, STEADY: targets_ms(rate)}.get(scenario, {})
    for name, limit in delays.items():
        delay = own.delays_ms[name]
        if delay >= limit:
            yield f"{name} {delay:.1f} ms, not under {limit:g} ms"
    least = _RECORDED.get(scenario)
    recorded = own.recorded_per_second or 0.0
    if least is not None and recorded < least:
        yield f"{recorded:.0f} recorded a second, not {least:.0f}"


def _beside(targets: dict[str, dict[str, float]], ratios: Sequence[Ratio]) -> Iterator[str]:
    for ratio in ratios:
        for name, least in targets.get(ratio.peer, {}).items():
            times = getattr(ratio, name)
            if times is not None and times < least:
                yield f"{name} {times:.2f} times as good as {ratio.peer}, not {least:g} times"
