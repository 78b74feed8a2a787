"""Percentiles of measured values, by nearest rank: every figure is a measured value."""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import asdict, dataclass


@dataclass(frozen=True, slots=True)
class Distribution:
    """The reported figures of a list of measurements; all zero where there are none."""

    count: int = 0
    p50: float = 0.0
    p95: float = 0.0
    p99: float = 0.0
    max: float = 0.0

    def as_json(self) -> dict[str, float]:
        """Return the figures, rounded to microseconds when the unit is milliseconds."""
        return {name: round(value, 3) for name, value in asdict(self).items()}

    def __str__(self) -> str:
        """Return one line in milliseconds."""
        return (
            f"p50 {self.p50:.2f} ms, p95 {self.p95:.2f} ms, p99 {self.p99:.2f} ms, "
            f"max {self.max:.2f} ms ({self.count} values)"
        )


def percentile(ordered: list[float], share: float) -> float:
    """Return the smallest value that at least this share (0 to 1) of the sorted values reach."""
    if not ordered:
        raise ValueError("no values")
    return ordered[max(0, math.ceil(share * len(ordered)) - 1)]


def distribution(values: Iterable[float]) -> Distribution:
    """Return the reported figures of the values."""
    ordered = sorted(values)
    if not ordered:
        return Distribution()
    return Distribution(
        len(ordered),
        percentile(ordered, 0.50),
        percentile(ordered, 0.95),
        percentile(ordered, 0.99),
        ordered[-1],
    )
