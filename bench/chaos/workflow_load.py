"""Runs of workflows beside the load of an experiment, and their judge.

Four graphs in turn, two runs a second: a join, a fan-out with a join, a failure that ends a run,
and one that leaves another branch alone. How each step has to end is known beforehand, and no
fault changes it. Their steps call a receiver of their own, whose ledger says what ran and when.
"""

from __future__ import annotations

import asyncio
from collections import defaultdict
from collections.abc import Awaitable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

from bench import installation
from bench.chaos.site import Site
from bench.installation import InstallationError
from bench.workflows.definitions import ALL_DONE, calls, numbers, workflow
from bench.workflows.evidence import problems, read_calls
from bench.workflows.runs import create, start, until_ended
from operations.proof.campaign import Receiver, until
from operations.proof.client import ApiClient
from operations.proof.ledger import Arrival
from operations.proof.matcher import Fault
from operations.proof.workload import Window

_EVERY_MS = 500
_PATIENCE_SECONDS = 90.0
#: As those of the ordinary load: a call outlives a database that is away for half a minute.
_TRIES = 25
_SHOWN = 3
_ITEMS = 12
_RETRIED: dict[str, Any] = {
    "retry_policy": {"max_attempts": 5, "initial_delay_seconds": 0.5, "max_delay_seconds": 5}
}
_ONCE: dict[str, Any] = {"retry_policy": {"max_attempts": 1}}
_STATES = """
SELECT run_id::text, step, status FROM workflow_steps
WHERE run_id = ANY(%s::uuid[]) AND item = -1
"""
_MADE = "SELECT id::text FROM executions WHERE task_id = %s::uuid AND step IS NULL"


@dataclass(frozen=True, slots=True)
class Graph:
    """A workflow of the load, its input, and how it and its steps have to end."""

    body: dict[str, Any]
    status: str
    #: Of the steps that do not end SUCCEEDED.
    others: Mapping[str, str] = field(default_factory=dict)
    value: Any = None

    def expected(self) -> dict[int, str]:
        """Return how each step has to end, by its number."""
        return {n: self.others.get(key, "SUCCEEDED") for key, n in numbers(self.body).items()}


def graphs(url: str) -> tuple[Graph, ...]:
    """Return the workflows whose steps call the receiver at this address."""
    ok, slow, bad = f"{url}/ok", f"{url}/slow?ms=200", f"{url}/status/500"
    join = [
        calls("a", ok, **_RETRIED),
        calls("b", slow, **_RETRIED),
        calls("join", ok, "a", "b", **_RETRIED),
        calls("report", ok, "join", condition=ALL_DONE, **_RETRIED),
    ]
    fan = [
        calls("load", slow, for_each="{{ input }}", max_parallel=4, **_RETRIED),
        calls("sum", ok, "load", when="steps.load.output.failed == 0", **_RETRIED),
    ]
    fails = [
        calls("a", ok, **_RETRIED),
        calls("bad", bad, "a", **_ONCE),
        calls("after", ok, "bad", **_RETRIED),
        calls("report", ok, "bad", condition=ALL_DONE, **_RETRIED),
    ]
    goes_on = [
        calls("bad", bad, **_ONCE),
        calls("after", ok, "bad", **_RETRIED),
        calls("other", slow, **_RETRIED),
        calls("more", ok, "other", **_RETRIED),
    ]
    failed = {"bad": "FAILED", "after": "SKIPPED"}
    return (
        Graph(workflow("join", join), "SUCCEEDED"),
        Graph(workflow("fan-out", fan), "SUCCEEDED", value=list(range(_ITEMS))),
        Graph(workflow("fails", fails, on_failure="fail_fast"), "FAILED", failed),
        Graph(workflow("goes on", goes_on, on_failure="continue"), "FAILED", failed),
    )


class WorkflowLoad:
    """The runs of one experiment."""

    def __init__(self, site: Site, receiver: Receiver) -> None:
        self._site = site
        self._receiver = receiver
        self._graphs = graphs(site.reachable(receiver.url))
        self._workflows: dict[int, str] = {}
        self._runs: dict[int, list[str]] = defaultdict(list)
        self._faults: tuple[Fault, ...] = ()

    async def during(
        self, window: Window, injected: Awaitable[tuple[Fault, ...]]
    ) -> tuple[Fault, ...]:
        """Start runs over the window while the fault is injected; return the faults."""
        self._faults, _ = await asyncio.gather(injected, self._start_runs(window))
        return self._faults

    async def _start_runs(self, window: Window) -> None:
        product = self._site.product
        async with ApiClient(product.base_url, product.api_key, tries=_TRIES) as client:
            for number, graph in enumerate(self._graphs):
                self._workflows[number] = await create(client, graph.body)
            async with asyncio.TaskGroup() as running:
                for number, at_ms in enumerate(range(0, window.length_ms, _EVERY_MS)):
                    await until(window.begin_ms + at_ms)
                    running.create_task(self._start(client, number % len(self._graphs)))

    async def _start(self, client: ApiClient, number: int) -> None:
        value = self._graphs[number].value
        run_id, _ = await start(client, self._workflows[number], value)
        self._runs[number].append(run_id)

    def problems(self, notes: list[str]) -> list[str]:
        """Wait until every run has ended; return what does not hold, and add what ran to notes."""
        found: list[str] = []
        requests = 0
        for number, graph in enumerate(self._graphs):
            made, broken = self._judge(graph, self._workflows[number], self._runs[number])
            requests += made
            found += [f"workflow {graph.body['name']!r}: {line}" for line in broken]
        runs = sum(map(len, self._runs.values()))
        notes.append(f"{runs} runs of workflows, {requests} requests of their steps")
        return found if runs else ["no run of a workflow was started"]

    def _judge(self, graph: Graph, workflow_id: str, ids: list[str]) -> tuple[int, list[str]]:
        product = self._site.product
        found = []
        surplus = {row[0] for row in self._site.rows(_MADE, (workflow_id,))} - set(ids)
        if surplus:
            found.append(f"{len(surplus)} runs that no call was answered with")
        try:
            ended = asyncio.run(until_ended(product, ids, _PATIENCE_SECONDS))
        except InstallationError as error:
            return 0, [*found, str(error)]
        other = [run_id for run_id, one in ended.items() if one.status != graph.status]
        if other:
            found.append(f"{len(other)} runs did not end {graph.status}, as {other[0]}")
        found += self._wrong_steps(graph, ids)
        # What is of no step of these is of the other workflows: they have one receiver.
        made, _ = read_calls(product.database_url, self._receiver.ledger, ids)
        return len(made), found + problems(made, graph.body, self._doubts)[:_SHOWN]

    def _wrong_steps(self, graph: Graph, ids: Sequence[str]) -> list[str]:
        states: dict[str, dict[int, str]] = defaultdict(dict)
        for run_id, step, status in self._site.rows(_STATES, (ids,)):
            states[run_id][step] = status
        wrong = [run_id for run_id in ids if states[run_id] != graph.expected()]
        return [f"steps of run {run_id} ended {states[run_id]}" for run_id in wrong[:_SHOWN]]

    def _doubts(self, arrival: Arrival) -> bool:
        return any(one.doubts(arrival) for one in self._faults)


class NoLoad(WorkflowLoad):
    """No runs at all."""

    def __init__(self) -> None:
        """Need neither a site nor a receiver."""

    async def during(
        self, window: Window, injected: Awaitable[tuple[Fault, ...]]
    ) -> tuple[Fault, ...]:
        """Return the faults."""
        return await injected

    def problems(self, notes: list[str]) -> list[str]:
        """Return nothing."""
        return []


@contextmanager
def beside(site: Site, *, wanted: bool) -> Iterator[WorkflowLoad]:
    """Yield the load, with a receiver of its own; one without runs where none is wanted."""
    if not wanted:
        yield NoLoad()
        return
    with installation.receiver() as receiver:
        yield WorkflowLoad(site, receiver)
