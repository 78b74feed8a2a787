"""The figures as lines for people."""

from __future__ import annotations

from collections.abc import Sequence

from bench.peers.figures import OWN, PERCENTILES
from bench.workflows.peers.figures import Counts, Summary

_NAME_WIDTH, _WIDTH = 16, 14
_COLUMNS = (
    *(f"{name} ms" for name in PERCENTILES),
    "steps/s",
    "calls/s",
    "killed: lost",
    "again",
    "early",
    "last after s",
)
_NOTHING = "–"


def table(summaries: Sequence[Summary]) -> list[str]:
    """Return a line for each contender: gaps in chains, steps a second, what a kill has cost."""
    lines = [_line("", _COLUMNS)]
    for one in summaries:
        lines.append(_line(one.contender, _cells(one)))
        if not one.counts.flawless:
            lines.append(f"  {one.contender} without a kill: {told(one.counts)}")
    return lines


def _line(name: str, cells: Sequence[str]) -> str:
    return f"{name:<{_NAME_WIDTH}}" + "".join(f"{cell:>{_WIDTH}}" for cell in cells)


def _cells(one: Summary) -> list[str]:
    killed = one.killed
    return [
        *(f"{one.gaps_ms[name]:.1f}" if one.gaps_ms else _NOTHING for name in PERCENTILES),
        _number(one.steps_per_second, 0),
        _number(one.calls_per_second, 0),
        f"{killed.lost} of {killed.steps}" if killed else _NOTHING,
        str(killed.again) if killed else _NOTHING,
        str(killed.early) if killed else _NOTHING,
        _number(one.until_last_seconds, 1),
    ]


def told(counts: Counts) -> str:
    """Return what has come of steps, in words."""
    return (
        f"{counts.executed} of {counts.steps} steps executed, {counts.again} again,"
        f" {counts.early} before their time"
    )


def beside_lines(summaries: Sequence[Summary]) -> list[str]:
    """Return each peer's gaps and rate beside Punctual's, without a judgement."""
    own = next((one for one in summaries if one.contender == OWN), None)
    if own is None:
        return []
    return [
        f"{OWN} to {one.contender}: {', '.join(_ratios(own, one)) or 'nothing to compare'}"
        for one in summaries
        if one is not own
    ]


def _ratios(own: Summary, peer: Summary) -> list[str]:
    found = [
        f"{name} {peer.gaps_ms[name] / own.gaps_ms[name]:.2f} times lower"
        for name in ("p50", "p95", "p99")
        if own.gaps_ms.get(name) and name in peer.gaps_ms
    ]
    if own.steps_per_second and peer.steps_per_second:
        found.append(f"{own.steps_per_second / peer.steps_per_second:.2f} times the steps a second")
    return found


def _number(value: float | None, digits: int) -> str:
    return _NOTHING if value is None else f"{value:.{digits}f}"
