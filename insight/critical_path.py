"""The critical path of a run: the steps whose times its duration is made of, one after the other.

Pure: from when steps ended, and which are under way.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from datetime import datetime

from tasks.workflow.graph import Graph


def critical_path(graph: Graph, ended: Mapping[int, datetime], last: int | None) -> list[int]:
    """Return the steps of the path in their order, found from the last one back.

    ``ended`` are the ends of this take's steps. A step waited for the prerequisite that ended last.
    """
    found: list[int] = []
    while last is not None:
        found.append(last)
        last = latest(graph.steps[last].depends_on, ended)
    return found[::-1]


def latest(numbers: Iterable[int], ended: Mapping[int, datetime]) -> int | None:
    """Return which of these steps ended last; None where none has ended."""
    known = [number for number in numbers if number in ended]
    return max(known, key=lambda number: (ended[number], number), default=None)
