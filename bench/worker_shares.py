"""How workers are shared: what the order costs, and how many slots to keep for other tenants.

The cost is that of one push and one pop, beside a single order for all tenants. The slots are
simulated: the product's own lanes, on a clock that the simulation moves. So are tenants of several
weights with few destinations, and destinations that hang. No claim, three tables.
Run: ``python -m bench.worker_shares`` (``--only cost``, ``slots`` or ``destinations``).
"""

from __future__ import annotations

import argparse
import heapq
import itertools
import math
import os
import random
import time
from collections import Counter
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

import django

from bench import command_line, report

TENANTS = (1, 10, 100, 10_000)
#: Parts of the slots that are kept, in the table.
PARTS = (0, 32, 16, 8, 4, 1)
_WAITING = 8000
_SEED = 20261130
#: Interval in which a worker gathers freed slots.
_GATHER_SECONDS = 0.01
#: Starts are compared after this time.
_SETTLED_SECONDS = 5.0


# --- What the order costs ------------------------------------------------------------------


class Cost(NamedTuple):
    """Microseconds of one push and one pop, with and without shares."""

    tenants: int
    shared: float
    single: float


def cost_of(tenants: int, rounds: int) -> Cost:
    """Return the cost beside a single order, each with a worker's full hold."""
    from shared.fair_order import FairOrder, PriorityOrder

    rows = _rows(tenants, rounds + _WAITING)
    fair: FairOrder[Any] = FairOrder(10)
    single: PriorityOrder[Any] = PriorityOrder(10)

    def push_fair(row: tuple[Any, ...]) -> None:
        fair.push(row[2], 1.0, row[3], row)

    def pop_fair() -> None:
        fair.first()
        fair.pop()
        fair.started()

    def push_single(row: tuple[Any, ...]) -> None:
        single.push(row[3], row)

    def pop_single() -> None:
        single.pop()
        single.started()

    return Cost(tenants, _timed(rows, push_fair, pop_fair), _timed(rows, push_single, pop_single))


def _rows(tenants: int, count: int) -> list[tuple[Any, ...]]:
    dice = random.Random(_SEED)
    names = [f"{number:036}" for number in range(tenants)]
    return [
        (float(number), number, dice.choice(names), dice.randrange(10)) for number in range(count)
    ]


def _timed(
    rows: list[tuple[Any, ...]],
    push: Callable[[tuple[Any, ...]], None],
    pop: Callable[[], None],
) -> float:
    for row in rows[:_WAITING]:
        push(row)
    began = time.process_time()
    for row in rows[_WAITING:]:
        push(row)
        pop()
    return (time.process_time() - began) / (len(rows) - _WAITING) * 1e6


# --- How many slots to keep ----------------------------------------------------------------


class Load(NamedTuple):
    """A tenant's calls: their seconds, and how many a second; None is an endless backlog.

    They go to ``destinations`` in turn; without a number each goes to one of its own.
    """

    tenant: str
    seconds: float
    rate: float | None = None
    weight: int = 1
    destinations: int | None = None


def weighted(*destinations: int) -> tuple[Load, ...]:
    """Return backlogs of quick calls of the weights 1, 2, 4, with a number of destinations each."""
    return tuple(
        Load(f"weight {weight}", 0.05, weight=weight, destinations=count)
        for weight, count in zip((1, 2, 4), destinations, strict=True)
    )


#: The last tenant of each is the one whose waits are told.
CASES: dict[str, tuple[Load, ...]] = {
    "quick beside one slow": (Load("slow", 30.0), Load("quick", 0.05, 100.0)),
    "quick beside three slow": (
        *(Load(f"slow-{number}", 30.0) for number in range(3)),
        Load("quick", 0.05, 100.0),
    ),
    "rare beside one slow": (Load("slow", 30.0), Load("rare", 0.05, 1 / 60)),
    "two quick backlogs": (Load("first", 0.05), Load("second", 0.05)),
}
#: Tenants of several weights, and destinations that hang: with the slots that are kept by default.
DESTINATIONS: dict[str, tuple[Load, ...]] = {
    "1:2:4, one destination each": weighted(1, 1, 1),
    "1:2:4, four each": weighted(4, 4, 4),
    "1:2:4, ten of the least": weighted(10, 1, 1),
    "1:2:4, ten of the greatest": weighted(1, 1, 10),
    "1:1, ten and one": (
        Load("ten", 0.05, destinations=10),
        Load("one", 0.05, destinations=1),
    ),
    "one hangs beside quick": (
        Load("slow", 30.0, destinations=1),
        Load("quick", 0.05, 100.0, destinations=1),
    ),
    "two hang beside quick": (
        Load("slow", 30.0, destinations=2),
        Load("quick", 0.05, 100.0, destinations=1),
    ),
    "one of weight 4 hangs": (
        Load("slow", 30.0, weight=4, destinations=1),
        Load("quick", 0.05, 100.0, destinations=1),
    ),
    "one hangs, same tenant": (
        Load("alone", 30.0, destinations=1),
        Load("alone", 0.05, 100.0, destinations=4),
    ),
}


class Found(NamedTuple):
    """What a simulation found: waits of the last load in seconds, and calls a second of all.

    ``starts`` are those of each load after the first seconds; ``held`` the slots that it has in
    the mean.
    """

    p50: float
    p95: float
    rate: float
    busy: float
    starts: tuple[int, ...]
    held: tuple[float, ...]


class Simulation:
    """A worker's lanes with slots, tenants and a clock of its own."""

    def __init__(self, slots: int, kept: int, loads: tuple[Load, ...], seconds: float) -> None:
        from worker.lanes import Lanes

        self._lanes: Any = Lanes()
        self._lanes._shares.kept = self._lanes._ready._credit = kept
        self._lanes._slots = slots
        self._slots, self._loads, self._seconds = slots, loads, seconds
        self._now, self._flying = 0.0, 0
        #: The end, number, work and load of each call under way.
        self._ends: list[tuple[float, int, Any, int]] = []
        self._waits: list[list[float]] = [[] for _ in loads]
        self._starts, self._held, self._used = Counter[int](), Counter[int](), Counter[int]()
        self._backlog: Counter[int] = Counter()
        self._numbers = itertools.count()
        self._dice = random.Random(_SEED)

    def run(self) -> Found:
        """Run until the time is up."""
        arrivals = heapq.merge(
            *(self._arrivals(number) for number, load in enumerate(self._loads) if load.rate)
        )
        following = next(arrivals, (math.inf, 0))
        while self._now < self._seconds:
            while following[0] <= self._now:
                self._put(following[1], following[0])
                following = next(arrivals, (math.inf, 0))
            self._fill()
            self._take()
            for load, held in self._held.items():
                self._used[load] += held
            self._now += _GATHER_SECONDS
            while self._ends and self._ends[0][0] <= self._now:
                _, _, work, load = heapq.heappop(self._ends)
                self._lanes.ended(work)
                self._flying -= 1
                self._held[load] -= 1
        return self._found()

    def _arrivals(self, number: int) -> Iterator[tuple[float, int]]:
        rate = self._loads[number].rate
        assert rate  # noqa: S101 - asked before
        # Each tenant has run something before the others fill the slots.
        yield (0.0, number)
        for call in itertools.count(1):
            at = call / rate
            if at > self._seconds:
                return
            yield (at, number)

    def _fill(self) -> None:
        """Keep more of each backlog waiting than can start; not before the others have run."""
        if self._now < 1.0:
            return
        for number, load in enumerate(self._loads):
            while load.rate is None and self._backlog[number] < self._slots:
                self._put(number, self._now)

    def _put(self, load: int, at: float) -> None:
        from worker.entries import Held

        number = next(self._numbers)
        mine = self._loads[load]
        host = f"{number}.example"
        if mine.destinations:
            host = f"{number % mine.destinations}.{load}.example"
        entry: Any = {
            "tenant": mine.tenant,
            "destination": host,
            "start_by": 1e15,
            "load": load,
            "weight": mine.weight,
        }
        held = Held(at, 5, number, entry, entry)
        self._backlog[load] += 1
        self._lanes.put(held)

    def _take(self) -> None:
        for held in self._lanes.take(self._slots - self._flying, self._now):
            load = held.entry["load"]
            self._backlog[load] -= 1
            self._waits[load].append(self._now - held.due)
            self._starts[load] += self._now >= _SETTLED_SECONDS
            seconds = self._loads[load].seconds * self._dice.uniform(0.5, 1.5)
            heapq.heappush(self._ends, (self._now + seconds, held.nonce, held, load))
            self._flying += 1
            self._held[load] += 1

    def _found(self) -> Found:
        last = len(self._loads) - 1
        waits = sorted(self._waits[last])
        # Work that never started has waited until the end, at least.
        waits += [self._seconds] * (self._backlog[last] if self._loads[last].rate else 0)
        passes = self._seconds / _GATHER_SECONDS
        return Found(
            waits[len(waits) // 2],
            waits[int(len(waits) * 0.95)],
            sum(len(one) for one in self._waits) / self._seconds,
            self._used.total() / passes / self._slots,
            tuple(self._starts[number] for number in range(len(self._loads))),
            tuple(round(self._used[number] / passes, 1) for number in range(len(self._loads))),
        )


def kept_of_part(slots: int, part: int) -> int:
    """Return the slots that are kept: one in ``part`` of all, none for 0."""
    return slots // part if part else 0


# --- The report ----------------------------------------------------------------------------


def main(arguments: list[str]) -> int:
    """Print the tables and store them."""
    parser = argparse.ArgumentParser(description=__doc__, prog="python -m bench.worker_shares")
    parser.add_argument("--only", choices=("cost", "slots", "destinations"))
    parser.add_argument("--rounds", type=int, default=200_000, help="pushes and pops a figure")
    parser.add_argument("--seconds", type=float, default=120.0, help="simulated seconds")
    report.add_arguments(parser)
    options = parser.parse_args(arguments)
    os.environ["DJANGO_SETTINGS_MODULE"] = "scheduler_site.settings_test"
    django.setup()
    figures: dict[str, Any] = {}
    if options.only in (None, "cost"):
        figures["cost"] = [cost_of(tenants, options.rounds)._asdict() for tenants in TENANTS]
    if options.only in (None, "slots"):
        figures["slots"] = _slots(options.seconds)
    if options.only in (None, "destinations"):
        figures["destinations"] = _destinations(options.seconds)
    report.publish("worker-shares", figures, list(_lines(figures)), options)
    return 0


def _slots(seconds: float) -> list[dict[str, Any]]:
    return [
        {"case": case, "slots": slots, "part": part}
        | Simulation(slots, kept_of_part(slots, part), loads, seconds).run()._asdict()
        for case, loads in CASES.items()
        for slots in (512, 64)
        for part in PARTS
    ]


def _destinations(seconds: float) -> list[dict[str, Any]]:
    from shared.slot_shares import kept_of

    return [
        {"case": case, "slots": slots, "errors": errors_of(loads, found.starts)} | found._asdict()
        for case, loads in DESTINATIONS.items()
        for slots in (512, 50)
        for found in (Simulation(slots, kept_of(slots), loads, seconds).run(),)
    ]


def errors_of(loads: tuple[Load, ...], starts: tuple[int, ...]) -> list[float]:
    """Return by how much the starts of each backlog differ from its share; none of other loads."""
    if any(load.rate for load in loads):
        return []
    weights, all_starts = sum(load.weight for load in loads), sum(starts)
    return [
        round(count * weights / (all_starts * load.weight) - 1, 3)
        for load, count in zip(loads, starts, strict=True)
    ]


def _lines(figures: dict[str, Any]) -> Iterator[str]:
    for row in figures.get("cost", ()):
        yield (
            f"{row['tenants']:>6} tenants  {row['shared']:5.2f} µs with shares"
            f"  {row['single']:5.2f} µs in a single order"
        )
    for row in figures.get("slots", ()):
        kept = f"1 in {row['part']}" if row["part"] else "none"
        yield (
            f"{row['case']:<26}{row['slots']:>4} slots, {kept:<8} kept:"
            f" p50 {row['p50']:7.3f} s  p95 {row['p95']:7.3f} s"
            f"  {row['rate']:8.1f}/s  {row['busy']:4.0%} busy"
        )
    for row in figures.get("destinations", ()):
        yield (
            f"{row['case']:<28}{row['slots']:>4} slots: p95 {row['p95']:7.3f} s"
            f"  {row['rate']:8.1f}/s  {row['busy']:4.0%} busy"
            f"  slots of each {row['held']}  errors {row['errors']}"
        )


if __name__ == "__main__":
    command_line.run(main)
