"""The medians and ratios as lines for people."""

from __future__ import annotations

from collections.abc import Sequence

from bench.peers.figures import OWN, PERCENTILES, Ratio, Summary

_COLUMNS = (
    "webhooks/s",
    "recorded/s",
    "p50 ms",
    "p95 ms",
    "p99 ms",
    "max ms",
    "worker us",
    "all us",
    "received",
)
_NOTHING = "–"


def table(summaries: Sequence[Summary]) -> list[str]:
    """Return the medians, the fastest first; "us": processor time for each webhook."""
    lines = [f"{'':<18}" + "".join(f"{name:>14}" for name in _COLUMNS)]
    for one in sorted(summaries, key=lambda one: -one.per_second):
        line = f"{one.contender:<18}" + "".join(f"{cell:>14}" for cell in _cells(one))
        counts = ((one.early, "early"), (one.doubled, "doubled"))
        lines.append("  ".join([line, *(f"{count} {what}" for count, what in counts if count)]))
    return lines


def _cells(one: Summary) -> list[str]:
    recorded = one.recorded_per_second
    return [
        f"{one.per_second:.0f}",
        _NOTHING if recorded is None else f"{recorded:.0f}",
        *(f"{one.delays_ms[name]:.1f}" if one.delays_ms else _NOTHING for name in PERCENTILES),
        f"{one.worker_cpu_us:.0f}",
        f"{one.all_cpu_us:.0f}",
        f"{one.received}/{one.count}",
    ]


def cpu_lines(summaries: Sequence[Summary]) -> list[str]:
    """Return what a webhook costs each contender, by kind of process, the dearest first."""
    lines = []
    for one in summaries:
        parts = [
            f"{kind} {us:.1f}" for kind, us in sorted(one.cpu_us.items(), key=lambda pair: -pair[1])
        ]
        lines.append(
            f"{one.contender}: {one.all_cpu_us:.1f} us of processor a webhook"
            f" ({', '.join(parts) or 'nothing measured'})"
        )
    return lines


def ratio_lines(found: Sequence[Ratio]) -> list[str]:
    """Return Punctual beside each peer."""
    lines = []
    for one in found:
        parts = []
        if one.per_second is not None:
            parts.append(f"{one.per_second:.2f} times the webhooks a second")
        lower = (("p50", one.p50), ("p95", one.p95), ("p99", one.p99))
        parts += [f"{name} {times:.2f} times lower" for name, times in lower if times is not None]
        lines.append(f"{OWN} to {one.peer}: {', '.join(parts) or 'nothing to compare'}")
    return lines
