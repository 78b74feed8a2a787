"""A small tenant beside a large one that loads the installation: what the large one costs it.

The small tenant B runs 50 executions a second and makes 30 mixed calls a second; it is measured
alone and beside the large tenant A, in turns. A has a backlog of 100,000, or one of calls that take
30 seconds, or creates 1,000 tasks a second by bulk calls or 150 by single ones, or has 10,000
failures a minute; each without quotas, and with quotas below that. B's start delay p95 may be 50 ms
above what it is alone, its API p99 has to stay below twice what it is alone; the medians of all
turns alone count. A's calls take a tenth of a second, so that slots are scarce and not the
processor of a small machine. What the report itself takes of it, receivers included, is told. With
``--beside-reader`` a transaction stays open, so that nothing of what is done can be cleaned away.
Run: ``python -m bench.isolation --start`` (``--only backlog hangs``, ``--quotas off``).
"""

from __future__ import annotations

import argparse
import asyncio
import os
import statistics
import time
from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from typing import Any

from bench import at_rest_reader, command_line, installation, report, saturation
from bench.isolation_loads import KINDS, QUOTAS, Case, Loads, loaded
from bench.isolation_small import Delays, call_steadily, create_recurring, until_arrived
from bench.members import Member, enter, make_member
from bench.processes import usage
from operations.proof.percentiles import Distribution, distribution

#: By how much B's start delay p95 may rise, and how many times its API p99 has to stay below.
MOST_MS, TIMES = 50.0, 2.0
_DRIVER = "driver"
_WARM_SECONDS = 10.0
#: Behind a load, until what it has left to be done is done.
_QUIET_SECONDS = 3.0


@dataclass(frozen=True, slots=True)
class Window:
    """What B has seen in some seconds, and what processes used meanwhile."""

    delay: Distribution
    latency: Distribution
    #: Executions that did not arrive in time, and calls that got no good answer.
    lacking: int
    refused: int
    cpu_seconds: Mapping[str, float]
    seconds: float

    def as_json(self) -> dict[str, Any]:
        """Return the figures for the stored result."""
        return {
            "delay_ms": self.delay.as_json(),
            "latency_ms": self.latency.as_json(),
            "lacking": self.lacking,
            "refused": self.refused,
            "cpu_seconds": dict(self.cpu_seconds),
        }

    def __str__(self) -> str:
        """Return one line for people."""
        cores = {kind: used / self.seconds for kind, used in self.cpu_seconds.items()}
        driver, product = cores.pop(_DRIVER, 0.0), sum(cores.values())
        return (
            f"start delay p50 {self.delay.p50:.1f}, p95 {self.delay.p95:.1f}, "
            f"API p50 {self.latency.p50:.1f}, p99 {self.latency.p99:.1f} ms; "
            f"cores: product {product:.2f}, this report {driver:.2f}"
        )


@dataclass(frozen=True, slots=True)
class Alone:
    """What B waits for alone: the medians of the turns."""

    delay_p95: float
    latency_p99: float

    @classmethod
    def of(cls, windows: Sequence[Window]) -> Alone:
        """Return the medians of some windows."""
        return cls(
            statistics.median(one.delay.p95 for one in windows),
            statistics.median(one.latency.p99 for one in windows),
        )


def faults_of(alone: Alone, beside: Window) -> list[str]:
    """Return a line for each limit that B's window beside A misses."""
    found = []
    most = alone.delay_p95 + MOST_MS
    if beside.delay.p95 > most:
        found.append(f"start delay p95 {beside.delay.p95:.1f} ms, over {most:.1f}")
    below = alone.latency_p99 * TIMES
    if beside.latency.p99 >= below:
        found.append(f"API p99 {beside.latency.p99:.1f} ms, not below {below:.1f}")
    if beside.lacking or beside.refused:
        found.append(f"{beside.lacking} executions lacking, {beside.refused} calls refused")
    return found


def options(arguments: list[str]) -> argparse.Namespace:
    """Return the command line's options."""
    parser = argparse.ArgumentParser(prog="python -m bench.isolation", description=__doc__)
    parser.add_argument("--only", nargs="+", choices=KINDS, default=list(KINDS))
    parser.add_argument("--quotas", nargs="+", choices=("off", "on"), default=["off", "on"])
    parser.add_argument("--seconds", type=float, default=20, help="of each window")
    parser.add_argument("--rounds", type=command_line.above_zero, default=1, help="of each case")
    parser.add_argument("--rate", type=float, default=50, help="B's executions a second")
    parser.add_argument("--calls", type=float, default=30, help="B's calls a second")
    parser.add_argument("--backlog", type=command_line.above_zero, default=100_000)
    parser.add_argument("--call-ms", type=int, default=100, help="A's calls take this long")
    parser.add_argument(
        "--beside-reader", action="store_true", help="keep a transaction open meanwhile"
    )
    parser.add_argument("--schedulers", type=command_line.above_zero, default=1)
    parser.add_argument(
        "--capacity", type=command_line.above_zero, default=50, help="slots of the one worker"
    )
    installation.add_arguments(parser)
    report.add_arguments(parser)
    return parser.parse_args(arguments)


def cases_of(chosen: argparse.Namespace) -> list[Case]:
    """Return the cases to run, in order."""
    return [
        Case(kind, quotas == "on")
        for _ in range(chosen.rounds)
        for kind in chosen.only
        for quotas in chosen.quotas
    ]


class Stand:
    """The installation, with the small tenant on it."""

    def __init__(self, product: installation.Installation, member: Member, delays: Delays) -> None:
        self._product = product
        self._member = member
        self._delays = delays
        # Asked once: the command itself would disturb a window.
        self._kinds = product.kinds() | {os.getpid(): _DRIVER}

    def window(self, chosen: argparse.Namespace) -> Window:
        """Measure B for some seconds."""
        return asyncio.run(self._window(chosen.calls, chosen.seconds))

    async def _window(self, calls: float, seconds: float) -> Window:
        before, begin = usage(self._kinds), time.time()
        made = await call_steadily(self._product, self._member, calls, seconds)
        end = begin + seconds
        await asyncio.sleep(max(0.0, end - time.time()))
        used, lasted = usage(self._kinds).cpu_since(before), time.time() - begin
        await until_arrived(end)
        delays, lacking = self._delays.within(begin, end)
        return Window(
            distribution(delays),
            distribution(made.latencies),
            lacking,
            made.refused,
            used,
            lasted,
        )


def turns(
    stand: Stand, product: installation.Installation, chosen: argparse.Namespace
) -> tuple[list[Window], list[tuple[Case, Window, dict[str, int]]]]:
    """Measure alone and beside each case, in turns."""
    loads = Loads(chosen.backlog, chosen.call_ms, chosen.seconds)
    alone, beside = [], []
    for case in cases_of(chosen):
        saturation.wait(_QUIET_SECONDS)
        alone.append(stand.window(chosen))
        print(f"alone: {alone[-1]}", flush=True)
        with loaded(product, case, loads) as load:
            window = stand.window(chosen)
        beside.append((case, window, load.told))
        print(f"{case.name}: {window}; {load.told}", flush=True)
    saturation.wait(_QUIET_SECONDS)
    alone.append(stand.window(chosen))
    return alone, beside


def measure(product: installation.Installation, chosen: argparse.Namespace) -> int:
    """Measure everything and publish; 1 when a limit was missed."""
    enter(product)
    with ExitStack() as stack:
        target = stack.enter_context(installation.receiver())
        member = make_member()
        recurring = asyncio.run(create_recurring(product, member, target, chosen.rate))
        stand = Stand(product, member, Delays(recurring, target.ledger))
        saturation.wait(_WARM_SECONDS)
        stand.window(chosen)
        if chosen.beside_reader:
            stack.enter_context(at_rest_reader.reading(product.database_url))
        alone, beside = turns(stand, product, chosen)
    return publish(alone, beside, chosen)


def publish(
    alone: Sequence[Window],
    beside: Sequence[tuple[Case, Window, Mapping[str, int]]],
    chosen: argparse.Namespace,
) -> int:
    """Print and store what came of it; 1 when a limit was missed."""
    base = Alone.of(alone)
    faults = {
        f"{case.name} ({number})": found
        for number, (case, window, _) in enumerate(beside, 1)
        if (found := faults_of(base, window))
    }
    figures: dict[str, Any] = {
        "rate": chosen.rate,
        "calls": chosen.calls,
        "seconds": chosen.seconds,
        "backlog": chosen.backlog,
        "call_ms": chosen.call_ms,
        "capacity": chosen.capacity,
        "schedulers": chosen.schedulers,
        "beside_reader": chosen.beside_reader,
        "quotas": dict(QUOTAS),
        "alone_delay_p95_ms": round(base.delay_p95, 3),
        "alone_latency_p99_ms": round(base.latency_p99, 3),
        "alone": [one.as_json() for one in alone],
        "beside": [
            {"case": case.name, "large_tenant": dict(told), **window.as_json()}
            for case, window, told in beside
        ],
        "faults": faults,
        "passed": not faults,
    }
    lines = [
        f"B: {chosen.rate:g} executions and {chosen.calls:g} calls a second; A's calls take "
        f"{chosen.call_ms} ms, {chosen.capacity} slots, {chosen.schedulers} schedulers",
        f"alone, medians: start delay p95 {base.delay_p95:.1f}, API p99 {base.latency_p99:.1f} ms",
        *(f"{case.name}: {window}; A: {dict(told)}" for case, window, told in beside),
        *(f"MISSED: {name}: {'; '.join(found)}" for name, found in faults.items()),
        "FAILED" if faults else "PASSED",
    ]
    report.publish("isolation", figures, lines, chosen)
    return 1 if faults else 0


def main(arguments: list[str]) -> int:
    """Run the report from a command line."""
    chosen = options(arguments)
    with saturation.opened(chosen) as product:
        return measure(product, chosen)


if __name__ == "__main__":
    command_line.run(main)
