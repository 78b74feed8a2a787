"""The options of a storm, and the moments and kinds of its strikes, from a seed.

Pure. Every kind gets its turn before one comes again. After the last strike the load continues for
a while, so that the effects show.
"""

from __future__ import annotations

import random
from collections.abc import Iterator
from dataclasses import dataclass

#: Words of ``--kill`` -> kind of process, as ``manage.py ps`` names it.
KINDS = {
    "scheduler": "scheduler",
    "worker": "worker",
    "recorder": "recorder",
    "redis": "valkey",
    "postgres": "postgresql",
}
SERVERS = ("redis", "postgres")
#: Beside the kinds: the storm empties Redis at once (``--flush``).
FLUSH = "flush"
#: The load continues this long after the last strike, or a quarter of a short storm.
CALM_SECONDS = 10.0


@dataclass(frozen=True, slots=True)
class Order:
    """Length, load and kinds; ``every_seconds`` is the mean time between two strikes."""

    seconds: float
    kinds: tuple[str, ...]
    seed: int
    rate: float = 50.0
    every_seconds: float = 15.0
    flush: bool = False


@dataclass(frozen=True, slots=True)
class Moment:
    """When to strike; the kinds in the order in which they are tried."""

    after_seconds: float
    kinds: tuple[str, ...]


def moments(order: Order) -> list[Moment]:
    """Return the moments of a storm, at least one."""
    rng = random.Random(order.seed)  # noqa: S311 - a storm is to be repeatable, not secret
    kinds = (*order.kinds, FLUSH) if order.flush else order.kinds
    turns = _turns(kinds, rng)
    last = order.seconds - min(CALM_SECONDS, order.seconds / 4)
    after = order.every_seconds * rng.uniform(0.5, 1.5)
    found = []
    while after <= last:
        found.append(Moment(after, next(turns)))
        after += order.every_seconds * rng.uniform(0.5, 1.5)
    return found or [Moment(order.seconds / 3, next(turns))]


def _turns(kinds: tuple[str, ...], rng: random.Random) -> Iterator[tuple[str, ...]]:
    """Yield each kind first in turn, in an order that changes, the others behind it."""
    while True:
        for kind in rng.sample(kinds, len(kinds)):
            others = [other for other in kinds if other != kind]
            yield (kind, *rng.sample(others, len(others)))
