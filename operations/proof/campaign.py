"""One measured run: create the tasks, run the load, wait for quiet, match, judge.

The scripts give the plan and the events during the run (a kill, a sample of processor time). The
answers of the API, the receiver's ledger and the product's own record stay apart.
"""

from __future__ import annotations

import asyncio
import itertools
import secrets
import time
from collections.abc import AsyncIterator, Awaitable, Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from operations.proof import oracle
from operations.proof.client import ApiClient
from operations.proof.ledger import Arrival, Record, parse_records, read_arrivals
from operations.proof.matcher import Evidence, Fault, Verdict, match
from operations.proof.oracle import Accepted, Planned, Target
from operations.proof.percentiles import Distribution, distribution
from operations.proof.workload import Window

#: Tasks created a second while the load has not begun, on the cautious side.
CREATION_RATE = 40
#: Shortest time between asking for a run and its window.
LEAD_MS = 6_000
UNFINISHED = ("PENDING", "QUEUED", "RUNNING", "RETRYING")
#: Longest wait for quiet: the longest back-off of a plan, a lease and a minute.
QUIET_SECONDS = 150.0

Meanwhile = Callable[[Window], Awaitable[tuple[Fault, ...]]]
#: Takes a time in milliseconds and yields each execution since then, in the API's form.
ReadExecutions = Callable[[int], AsyncIterator[dict[str, Any]]]


@dataclass(frozen=True, slots=True)
class Receiver:
    """A running receiver: its URL and the ledger that it writes."""

    url: str
    ledger: Path


@dataclass(slots=True)
class Outcome:
    """The result of a run."""

    window: Window
    verdict: Verdict
    accepted: int
    dead_letters: int
    signatures_checked: bool
    quiet_after_seconds: float
    notes: list[str] = field(default_factory=list)
    #: The evidence of the verdict.
    targets: list[Target] = field(default_factory=list, repr=False)
    arrivals: list[Arrival] = field(default_factory=list, repr=False)

    def as_json(self) -> dict[str, Any]:
        """Return the figures for the stored result."""
        return {
            "window": {
                "begin": oracle.to_text(self.window.begin_ms),
                "end": oracle.to_text(self.window.end_ms),
            },
            "tasks": self.accepted,
            "dead_letters": self.dead_letters,
            "signatures_checked": self.signatures_checked,
            "quiet_after_seconds": round(self.quiet_after_seconds, 1),
            "notes": self.notes,
            **self.verdict.as_json(),
        }


async def nothing(window: Window) -> tuple[Fault, ...]:
    """Let the load run without interference."""
    return ()


async def signing_secret(client: ApiClient) -> str:
    """Return the tenant's signing secret, empty where the key may not see it."""
    answer = await client.call("GET", "/v1/signing-secrets?reveal=true")
    if answer.status != 200:
        return ""
    secret: str = answer.json()["signing_secrets"][0]["secret"]
    return secret


async def until(moment_ms: int) -> None:
    """Wait for a wall-clock time."""
    await asyncio.sleep(max(0.0, moment_ms / 1000 - time.time()))


class Campaign:
    """A plan, a product and a receiver; ``run`` gives the judged outcome."""

    def __init__(
        self,
        client: ApiClient,
        target: Receiver,
        plan: Callable[[Window], list[Planned]],
        meanwhile: Meanwhile,
        read_executions: ReadExecutions | None = None,
    ) -> None:
        """``read_executions`` replaces the API's list of executions, slow for a long run."""
        self._client = client
        self._target = target
        self._plan = plan
        self._meanwhile = meanwhile
        self._read_executions = read_executions or self._list_executions
        self._accepted: list[Accepted] = []
        self._notes: list[str] = []

    async def run(self, seconds: float, late_after_ms: int = 1000) -> Outcome:
        """Run the plan for this many seconds and return the outcome."""
        window, planned = self._planned(seconds)
        began_ms = time.time_ns() // 1_000_000
        load = asyncio.gather(self._create_all(window, planned), self._meanwhile(window))
        _, faults = await load
        await until(window.end_ms)
        quiet_after = await self._quiet(window)
        targets = self._targets(window)
        arrivals, strangers = read_arrivals(self._target.ledger)
        records = await self._records(began_ms)
        verdict = match(Evidence(targets, arrivals, records, faults, late_after_ms))
        for line in strangers:
            verdict.note("extra", f"not from an execution: {line}")
        return Outcome(
            window,
            verdict,
            accepted=len(self._accepted),
            dead_letters=await self._dead_letters(),
            signatures_checked=False,
            quiet_after_seconds=quiet_after,
            notes=self._notes,
            targets=targets,
            arrivals=arrivals,
        )

    def _planned(self, seconds: float) -> tuple[Window, list[Planned]]:
        """Return the plan; its window begins late enough to create its first tasks before."""
        name = f"bench-{secrets.token_hex(4)}"
        length_ms = round(seconds * 1000)
        probe = Window(0, length_ms, self._target.url, name)
        at_once = sum(not task.create_after_ms for task in self._plan(probe))
        begin_ms = time.time_ns() // 1_000_000 + max(LEAD_MS, at_once * 1000 // CREATION_RATE)
        begin_ms = -(-begin_ms // 1000) * 1000
        window = Window(begin_ms, begin_ms + length_ms, self._target.url, name)
        return window, self._plan(window)

    async def _create_all(self, window: Window, planned: list[Planned]) -> None:
        at_once = [task for task in planned if not task.create_after_ms]
        # A few at a time: the load is the executions, not the creation.
        for batch in _batches(at_once, 4):
            await asyncio.gather(*(self._create(task) for task in batch))
        spare = window.begin_ms / 1000 - time.time()
        if spare < 0:
            self._notes.append(f"creation ended {-spare:.1f} s after the window began")
        async with asyncio.TaskGroup() as running:
            for task in planned:
                if task.create_after_ms:
                    await until(window.begin_ms + task.create_after_ms)
                    running.create_task(self._create(task))

    async def _create(self, planned: Planned) -> None:
        key = secrets.token_hex(16)
        answer = await self._client.expect(201, "POST", "/v1/tasks", planned.definition, key=key)
        task_id = answer.json()["id"]
        self._accepted.append(Accepted(task_id, planned, answer.sent_ns, answer.answered_ns))

    async def _quiet(self, window: Window) -> float:
        """Wait until nothing is unfinished; return how long after the window that was."""
        deadline = time.monotonic() + QUIET_SECONDS
        since = oracle.to_text(window.begin_ms - 600_000)
        while time.monotonic() < deadline:
            left = 0
            for status in UNFINISHED:
                path = f"/v1/executions?status={status}&since={since}&limit=1"
                left += len((await self._client.expect(200, "GET", path)).json()["executions"])
            if not left:
                return time.time() - window.end_ms / 1000
            await asyncio.sleep(1.0)
        self._notes.append(f"not quiet {QUIET_SECONDS:.0f} s after the end")
        return QUIET_SECONDS

    def _targets(self, window: Window) -> list[Target]:
        return [
            target
            for accepted in self._accepted
            for target in oracle.targets(accepted, window.end_ms)
        ]

    async def _records(self, began_ms: int) -> list[Record]:
        ids = {accepted.task_id for accepted in self._accepted}
        records: list[Record] = []
        # One at a time: the documents of a long run are too many to be held.
        async for execution in self._read_executions(began_ms - 60_000):
            records += parse_records([execution], ids)
        return records

    def _list_executions(self, since_ms: int) -> AsyncIterator[dict[str, Any]]:
        since = oracle.to_text(since_ms)
        return self._client.everything("/v1/executions", "executions", since=since)

    async def _dead_letters(self) -> int:
        ids = {accepted.task_id for accepted in self._accepted}
        found = self._client.everything("/v1/dlq", "dead_letters", resolved="false")
        return sum([letter["task_id"] in ids async for letter in found])


def _batches(items: list[Planned], size: int) -> list[list[Planned]]:
    feed = iter(items)
    return list(iter(lambda: list(itertools.islice(feed, size)), []))


def delays_by_kind(verdict: Verdict) -> list[tuple[str, Distribution]]:
    """Return the start delays of each kind of schedule."""
    return [(kind, distribution(values)) for kind, values in sorted(verdict.by_kind.items())]
