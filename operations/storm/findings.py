"""The findings of a storm: the figures, and each broken promise in a sentence.

Pure. The verdict is that of ``proof.matcher``: the product's own record counts only where it
contradicts the receiver's ledger.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from operations.proof import oracle
from operations.proof.campaign import Outcome
from operations.proof.matcher import Fault
from operations.proof.percentiles import distribution
from operations.storm.order import Order
from operations.storm.takeover import Instant, Takeover
from shared.commands import table

#: Label of the matcher -> its meaning here.
_BROKEN = {
    "lost": "never ran",
    "skipped": "were skipped",
    "dup": "ran twice without a strike to blame, or under another key",
    "phantom": "are recorded as succeeded, but the receiver never got them",
    "wrong": "ended differently from what the receiver answered",
    "unrecorded": "ran, but are not recorded as succeeded",
    "early": "began before their time",
    "extra": "requests or executions belong to no instant, or came with another body",
}
_EXAMPLES = 3


@dataclass(frozen=True, slots=True)
class Findings:
    """A storm that has passed."""

    order: Order
    outcome: Outcome
    faults: tuple[Fault, ...]
    takeovers: list[Takeover]
    refused: Mapping[str, int]
    recovered: bool

    @property
    def in_flight_at_strikes(self) -> int:
        """Return how many requests had been sent, but perhaps not recorded, at a strike.

        Each counts once, even if it went through several strikes.
        """
        return sum(
            any(fault.doubts(arrival) for fault in self.faults) for arrival in self.outcome.arrivals
        )

    @property
    def broken(self) -> list[str]:
        """Return the broken promises in sentences; none where all were kept."""
        verdict = self.outcome.verdict
        found = [
            f"{verdict.labels[label]} {what}"
            for label, what in _BROKEN.items()
            if verdict.labels[label]
        ]
        if verdict.duplicates > self.in_flight_at_strikes:
            found.append(
                f"{verdict.duplicates} ran twice, {self.in_flight_at_strikes} were in flight"
            )
        found += [
            f"takeover after {one.strike.name} took {one.seconds:.1f} s "
            f"(at most {one.most_seconds:g} s){_last(one)}"
            for one in self.takeovers
            if one.seconds is not None and not one.kept
        ]
        if not self.recovered:
            found.append("not everything ran again after the last strike")
        return [*found, *self.outcome.notes]

    def as_json(self) -> dict[str, Any]:
        """Return the document of ``--json``."""
        verdict, order = self.outcome.verdict, self.order
        return {
            "kept": not self.broken,
            "broken": self.broken,
            "seconds": order.seconds,
            "rate": order.rate,
            "seed": order.seed,
            "tasks": self.outcome.accepted,
            "expected": verdict.expected,
            "run": verdict.run,
            "missed": verdict.missed,
            "duplicate": verdict.duplicates,
            "duplicate_attributed": verdict.labels["dup_attributed"],
            "in_flight_at_strikes": self.in_flight_at_strikes,
            "early": verdict.labels["early"],
            "late": verdict.labels["late"],
            "start_delay_ms": verdict.start_delay.as_json(),
            "slowest_takeover_seconds": _rounded(self._slowest),
            "quiet_after_seconds": round(self.outcome.quiet_after_seconds, 1),
            "refused": dict(self.refused),
            "strikes": [_strike(one) for one in self.takeovers],
            "examples": {
                label: lines[:_EXAMPLES]
                for label, lines in sorted(verdict.examples.items())
                if label in _BROKEN and lines
            },
        }

    def lines(self) -> Iterator[str]:
        """Yield the figures for people."""
        verdict = self.outcome.verdict
        yield from table(("COUNT", "", ""), self._counts())
        yield ""
        yield from table(
            ("STRUCK", "TIMES", "TAKEOVER (MEDIAN)", "TAKEOVER (SLOWEST)"), self._by_kind()
        )
        yield ""
        for label, examples in sorted(verdict.examples.items()):
            if label in _BROKEN:
                yield from (f"{label}: {text}" for text in examples[:_EXAMPLES])
        yield from (f"BROKEN: {sentence}" for sentence in self.broken)
        if not self.broken:
            yield "Every promise was kept."

    @property
    def _slowest(self) -> float | None:
        return max((one.seconds for one in self.takeovers if one.seconds is not None), default=None)

    def _counts(self) -> Iterator[tuple[str, int, str]]:
        verdict = self.outcome.verdict
        refused = ", ".join(f"{count} {kind}" for kind, count in sorted(self.refused.items()))
        yield "expected", verdict.expected, f"of {self.outcome.accepted} tasks"
        yield "run", verdict.run, ""
        yield "missed", verdict.missed, "must be 0"
        yield (
            "duplicate",
            verdict.duplicates,
            f"at most the requests in flight at strikes: {self.in_flight_at_strikes}",
        )
        yield "early", verdict.labels["early"], "must be 0"
        yield "late", verdict.labels["late"], f"over 1 s; start delay {verdict.start_delay}"
        yield "refused", sum(self.refused.values()), f"stale writes: {refused or 'none'}"

    def _by_kind(self) -> Iterator[tuple[str, int, str, str]]:
        kinds: dict[str, list[float]] = {}
        for one in self.takeovers:
            kinds.setdefault(one.strike.kind, []).append(one.seconds or 0.0)
        for kind, seconds in sorted(kinds.items()):
            figures = distribution(seconds)
            yield kind, figures.count, f"{figures.p50:.1f} s", f"{figures.max:.1f} s"


def _strike(one: Takeover) -> dict[str, Any]:
    return {
        "kind": one.strike.kind,
        "name": one.strike.name,
        "at": _text(one.strike.at_ns),
        "takeover_seconds": _rounded(one.seconds),
        "most_seconds": one.most_seconds,
        "last": one.last and _instant(one.last),
    }


def _instant(one: Instant) -> dict[str, str]:
    return {"task_id": one.task_id, "due": _text(one.due_ns), "began": _text(one.began_ns)}


def _last(one: Takeover) -> str:
    if one.last is None:
        return ""
    return (
        f": task {one.last.task_id}, due {_text(one.last.due_ns)}, began {_text(one.last.began_ns)}"
    )


def _text(moment_ns: int) -> str:
    return oracle.to_text(moment_ns // 1_000_000)


def _rounded(seconds: float | None) -> float | None:
    return None if seconds is None else round(seconds, 2)
