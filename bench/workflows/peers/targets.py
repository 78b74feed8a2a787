"""What Punctual's runs have to reach beside those of each peer."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from bench.peers.figures import OWN
from bench.workflows.peers.contenders import BullMqFlows, CeleryCanvas, Dbos
from bench.workflows.peers.figures import Summary

#: Peer -> percentiles of the gap that are lower, and rates that are higher. A peer's p50 that is a
#: hop in Redis is told and not judged.
LOWER: Mapping[str, tuple[str, ...]] = {
    Dbos.name: ("p50", "p95", "p99"),
    CeleryCanvas.name: ("p99",),
    BullMqFlows.name: ("p99",),
}
HIGHER: Mapping[str, tuple[str, ...]] = {Dbos.name: ("steps_per_second",)}


def missed_targets(summaries: Sequence[Summary]) -> list[str]:
    """Return a line for each target that was missed; what did not take part misses nothing."""
    by_name = {one.contender: one for one in summaries}
    own = by_name.get(OWN)
    if own is None:
        return []
    found = [*_alone(own)]
    for name in LOWER:
        if name in by_name:
            found += _beside(own, by_name[name])
    return [f"target missed: {line}" for line in found]


def _alone(own: Summary) -> Iterator[str]:
    if not own.counts.flawless:
        yield f"without a kill {own.counts}"
    if own.killed and (own.killed.lost or own.killed.early):
        yield f"behind a kill {own.killed}"


def _beside(own: Summary, peer: Summary) -> Iterator[str]:
    for name in LOWER[peer.contender]:
        if peer.gaps_ms and own.gaps_ms and own.gaps_ms[name] >= peer.gaps_ms[name]:
            yield (
                f"step to next {name} {own.gaps_ms[name]:.2f} ms,"
                f" {peer.contender} {peer.gaps_ms[name]:.2f} ms"
            )
    for name in HIGHER.get(peer.contender, ()):
        mine, other = getattr(own, name), getattr(peer, name)
        if mine is not None and other is not None and mine <= other:
            yield f"{name.replace('_', ' ')} {mine:.0f}, {peer.contender} {other:.0f}"
    if own.killed and peer.killed and _share(own) < _share(peer):
        yield f"behind a kill {own.killed.lost} steps lost, {peer.contender} {peer.killed.lost}"


def _share(one: Summary) -> float:
    """Return which share of the steps has survived a kill."""
    return one.killed.executed / one.killed.steps if one.killed else 0.0
