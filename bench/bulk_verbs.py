"""How many tasks a second a bulk job pauses, resumes, edits, cancels and deletes.

Two groups of tasks. Of each, every fourth fires each second and so has work prepared and released:
two groups of 2,000 are 1,000 executions a second beside the jobs. ``--fires-every`` changes that: 0
for tasks at rest. One group is paused, resumed, given a priority and deleted, the other cancelled,
each by one bulk job of the API. A job's time is from its creation to its end, as the job itself
tells. Kept when every item is done and each job takes less than ``--limit`` seconds. Run:
``python -m bench.bulk_verbs --start``.
"""

from __future__ import annotations

import argparse
import asyncio
import secrets
import time
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from bench import command_line, installation, report
from bench.failing import create
from bench.members import enter, make_member
from operations.proof.client import ApiClient

#: Group and verb, in their order.
VERBS = (
    ("kept", "pause"),
    ("kept", "resume"),
    ("kept", "set"),
    ("kept", "delete"),
    ("ended", "cancel"),
)
_PATIENCE_SECONDS = 120.0


@dataclass(frozen=True, slots=True)
class Took:
    """How long a job took for how many items, and how many of them were done."""

    verb: str
    total: int
    done: int
    seconds: float

    @property
    def rate(self) -> float:
        """Return items a second."""
        return self.total / self.seconds


def options(arguments: list[str]) -> argparse.Namespace:
    """Return the command line's options."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--tasks", type=int, default=2000)
    parser.add_argument("--fires-every", type=int, default=4, help="0 for no task that fires")
    parser.add_argument("--limit", type=float, default=1.0, help="seconds that a job may take")
    installation.add_arguments(parser)
    report.add_arguments(parser)
    return parser.parse_args(arguments)


def task_of(group: str, number: int, url: str, fires_every: int) -> dict[str, Any]:
    """Return the body of a task of a group."""
    fires = fires_every > 0 and number % fires_every == 0
    return {
        "name": f"{group} {number}",
        "schedule": {"cron_expression": "* * * * * *" if fires else "0 3 * * *"},
        "target": {"kind": "webhook", "url": url, "method": "POST", "timeout_seconds": 10},
        "labels": {"group": group},
    }


def took(verb: str, job: Mapping[str, Any]) -> Took:
    """Return what a job tells of itself when it has ended."""
    begun, ended = (datetime.fromisoformat(job[name]) for name in ("created_at", "finished_at"))
    return Took(verb, job["total"], job["done"], (ended - begun).total_seconds())


def faults_of(jobs: list[Took], count: int, limit: float) -> list[str]:
    """Return a line for each job that did not do everything, or not in time."""
    faults = [f"{job.verb}: {job.done} of {count} were done" for job in jobs if job.done != count]
    slow = [job for job in jobs if job.seconds >= limit]
    return faults + [f"{job.verb}: {job.seconds:.2f} s, not under {limit:g}" for job in slow]


async def run_jobs(
    base_url: str, api_key: str, url: str, count: int, fires_every: int
) -> list[Took]:
    """Create the tasks, and let one bulk job after the other act on them."""
    async with ApiClient(base_url, api_key) as client:
        for group in dict.fromkeys(group for group, _ in VERBS):
            bodies = [task_of(group, number, url, fires_every) for number in range(count)]
            await create(client, bodies)
        # Until what fires has been prepared and released.
        await asyncio.sleep(10)
        return [took(verb, await _do(client, group, verb)) for group, verb in VERBS]


async def _do(client: ApiClient, group: str, verb: str) -> dict[str, Any]:
    body: dict[str, Any] = {"action": verb, "filter": {"label": f"group:{group}"}}
    if verb == "set":
        body["set"] = {"priority": 3}
    key = secrets.token_hex(16)
    answer = await client.expect(202, "POST", "/v1/tasks/actions", body, key=key)
    job: dict[str, Any] = answer.json()
    deadline = time.monotonic() + _PATIENCE_SECONDS
    while job["finished_at"] is None and time.monotonic() < deadline:
        await asyncio.sleep(0.2)
        job = (await client.expect(200, "GET", f"/v1/bulk-jobs/{job['id']}")).json()
    if job["finished_at"] is None:
        raise installation.InstallationError(f"{verb} has not ended: {job}")
    return job


def measure(product: installation.Installation, chosen: argparse.Namespace) -> int:
    """Run the jobs, publish; 1 when one is too slow or leaves something undone."""
    enter(product)
    key = make_member().api_key
    with installation.receiver() as target:
        jobs = asyncio.run(
            run_jobs(product.base_url, key, f"{target.url}/ok", chosen.tasks, chosen.fires_every)
        )
    faults = faults_of(jobs, chosen.tasks, chosen.limit)
    lines = [
        *(
            f"{job.verb}: {job.total} in {job.seconds:.2f} s, {job.rate:.0f} a second"
            for job in jobs
        ),
        *faults,
        "FAILED" if faults else "PASSED",
    ]
    figures = {
        "tasks": chosen.tasks,
        "fires_every": chosen.fires_every,
        "seconds": {job.verb: round(job.seconds, 3) for job in jobs},
        "rates": {job.verb: round(job.rate) for job in jobs},
        "faults": faults,
        "passed": not faults,
    }
    report.publish("bulk-verbs", figures, lines, chosen)
    return 1 if faults else 0


def main(arguments: list[str]) -> int:
    """Run the report from a command line."""
    chosen = options(arguments)
    installation.require_start(chosen)
    with installation.opened(chosen) as product:
        return measure(product, chosen)


if __name__ == "__main__":
    command_line.run(main)
