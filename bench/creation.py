"""Creating tasks: single calls at a steady rate, then bulk calls, and what they cost.

Single calls go out at their times whether or not earlier ones were answered (open loop), each
with an idempotency key; a latency counts from the call's time, so that a queue before the server
shows. Bulk calls follow one another. Beside them in the same run stands the raw limit: the same
rows of tasks written by plain INSERTs of a thousand. Every task created is counted in the
database. Run: ``python -m bench.creation --start``.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import time
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Any
from uuid import uuid4

import psycopg

from bench import command_line, installation, report
from bench.installation import Installation
from bench.processes import usage
from operations.proof.client import ApiClient
from operations.proof.percentiles import Distribution, distribution
from shared.garbage import collect_seldom

_P99_MS = 50.0
_BULK_PER_SECOND = 20_000
_CONNECTIONS = 64
_WARM_SECONDS = 3.0
#: Rows of one plain INSERT.
_RAW_ROWS = 1000
_COUNT = "SELECT count(*) FROM tasks WHERE name LIKE 'creation %'"
_RAW = """
INSERT INTO tasks (id, tenant_id, name, type, status, version, partition, priority, schedule,
    labels, pause_note, on_resume, last_execution_status)
SELECT overlay(id::text placing '8' from 15)::uuid, tenant_id, 'raw', type, status, version,
    partition, priority, schedule, labels, pause_note, on_resume, last_execution_status
FROM tasks WHERE name LIKE 'creation %%' ORDER BY id LIMIT %s OFFSET %s
"""


@dataclass(frozen=True, slots=True)
class Singles:
    """What the single calls gave."""

    latency: Distribution
    refused: int
    cpu_seconds: dict[str, float]
    count: int

    @property
    def cpu_ms(self) -> float:
        """Return the processor time of all processes per call."""
        return sum(self.cpu_seconds.values()) / max(1, self.count) * 1000


@dataclass(frozen=True, slots=True)
class Bulk:
    """What the bulk calls gave."""

    tasks: int
    seconds: float
    cpu_seconds: dict[str, float]

    @property
    def per_second(self) -> float:
        """Return how many tasks a second were created."""
        return self.tasks / self.seconds


def options(arguments: list[str]) -> argparse.Namespace:
    """Return the command line's options."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rate", type=int, default=200, help="single calls a second")
    parser.add_argument("--seconds", type=float, default=30.0, help="of single calls")
    parser.add_argument("--bulk", type=int, default=100_000, help="tasks created in bulk")
    parser.add_argument("--chunk", type=int, default=10_000, help="tasks of a bulk call")
    installation.add_arguments(parser)
    report.add_arguments(parser)
    return parser.parse_args(arguments)


def body_of(number: int) -> dict[str, Any]:
    """Return a task that is due long after the report: its execution is no part of this."""
    later = datetime.now(UTC) + timedelta(days=2)
    return {
        "name": f"creation {number}",
        "schedule": {"run_at": later.isoformat()},
        "target": {"url": "https://api.example.com/orders", "headers": {"X-Order": str(number)}},
        "payload": {"order": number, "note": "x" * 400},
        "labels": {"team": f"team-{number % 50}"},
    }


async def singles(product: Installation, rate: int, seconds: float) -> Singles:
    """Create at the rate, and return the latencies in milliseconds."""
    waits: list[float] = []
    refused = 0

    async def create(client: ApiClient, number: int, at: float) -> None:
        nonlocal refused
        await asyncio.sleep(max(0.0, at - time.monotonic()))
        answer = await client.call("POST", "/v1/tasks", body_of(number), key=str(uuid4()))
        refused += answer.status != 201
        if number >= 0:
            waits.append((time.monotonic() - at) * 1000)

    # Before the calls: asking takes a second, in which none would go out.
    kinds = product.kinds()
    client = ApiClient(product.base_url, product.api_key, concurrency=_CONNECTIONS, tries=1)
    async with client, asyncio.TaskGroup() as calls:
        begin = time.monotonic() + _WARM_SECONDS
        for number in range(-round(rate * _WARM_SECONDS), round(rate * seconds)):
            calls.create_task(create(client, number, begin + number / rate))
        # While Python looked through all that waits here, answers would wait to be read.
        collect_seldom()
        await asyncio.sleep(_WARM_SECONDS)
        before = usage(kinds)
        await asyncio.sleep(seconds)
        cpu = usage(kinds).cpu_since(before)
    return Singles(distribution(waits), refused, cpu, len(waits))


async def in_bulk(product: Installation, count: int, chunk: int) -> Bulk:
    """Create ``count`` tasks by calls of a chunk each, one after the other."""
    bodies = [
        {"tasks": [body_of(number) for number in range(begin, min(count, begin + chunk))]}
        for begin in range(0, count, chunk)
    ]
    before = usage(product.kinds())
    created, taken = 0, 0.0
    async with ApiClient(product.base_url, product.api_key, concurrency=1, tries=1) as client:
        for body in bodies:
            begun = time.monotonic()
            answer = await client.expect(200, "POST", "/v1/tasks/bulk", body, key=str(uuid4()))
            taken += time.monotonic() - begun
            created += json.loads(answer.body)["created"]
    return Bulk(created, taken, usage(product.kinds()).cpu_since(before))


def raw_per_second(address: str, count: int) -> float:
    """Return how many of the same rows a second plain INSERTs write; they are rolled back."""
    with psycopg.connect(address) as connection:
        begun = time.perf_counter()
        for begin in range(0, count, _RAW_ROWS):
            connection.execute(_RAW, (_RAW_ROWS, begin))
        seconds = time.perf_counter() - begun
        connection.rollback()
    return count / seconds


def main(arguments: list[str]) -> int:
    """Run the report from a command line."""
    chosen = options(arguments)
    installation.require_start(chosen)
    with installation.opened(chosen) as product:
        single = asyncio.run(singles(product, chosen.rate, chosen.seconds))
        bulk = asyncio.run(in_bulk(product, chosen.bulk, chosen.chunk))
        address = product.database_url
        with psycopg.connect(address) as connection:
            [(stored,)] = connection.execute(_COUNT).fetchall()
        raw = raw_per_second(address, min(chosen.bulk, 20 * _RAW_ROWS))
    wanted = round(chosen.rate * (chosen.seconds + _WARM_SECONDS)) + chosen.bulk
    faults = _faults(single, bulk, stored - wanted)
    lines = [
        f"{chosen.rate} single calls a second for {chosen.seconds:g} s: {single.latency}",
        f"{single.cpu_ms:.2f} ms of processor a call: {single.cpu_seconds}",
        f"{bulk.tasks} tasks by bulk calls of {chosen.chunk}: {bulk.per_second:.0f} a second, "
        f"processor seconds {bulk.cpu_seconds}",
        f"plain INSERTs of the same rows: {raw:.0f} a second, {raw / bulk.per_second:.1f} times",
        *faults,
        "FAILED" if faults else "PASSED",
    ]
    figures = {
        "rate": chosen.rate,
        "seconds": chosen.seconds,
        "latency_ms": single.latency.as_json(),
        "refused": single.refused,
        "cpu_ms_per_call": round(single.cpu_ms, 2),
        "bulk_tasks": bulk.tasks,
        "bulk_per_second": round(bulk.per_second),
        "bulk_cpu_seconds": bulk.cpu_seconds,
        "raw_rows_per_second": round(raw),
        "faults": faults,
        "passed": not faults,
    }
    report.publish("creation", figures, lines, chosen)
    return 1 if faults else 0


def _faults(single: Singles, bulk: Bulk, surplus: int) -> list[str]:
    found = []
    if single.refused or surplus:
        found.append(f"{single.refused} calls were refused, {surplus:+d} tasks are stored")
    if single.latency.p99 > _P99_MS:
        found.append(f"p99 {single.latency.p99:.0f} ms (target {_P99_MS:g} ms)")
    if bulk.per_second < _BULK_PER_SECOND:
        found.append(f"{bulk.per_second:.0f} tasks a second in bulk (target {_BULK_PER_SECOND})")
    return found


if __name__ == "__main__":
    command_line.run(main)
