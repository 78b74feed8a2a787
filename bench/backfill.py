"""A past range of a task run again: how fast executions are made, and each instant called once.

The task fires every second; its last ``--count`` seconds are the range. Expected instants are plain
arithmetic, matched with the receiver's ledger. Target: 1,000 executions made a second. Run:
``python -m bench.backfill --start --count 20000``.
"""

from __future__ import annotations

import argparse
import asyncio
import secrets
import time
from collections import Counter
from collections.abc import Sequence
from typing import Any

from bench import command_line, installation, report
from operations.proof.client import ApiClient
from operations.proof.ledger import Arrival, read_arrivals
from operations.proof.oracle import to_text

TARGET_PER_SECOND = 1000.0
_POLL_SECONDS = 0.1
_PATIENCE_SECONDS = 60.0
#: Delivering takes the product this long at most, per execution.
_SECONDS_PER_EXECUTION = 0.02
_ENDED = ("COMPLETED", "CANCELLED", "STOPPED")


def options(arguments: list[str]) -> argparse.Namespace:
    """Return the command line's options."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--count", type=int, default=20_000)
    parser.add_argument("--max-parallel", type=int, default=1000)
    installation.add_arguments(parser)
    report.add_arguments(parser)
    return parser.parse_args(arguments)


def expected_instants(last_ms: int, count: int) -> list[int]:
    """Return the instants of a task that fires every second, ending with the last, oldest first."""
    return [last_ms - 1000 * back for back in reversed(range(count))]


def task_body(url: str, last_ms: int) -> dict[str, Any]:
    """Return a task whose schedule has ended by now: all that it calls is the backfill."""
    return {
        "name": "backfilled",
        "schedule": {"cron_expression": "* * * * * *", "end_at": to_text(last_ms)},
        "target": {"kind": "webhook", "url": url, "method": "POST", "timeout_seconds": 30},
        "retry_policy": {"max_attempts": 3},
    }


async def run_backfill(
    product: installation.Installation, url: str, chosen: Any, last_ms: int
) -> dict[str, Any]:
    """Begin the backfill and follow it to the end of its executions; return what was measured."""
    instants = expected_instants(last_ms, chosen.count)
    wanted = {
        "start": to_text(instants[0]),
        "end": to_text(instants[-1]),
        "max_parallel": chosen.max_parallel,
        "expected_count": chosen.count,
    }
    async with ApiClient(product.base_url, product.api_key) as client:
        made = await client.expect(201, "POST", "/v1/tasks", task_body(url, last_ms), key=_key())
        path = f"/v1/tasks/{made.json()['id']}/backfill"
        begun = time.monotonic()
        job = (await client.expect(202, "POST", path, wanted, key=_key())).json()
        fixed = time.monotonic() - begun
        deadline = begun + _PATIENCE_SECONDS + chosen.count * _SECONDS_PER_EXECUTION
        created: float | None = None
        while time.monotonic() < deadline:
            job = (await client.expect(200, "GET", f"/v1/bulk-jobs/{job['id']}")).json()
            if created is None and job["status"] in _ENDED:
                created = time.monotonic() - begun
            waits = job["executions"]["pending"] + job["executions"]["running"]
            if created is not None and not waits:
                break
            await asyncio.sleep(_POLL_SECONDS)
        ended = time.monotonic() - begun
    return {"job": job, "fixed": fixed, "created": created, "ended": ended}


def faults_of(
    expected: Sequence[int], measured: dict[str, Any], arrivals: Sequence[Arrival]
) -> list[str]:
    """Return a line for each broken promise."""
    job, faults = measured["job"], []
    if job["status"] != "COMPLETED" or job["done"] != len(expected):
        faults.append(f"{job['done']} of {len(expected)} made, the job is {job['status']}")
    if job["executions"]["succeeded"] != len(expected):
        faults.append(f"not all have succeeded: {job['executions']}")
    calls = Counter(one.at_ms for one in arrivals)
    missed = sum(at not in calls for at in expected)
    strange = len(set(calls) - set(expected))
    doubled = sum(count > 1 for count in calls.values())
    for count, what in ((missed, "were missed"), (strange, "were not asked for"),
                        (doubled, "were called more than once")):  # fmt: skip
        if count:
            faults.append(f"{count} instants {what}")
    created = measured["created"]
    if created is None:
        faults.append("the executions were not all made in time")
    elif len(expected) / created < TARGET_PER_SECOND:
        rate = len(expected) / created
        faults.append(f"target missed: {rate:.0f} made a second, not {TARGET_PER_SECOND:g}")
    return faults


def measure(product: installation.Installation, chosen: argparse.Namespace) -> int:
    """Run the backfill and publish; 1 when a promise or the target was missed."""
    last_ms = (time.time_ns() // 1_000_000_000 - 2) * 1000
    with installation.receiver() as target:
        measured = asyncio.run(run_backfill(product, f"{target.url}/ok", chosen, last_ms))
        arrivals = read_arrivals(target.ledger)[0] if target.ledger.exists() else []
    faults = faults_of(expected_instants(last_ms, chosen.count), measured, arrivals)
    created, ended = measured["created"] or float("inf"), measured["ended"]
    lines = [
        f"backfill of {chosen.count} instants, at most {chosen.max_parallel} at a time",
        f"answered after {measured['fixed']:.2f} s; all made after {created:.1f} s, "
        f"{chosen.count / created:.0f} a second",
        f"all ended after {ended:.1f} s, {len(arrivals) / ended:.0f} requests a second",
        *faults,
        "FAILED" if faults else "PASSED",
    ]
    figures = {
        "count": chosen.count,
        "max_parallel": chosen.max_parallel,
        "answered_seconds": round(measured["fixed"], 3),
        "created_seconds": None if measured["created"] is None else round(created, 2),
        "ended_seconds": round(ended, 2),
        "arrived": len(arrivals),
        "executions": measured["job"]["executions"],
        "faults": faults,
        "passed": not faults,
    }
    report.publish("backfill", figures, lines, chosen)
    return 1 if faults else 0


def _key() -> str:
    return secrets.token_hex(16)


def main(arguments: list[str]) -> int:
    """Run the report from a command line."""
    chosen = options(arguments)
    with installation.opened(chosen) as product:
        return measure(product, chosen)


if __name__ == "__main__":
    command_line.run(main)
