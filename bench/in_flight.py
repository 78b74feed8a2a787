"""Many requests in flight at once on one worker process, against a receiver that is slow to answer.

``--count`` one-time tasks come due within a second; each call takes the receiver two seconds. Every
one has to succeed with its first attempt; how many were in flight together is read from the
receiver's own ledger, memory and processor time of the worker from /proc while it runs.
Run: ``python -m bench.in_flight --start --count 10000``.
"""

from __future__ import annotations

import argparse
import asyncio
import heapq
import time
from collections.abc import Sequence
from typing import Any

from bench import command_line, installation, report
from bench.failing import create, hanging_task
from bench.members import enter, make_member
from bench.processes import usage
from operations.proof.client import ApiClient
from operations.proof.ledger import Arrival, read_arrivals
from operations.proof.percentiles import distribution

_LEAD_MS = 5000
_PATIENCE_SECONDS = 180.0
_SAMPLE_SECONDS = 0.25
#: Tasks created in a second, at least; how far ahead of the due time creating begins.
_CREATED_PER_SECOND = 500
#: Of the one worker process, with ten thousand in flight.
TARGET_MB = 250.0


def options(arguments: list[str]) -> argparse.Namespace:
    """Return the command line's options."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--count", type=int, default=10_000)
    parser.add_argument("--answer-ms", type=int, default=2000, help="how slow the receiver is")
    installation.add_arguments(parser)
    report.add_arguments(parser)
    return parser.parse_args(arguments)


def most_at_once(arrivals: Sequence[Arrival]) -> int:
    """Return the most requests that were between arrival and answer at one moment."""
    ends: list[int] = []
    most = 0
    for arrival in sorted(arrivals, key=lambda one: one.wall_ns):
        while ends and ends[0] <= arrival.wall_ns:
            heapq.heappop(ends)
        heapq.heappush(ends, arrival.answered_ns)
        most = max(most, len(ends))
    return most


def count_by_status(tenant_id: Any) -> dict[str, int]:
    """Return how many of the tenant's executions are in each state, of the first attempt."""
    from django.db.models import Count

    from executions.models import Execution

    rows = Execution.objects.for_tenant(tenant_id).filter(attempt__lte=1)
    found = rows.values_list("status").annotate(count=Count("id"))
    return {str(status): int(count) for status, count in found}


async def run_load(
    product: installation.Installation, member: Any, url: str, count: int
) -> tuple[int, dict[str, int], dict[str, float], int]:
    """Create, wait for the end; return due time, states, processor seconds, peak bytes."""
    at_ms = time.time_ns() // 1_000_000 + _LEAD_MS + count * 1000 // _CREATED_PER_SECOND
    async with ApiClient(product.base_url, member.api_key) as client:
        tasks = [hanging_task(url, at_ms + number % 1000, number) for number in range(count)]
        await create(client, tasks)
    kinds = await asyncio.to_thread(product.kinds)
    if time.time_ns() // 1_000_000 > at_ms - 3500:
        raise installation.InstallationError("creating took longer than was allowed for")
    first = usage(kinds)
    peak = 0
    deadline = time.monotonic() + _PATIENCE_SECONDS
    while True:
        now = usage(kinds)
        peak = max(peak, now.memory_bytes.get("worker", 0))
        states = await asyncio.to_thread(count_by_status, member.tenant_id)
        ended = states.get("SUCCEEDED", 0) + states.get("FAILED", 0)
        if ended >= count or time.monotonic() > deadline:
            return at_ms, states, now.cpu_since(first), peak
        await asyncio.sleep(_SAMPLE_SECONDS)


def measure(product: installation.Installation, chosen: argparse.Namespace) -> int:
    """Run and publish; 1 unless every execution succeeded at once, within the memory allowed."""
    enter(product)
    member = make_member()
    before = usage(product.kinds()).memory_bytes.get("worker", 0)
    with installation.receiver() as target:
        url = f"{target.url}/slow?ms={chosen.answer_ms}"
        at_ms, states, cpu, peak = asyncio.run(run_load(product, member, url, chosen.count))
        arrivals, strangers = read_arrivals(target.ledger)
    together = most_at_once(arrivals)
    late = distribution((one.wall_ns / 1e6 - one.at_ms) for one in arrivals)
    lasted = (max(one.answered_ns for one in arrivals) / 1e6 - at_ms) / 1000 if arrivals else 0.0
    good = states == {"SUCCEEDED": chosen.count} and len(arrivals) == chosen.count
    passed = good and not strangers and peak / 1e6 < TARGET_MB
    figures = {
        "count": chosen.count,
        "answer_ms": chosen.answer_ms,
        "states": states,
        "arrived": len(arrivals),
        "most_in_flight": together,
        "seconds": round(lasted, 1),
        "start_delay_ms": late.as_json(),
        "worker_cpu_seconds": cpu.get("worker", 0.0),
        "cpu_seconds": cpu,
        "worker_bytes_before": before,
        "worker_bytes_peak": peak,
        "bytes_per_request": round((peak - before) / max(1, together)),
        "passed": passed,
    }
    lines = [
        f"{chosen.count} executions due within a second, answered after {chosen.answer_ms} ms: "
        + ", ".join(f"{status} {count}" for status, count in sorted(states.items())),
        f"most in flight at once: {together}; all answered {lasted:.1f} s after the first was due",
        f"start delay at the receiver: {late}",
        f"worker: {cpu.get('worker', 0.0):.1f} s CPU, {before / 2**20:.0f} MiB before, "
        f"{peak / 2**20:.0f} MiB at most (target {TARGET_MB:g} MB), "
        f"{figures['bytes_per_request']} bytes for each in flight",
        "PASSED" if passed else "FAILED",
    ]
    report.publish("in-flight", figures, lines, chosen)
    return 0 if passed else 1


def main(arguments: list[str]) -> int:
    """Run the report from a command line."""
    chosen = options(arguments)
    installation.require_start(chosen)
    # One destination gets a part of the slots only; it is not what is measured here.
    capacity = str(2 * chosen.count)
    with installation.opened(chosen, WORKERS="1", WORKER_CAPACITY=capacity) as product:
        return measure(product, chosen)


if __name__ == "__main__":
    command_line.run(main)
