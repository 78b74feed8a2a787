"""The form of a metric in the catalogue."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum


class Type(StrEnum):
    """The types of metrics, as Prometheus names them."""

    COUNTER = "counter"
    GAUGE = "gauge"
    HISTOGRAM = "histogram"


@dataclass(frozen=True, slots=True)
class Metric:
    """One metric; ``known`` has the values of a label that has the same few for ever.

    A series whose labels are all known is there from the start, with zero. ``bounds_ms`` are the
    upper bounds of a histogram's buckets. ``help`` says what it counts, ``advice`` what to do.
    """

    name: str
    type: Type
    help: str
    advice: str
    labels: tuple[str, ...] = ()
    known: Mapping[str, Sequence[str]] | None = None
    bounds_ms: Sequence[int] = ()
    unit: str = ""
