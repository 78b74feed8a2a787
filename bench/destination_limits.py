"""Limits and the circuit of a destination, exact over four worker processes.

A limit of 50 a second is held against the receiver's ledger over a minute (2 % allowed), a limit
of requests in flight at every moment, and a circuit that has opened lets probes through one at a
time. Run: ``python -m bench.destination_limits --start``.
"""

from __future__ import annotations

import argparse
import asyncio
import time
from collections.abc import Sequence
from typing import Any
from urllib.parse import urlsplit

from bench import command_line, installation, report
from bench.failing import create, failing_task
from bench.in_flight import most_at_once
from bench.members import Member, enter, make_member
from operations.proof.client import ApiClient
from operations.proof.ledger import Arrival, read_arrivals

_TOLERANCE = 0.02
_LEAD_MS = 3000
_DAY_MS = 86_400_000
_SETTLE_SECONDS = 3.0


def options(arguments: list[str]) -> argparse.Namespace:
    """Return the command line's options."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--workers", type=int, default=4)
    parser.add_argument("--rate", type=int, default=50)
    parser.add_argument("--in-flight", type=int, default=20)
    parser.add_argument("--seconds", type=float, default=60)
    installation.add_arguments(parser)
    report.add_arguments(parser)
    return parser.parse_args(arguments)


async def load(
    product: installation.Installation, member: Member, url: str, count: int, limits: dict[str, Any]
) -> None:
    """Set the limits, then create ``count`` executions that are due at once."""
    host = urlsplit(url).netloc
    async with ApiClient(product.base_url, member.api_key) as client:
        # A destination is known by the tasks that call it.
        await create(client, [failing_task(url, time.time_ns() // 1_000_000 + _DAY_MS, 0)])
        await client.expect(200, "PATCH", f"/v1/destinations/{host}", limits)
        at_ms = time.time_ns() // 1_000_000 + _LEAD_MS
        await create(client, [failing_task(url, at_ms, number) for number in range(count)])


def in_window(arrivals: Sequence[Arrival], begin: float, seconds: float) -> list[Arrival]:
    """Return what arrived in the ``seconds`` from ``begin`` (seconds since 1970) on."""
    low, high = begin * 1e9, (begin + seconds) * 1e9
    return [one for one in arrivals if low <= one.wall_ns < high]


def busiest_second(arrivals: Sequence[Arrival]) -> int:
    """Return the most arrivals within any second that begins with one of them."""
    moments = sorted(one.wall_ns for one in arrivals)
    most = first = 0
    for last, moment in enumerate(moments):
        while moment - moments[first] >= 1_000_000_000:
            first += 1
        most = max(most, last - first + 1)
    return most


async def rate_run(
    product: installation.Installation, member: Member, chosen: argparse.Namespace
) -> tuple[dict[str, Any], bool]:
    """Hold the rate against the ledger over the whole time."""
    count = round(chosen.rate * (chosen.seconds + 30))
    with installation.receiver() as target:
        limits = {"rate_per_second": chosen.rate}
        await load(product, member, f"{target.url}/ok", count, limits)
        await asyncio.sleep(_LEAD_MS / 1000 + _SETTLE_SECONDS)
        begin = time.time()
        await asyncio.sleep(chosen.seconds)
        arrivals = in_window(read_arrivals(target.ledger)[0], begin, chosen.seconds)
    expected = chosen.rate * chosen.seconds
    share = len(arrivals) / expected
    figures = {
        "rate": chosen.rate,
        "expected": expected,
        "arrived": len(arrivals),
        "share": round(share, 4),
        "busiest_second": busiest_second(arrivals),
    }
    return figures, abs(share - 1) <= _TOLERANCE


async def in_flight_run(
    product: installation.Installation, member: Member, chosen: argparse.Namespace
) -> tuple[dict[str, Any], bool]:
    """Hold the limit of requests in flight against every moment of the ledger."""
    limit = chosen.in_flight
    with installation.receiver() as target:
        limits = {"max_in_flight": limit}
        await load(product, member, f"{target.url}/slow?ms=200", limit * 50, limits)
        await asyncio.sleep(_LEAD_MS / 1000 + 20.0)
        arrivals, _ = read_arrivals(target.ledger)
    most = most_at_once(arrivals)
    figures = {
        "max_in_flight": limit,
        "arrived": len(arrivals),
        "most_in_flight": most,
        "expected": limit * 50,
    }
    return figures, most <= limit and len(arrivals) == limit * 50


async def circuit_run(
    product: installation.Installation, member: Member, chosen: argparse.Namespace
) -> tuple[dict[str, Any], bool]:
    """Let a destination fail, and count what reaches it while its circuit is open."""
    with installation.receiver() as target:
        await load(product, member, f"{target.url}/status/503", 2000, {"breaker": True})
        await asyncio.sleep(_LEAD_MS / 1000 + _SETTLE_SECONDS)
        begin = time.time()
        await asyncio.sleep(100.0)
        arrivals = in_window(read_arrivals(target.ledger)[0], begin, 100.0)
    # Thirty seconds open, then one probe, which fails and opens it again.
    figures = {"probes_in_100_s": len(arrivals), "most_in_flight": most_at_once(arrivals)}
    return figures, 2 <= len(arrivals) <= 4


def measure(product: installation.Installation, chosen: argparse.Namespace) -> int:
    """Run the three and publish; 1 when a limit did not hold."""
    enter(product)
    rate, rate_kept = asyncio.run(rate_run(product, make_member(), chosen))
    flight, flight_kept = asyncio.run(in_flight_run(product, make_member(), chosen))
    circuit, circuit_kept = asyncio.run(circuit_run(product, make_member(), chosen))
    passed = rate_kept and flight_kept and circuit_kept
    figures = {
        "workers": chosen.workers,
        "rate": rate,
        "in_flight": flight,
        "circuit": circuit,
        "passed": passed,
    }
    lines = [
        f"{chosen.workers} worker processes",
        f"limit {chosen.rate} a second: {rate['arrived']} in {chosen.seconds:g} s, "
        f"{100 * rate['share']:.2f} % of it; at most {rate['busiest_second']} within any second",
        f"limit {chosen.in_flight} in flight: at most {flight['most_in_flight']} "
        f"of {flight['arrived']}",
        f"open circuit: {circuit['probes_in_100_s']} requests in 100 s, at most "
        f"{circuit['most_in_flight']} at a time",
        "PASSED" if passed else "FAILED",
    ]
    report.publish("destination-limits", figures, lines, chosen)
    return 0 if passed else 1


def main(arguments: list[str]) -> int:
    """Run the report from a command line."""
    chosen = options(arguments)
    installation.require_start(chosen)
    with installation.opened(chosen, WORKERS=str(chosen.workers)) as product:
        return measure(product, chosen)


if __name__ == "__main__":
    command_line.run(main)
