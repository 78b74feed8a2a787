"""DBOS: ``work NAME`` executes workflows from a queue, ``start`` enqueues the runs of a plan.

Runs in the peers' own environment. A run is one workflow, in which steps that wait for the same are
gathered; DBOS numbers steps when they are called, so a recovered workflow meets them in the same
order. Each executor has an id of its own and at its start recovers the workflows that were its.
"""

from __future__ import annotations

import asyncio
import importlib
import os
import sys
import threading
from typing import Any

from bench.peers.plan import READY, body
from bench.workflows.peers.shapes import Runs, levels, number_of
from bench.workflows.peers.starting import start_each

QUEUE, WORKFLOW = "runs", "run"
_CONNECTIONS = 200
#: Of runs that one process executes at a time.
_CONCURRENCY = 100
#: By default a second: a worker learns of a new run by polling only.
_POLL_SECONDS = 0.1


class Steps:
    """Calls over one session, whose connections are kept."""

    def __init__(self) -> None:
        self._aiohttp = importlib.import_module("aiohttp")
        self._session: Any = None

    async def call(self, url: str, text: str) -> None:
        """Make one call; raise for an answer that is an error."""
        if self._session is None:
            connector = self._aiohttp.TCPConnector(limit=_CONNECTIONS)
            self._session = self._aiohttp.ClientSession(connector=connector)
        headers = {"Content-Type": "application/json"}
        async with self._session.post(url, data=text.encode(), headers=headers) as answer:
            answer.raise_for_status()
            await answer.read()


def define(dbos: Any) -> None:
    """Define the step and the workflow of a run."""
    steps = Steps()

    async def step(url: str, text: str) -> None:
        await steps.call(url, text)

    call = dbos.step(retries_allowed=True, max_attempts=3)(step)

    async def execute(line: str, run: int) -> None:
        runs = Runs.from_line(line)
        for level in levels(runs.shape):
            numbers = [number_of(run, one) for one in level]
            await asyncio.gather(*(call(runs.url_of(one), body(one)) for one in numbers))

    dbos.workflow(name=WORKFLOW)(execute)


def work(name: str) -> None:
    """Execute workflows until a signal ends this process."""
    # By name: it is installed in the peers' environment, not in that of this checkout.
    dbos = importlib.import_module("dbos").DBOS
    dbos(
        config={
            "name": "peers",
            "system_database_url": os.environ["DATABASE_URL"],
            "executor_id": name,
            "log_level": "WARNING",
        }
    )
    define(dbos)
    dbos.launch()
    dbos.register_queue(QUEUE, worker_concurrency=_CONCURRENCY, polling_interval_sec=_POLL_SECONDS)
    print(READY, flush=True)
    threading.Event().wait()


def start(runs: Runs) -> None:
    """Enqueue a workflow for each run."""
    client = importlib.import_module("dbos").DBOSClient(
        system_database_url=os.environ["DATABASE_URL"]
    )
    line = runs.as_line()
    options = {"workflow_name": WORKFLOW, "queue_name": QUEUE}
    start_each(
        runs,
        lambda run: client.enqueue({**options, "workflow_id": runs.name_of(run)}, line, run),
    )
    client.destroy()


if __name__ == "__main__":
    if sys.argv[1] == "work":
        work(sys.argv[2])
    else:
        start(Runs.from_line(sys.stdin.read()))
