"""Start delay at a steady rate, with what it costs in processor time and memory.

Measured at the receiver (arrival minus nominal time) and beside it as the product tells it.
Targets: p95 under 5 ms up to ten a second; p50 under 2, p95 under 5, p99 under 20 ms up to a
thousand; above p50 under 2, p99 under 150 ms. Run: ``python -m bench.steady --start``; with
``--beside-reader`` a transaction stays open from before the load to its end, so that nothing of
what is done can be cleaned away, and up to a thousand a second p99 has to stay under 50 ms.
"""

from __future__ import annotations

import argparse
import asyncio
import math
from contextlib import AbstractContextManager, nullcontext
from functools import partial
from typing import Any

from bench import (
    at_rest_reader,
    campaign,
    command_line,
    installation,
    report,
    stored_executions,
)
from bench.processes import Usage, usage
from operations.proof.campaign import ReadExecutions, until
from operations.proof.matcher import Fault
from operations.proof.oracle import Planned
from operations.proof.percentiles import Distribution, distribution
from operations.proof.workload import Window, steady

#: Up to each rate: under what the start delay has to stay, milliseconds.
_TARGETS_MS = (
    (10.0, {"p95": 5.0}),
    (1000.0, {"p50": 2.0, "p95": 5.0, "p99": 20.0}),
    (math.inf, {"p50": 2.0, "p99": 150.0}),
)
#: The same beside a transaction that stays open, up to a thousand a second.
_BESIDE_READER_UP_TO, _BESIDE_READER_MS = 1000.0, {"p99": 50.0}
#: The API lists a thousand executions a second. A longer run reads them from the database.
_MOST_LISTED = 400_000


def options(arguments: list[str]) -> argparse.Namespace:
    """Return the command line's options."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rate", type=float, default=100)
    parser.add_argument("--seconds", type=float, default=300)
    parser.add_argument(
        "--beside-reader", action="store_true", help="keep a transaction open meanwhile"
    )
    parser.add_argument(
        "--one-time-share",
        type=float,
        default=0.2,
        help="of the executions; each of their tasks is created meanwhile, by a request of its own",
    )
    installation.add_arguments(parser)
    report.add_arguments(parser)
    return parser.parse_args(arguments)


class Sampler:
    """Takes the processes' usage at the beginning and at the end of a window."""

    def __init__(self, product: installation.Installation) -> None:
        self._product = product
        self.first: Usage | None = None
        self.last: Usage | None = None

    async def __call__(self, window: Window) -> tuple[Fault, ...]:
        """Sample around the window; no fault is injected."""
        # Asked before the window: the command itself would disturb the measurement.
        kinds = await asyncio.to_thread(self._product.kinds)
        await until(window.begin_ms)
        self.first = await asyncio.to_thread(usage, kinds)
        await until(window.end_ms)
        self.last = await asyncio.to_thread(usage, kinds)
        return ()

    def figures(self) -> tuple[dict[str, float], dict[str, int]]:
        """Return processor seconds in the window and bytes at its end, by kind."""
        if self.first is None or self.last is None:
            return {}, {}
        return self.last.cpu_since(self.first), self.last.memory_bytes


def measure(product: installation.Installation, chosen: argparse.Namespace) -> int:
    """Run the load on an installation and publish; 1 when a promise or target was missed."""
    sampler = Sampler(product)

    def plan(window: Window) -> list[Planned]:
        return steady(window, chosen.rate, one_time_share=chosen.one_time_share)

    with _reader(product, chosen.beside_reader):
        read = _reads(product, chosen)
        outcome = asyncio.run(
            campaign.run(product, chosen.seconds, plan, sampler, read_executions=read)
        )
    verdict = outcome.verdict
    cpu, memory = sampler.figures()
    missed = missed_targets(chosen.rate, verdict.start_delay, chosen.beside_reader)
    passed = verdict.passed and not missed
    figures: dict[str, Any] = {
        "rate": chosen.rate,
        "seconds": chosen.seconds,
        "one_time_share": chosen.one_time_share,
        "beside_reader": chosen.beside_reader,
        **outcome.as_json(),
        "cpu_seconds": cpu,
        "memory_bytes": memory,
        "targets_missed": missed,
        "passed": passed,
    }
    beside = ", beside a transaction that stays open" if chosen.beside_reader else ""
    lines = [
        f"{chosen.rate:g} executions a second for {chosen.seconds:g} s{beside}",
        *report.verdict_lines(verdict),
        f"start delay as the product tells it: {distribution(verdict.product_delays_ms)}",
        *report.usage_lines(cpu, memory, chosen.seconds),
        *outcome.notes,
        *missed,
        "PASSED" if passed else "FAILED",
    ]
    report.publish("steady", figures, lines, chosen)
    return 0 if passed else 1


def _reader(product: installation.Installation, wanted: bool) -> AbstractContextManager[None]:
    return at_rest_reader.reading(product.database_url) if wanted else nullcontext()


def _reads(product: installation.Installation, chosen: argparse.Namespace) -> ReadExecutions | None:
    few = chosen.rate * chosen.seconds < _MOST_LISTED
    return None if few else partial(stored_executions.read, product.database_url)


def targets_ms(rate: float, beside_reader: bool = False) -> dict[str, float]:
    """Return under what the start delay has to stay at a rate, by percentile."""
    if beside_reader and rate <= _BESIDE_READER_UP_TO:
        return _BESIDE_READER_MS
    return next(limits for most, limits in _TARGETS_MS if rate <= most)


def missed_targets(rate: float, delays: Distribution, beside_reader: bool = False) -> list[str]:
    """Return a line for each percentile over its target at this rate."""
    return [
        f"target missed: {name} {getattr(delays, name):.2f} ms, not under {limit:g} ms"
        for name, limit in targets_ms(rate, beside_reader).items()
        if getattr(delays, name) >= limit
    ]


def main(arguments: list[str]) -> int:
    """Run the report from a command line."""
    chosen = options(arguments)
    with installation.opened(chosen) as product:
        return measure(product, chosen)


if __name__ == "__main__":
    command_line.run(main)
