"""Procrastinate: ``work`` runs the worker, ``schedule`` defers the jobs of a plan.

Runs in the peers' own environment. Scheduled jobs are found by polling, so the interval is short;
those that succeeded are deleted, as most of the other peers do.
"""

from __future__ import annotations

import asyncio
import importlib
import itertools
import os
import sys
from collections.abc import Iterator
from datetime import UTC, datetime
from typing import Any

from bench.peers.plan import READY, Plan, body

_CONCURRENCY = 100
_POLL_SECONDS = 0.1
_CONNECTIONS = 20
_BATCH = 1000


class Calls:
    """The task: a call over one session, whose connections are kept."""

    def __init__(self) -> None:
        self._aiohttp = importlib.import_module("aiohttp")
        self._session: Any = None

    async def call(self, url: str, text: str) -> None:
        """Make one call; raise for an answer that is an error."""
        if self._session is None:
            connector = self._aiohttp.TCPConnector(limit=_CONCURRENCY)
            self._session = self._aiohttp.ClientSession(connector=connector)
        headers = {"Content-Type": "application/json"}
        async with self._session.post(url, data=text.encode(), headers=headers) as answer:
            answer.raise_for_status()
            await answer.read()


def make_app() -> tuple[Any, Any]:
    """Return the application and its task."""
    # By name: it is installed in the peers' environment, not in that of this checkout.
    procrastinate = importlib.import_module("procrastinate")
    connector = procrastinate.PsycopgConnector(
        conninfo=os.environ["DATABASE_URL"], min_size=1, max_size=_CONNECTIONS
    )
    app = procrastinate.App(connector=connector)
    return app, app.task(name="call")(Calls().call)


async def work() -> None:
    """Make the tables and run jobs until a signal."""
    app, _ = make_app()
    async with app.open_async():
        await app.schema_manager.apply_schema_async()
        print(READY, flush=True)
        await app.run_worker_async(
            concurrency=_CONCURRENCY,
            fetch_job_polling_interval=_POLL_SECONDS,
            delete_jobs="successful",
        )


async def schedule(plan: Plan) -> None:
    """Defer a job for each call, those of one instant in batches."""
    app, task = make_app()
    async with app.open_async():
        for due_ms, numbers in batches(plan):
            at = datetime.fromtimestamp(due_ms / 1000, UTC)
            jobs = [{"url": plan.url_of(number), "text": body(number)} for number in numbers]
            await task.configure(schedule_at=at).batch_defer_async(*jobs)


def batches(plan: Plan) -> Iterator[tuple[int, list[int]]]:
    """Yield due times with the numbers that are due then, ``_BATCH`` at a time."""
    for due_ms, numbers in itertools.groupby(range(plan.count), key=plan.due_ms):
        while batch := list(itertools.islice(numbers, _BATCH)):
            yield due_ms, batch


if __name__ == "__main__":
    if sys.argv[1] == "work":
        asyncio.run(work())
    else:
        asyncio.run(schedule(Plan.from_line(sys.stdin.read())))
