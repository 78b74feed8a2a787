"""Two installations that are measured in turn: one is empty, in the other tasks lie at rest.

Each has a process of this report that has entered it, since a process can use the models of one
installation only.
"""

from __future__ import annotations

import argparse
import multiprocessing
import statistics
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any, ParamSpec, TypeVar

from bench.installation import Installation, InstallationError
from bench.members import enter

P = ParamSpec("P")
T = TypeVar("T")


@dataclass(slots=True)
class Measured:
    """What was measured: figures that are judged, blocks looked at, and the tasks that waited."""

    figures: dict[str, float] = field(default_factory=dict)
    blocks: dict[str, float] = field(default_factory=dict)
    faults: list[str] = field(default_factory=list)
    tasks: int = 0

    @staticmethod
    def median(rounds: Sequence[Measured]) -> Measured:
        """Return the medians of rounds that measured the same, with the faults of all."""
        return Measured(
            _medians([one.figures for one in rounds]),
            _medians([one.blocks for one in rounds]),
            [fault for one in rounds for fault in one.faults],
        )


class Side:
    """An installation, the process that has entered it, and the ground that was made there."""

    def __init__(self, product: Installation, process: ProcessPoolExecutor) -> None:
        self.product = product
        self._process = process
        self.ground: Any = None

    @classmethod
    @contextmanager
    def opened(cls, product: Installation) -> Iterator[Side]:
        """Yield a side whose process ends with the block."""
        # Not forked: it is to set up the framework for itself.
        spawn = multiprocessing.get_context("spawn")
        with ProcessPoolExecutor(1, spawn, initializer=enter, initargs=(product,)) as process:
            yield cls(product, process)

    def call(self, function: Callable[P, T], *args: P.args, **kwargs: P.kwargs) -> T:
        """Run a function in the side's process, and return or raise what it does.

        Raise InstallationError where that process could not enter, or has died.
        """
        try:
            return self._process.submit(function, *args, **kwargs).result()
        except BrokenProcessPool as error:
            raise InstallationError(f"the process of an installation is gone: {error}") from error


def in_turn(
    sides: Sequence[Side],
    parts: Mapping[Callable[[Any, argparse.Namespace], Measured], int],
    chosen: argparse.Namespace,
) -> list[Measured]:
    """Measure one part after the other, each by all sides in turn; return each side's medians.

    A part is measured as often as its turns say, times the rounds.
    """
    found = [Measured() for _ in sides]
    for part, turns in parts.items():
        rounds = [
            [side.call(part, side.ground, chosen) for side in sides]
            for _ in range(chosen.rounds * turns)
        ]
        for whole, taken in zip(found, zip(*rounds, strict=True), strict=True):
            median = Measured.median(taken)
            whole.figures |= median.figures
            whole.blocks |= median.blocks
            whole.faults += median.faults
    return found


def _medians(rounds: Sequence[dict[str, float]]) -> dict[str, float]:
    return {name: statistics.median(one[name] for one in rounds) for name in rounds[0]}
