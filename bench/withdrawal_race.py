"""Edits, pauses and deletions raced against dispatch: nothing withdrawn begins after the answer.

Tasks fire every second while each is changed again and again around its due moment. Every start
that the workers recorded is held against every answer: an execution of an old version must have
begun before the answer that replaced it, and none begins between the answer to a pause and the
resume (requirement A11). Run: ``python -m bench.withdrawal_race --start --changes 10000``.
"""

from __future__ import annotations

import argparse
import asyncio
import random
import time
from collections import Counter
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from typing import Any
from uuid import UUID

from bench import command_line, installation, report
from bench.members import enter
from operations.proof.client import ApiClient
from operations.proof.ledger import Arrival, read_arrivals

#: The workers' clocks follow the database's to this.
_CLOCK_ERROR = timedelta(milliseconds=1)
#: A change is sent at most this long before or after a due moment.
_BEFORE_MS, _AFTER_MS = 45.0, 10.0
_QUIET_SECONDS = 5.0


@dataclass(frozen=True, slots=True)
class Change:
    """One change as its caller saw it: what was answered, and when."""

    verb: str
    answered: datetime
    #: The version from the answer on, for an edit.
    version: int = 0
    #: When the resume of a pause was sent.
    until: datetime | None = None


@dataclass(slots=True)
class Racer:
    """One task after another that is changed around its due moments."""

    client: ApiClient
    url: str
    offset_ms: int
    chance: random.Random
    changes: dict[str, list[Change]] = field(default_factory=dict)
    task: str = ""

    async def race(self, count: int) -> None:
        """Make ``count`` changes."""
        await self._create()
        for number in range(count):
            await self._until_near_due()
            luck = self.chance.random()
            if luck < 0.6:
                await self._edit(number)
            elif luck < 0.8:
                await self._pause()
            else:
                await self._delete()
                await self._create()
        await self._delete()

    async def _until_near_due(self) -> None:
        now_ms = time.time() * 1000
        due_ms = (now_ms // 1000 + 1) * 1000 + self.offset_ms
        aim_ms = due_ms + self.chance.uniform(-_BEFORE_MS, _AFTER_MS)
        await asyncio.sleep(max(0.0, aim_ms - now_ms) / 1000)

    async def _create(self) -> None:
        start = datetime.fromtimestamp(int(time.time()) + self.offset_ms / 1000, UTC)
        body = {
            "name": "raced",
            "schedule": {"every": "PT1S", "start_at": start.isoformat()},
            "target": {"url": f"{self.url}/ok"},
            "payload": {"change": 0},
        }
        key = f"race-{self.chance.getrandbits(64):x}"
        answer = await self.client.expect(201, "POST", "/v1/tasks", body, key=key)
        self.task = answer.json()["id"]
        self.changes[self.task] = []

    async def _edit(self, number: int) -> None:
        body = {"payload": {"change": number + 1}}
        answer = await self.client.expect(200, "PATCH", f"/v1/tasks/{self.task}", body)
        self._note("edit", answer.answered_ns, version=answer.json()["version"])

    async def _pause(self) -> None:
        paused = await self.client.expect(200, "POST", f"/v1/tasks/{self.task}/pause", {})
        await asyncio.sleep(self.chance.uniform(0.0, 1.5))
        resumed = await self.client.expect(200, "POST", f"/v1/tasks/{self.task}/resume", {})
        self._note("pause", paused.answered_ns, until=_moment(resumed.sent_ns))

    async def _delete(self) -> None:
        answer = await self.client.expect(204, "DELETE", f"/v1/tasks/{self.task}")
        self._note("delete", answer.answered_ns)

    def _note(self, verb: str, answered_ns: int, **facts: Any) -> None:
        self.changes[self.task].append(Change(verb, _moment(answered_ns), **facts))


@dataclass(frozen=True, slots=True)
class Start:
    """One execution that began: of which version of its task, and when."""

    execution: UUID
    revision: int
    at: datetime


def options(arguments: list[str]) -> argparse.Namespace:
    """Return the command line's options."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--changes", type=int, default=10_000)
    parser.add_argument("--tasks", type=int, default=100, help="at a time; each fires every second")
    parser.add_argument("--seed", type=int, default=1)
    installation.add_arguments(parser)
    report.add_arguments(parser)
    return parser.parse_args(arguments)


async def run_races(product: Any, target: Any, chosen: argparse.Namespace) -> list[Racer]:
    """Let every task be changed its share of times; return what was answered."""
    async with ApiClient(product.base_url, product.api_key, concurrency=16) as client:
        racers = [
            Racer(
                client,
                target.url,
                number * 1000 // chosen.tasks,
                random.Random(f"{chosen.seed}-{number}"),
            )
            for number in range(chosen.tasks)
        ]
        share = -(-chosen.changes // chosen.tasks)
        await asyncio.gather(*(racer.race(share) for racer in racers))
        await asyncio.sleep(_QUIET_SECONDS)
    return racers


def read_starts(tasks: list[str]) -> dict[str, list[Start]]:
    """Return what began of each task, from the product's ledger."""
    from executions.models import Execution

    found: dict[str, list[Start]] = {task: [] for task in tasks}
    rows = Execution.objects.filter(task_id__in=tasks, started_at__isnull=False)
    for task, execution, revision, at in rows.values_list(
        "task_id", "id", "revision", "started_at"
    ):
        if at is not None:
            found[str(task)].append(Start(execution, revision, at))
    return found


def broken(changes: list[Change], starts: list[Start]) -> list[str]:
    """Return a line for each start that an answer had ruled out."""
    faults = []
    for change in changes:
        for start in starts:
            late = start.at - change.answered > _CLOCK_ERROR
            of_old = change.verb != "edit" or start.revision < change.version
            ended = change.until is not None and start.at >= change.until
            if late and of_old and not ended:
                after = (start.at - change.answered).total_seconds() * 1000
                faults.append(
                    f"{start.execution} of version {start.revision} began {after:.1f} ms after "
                    f"the answer to {change.verb}"
                )
    return faults


def unknown(arrivals: list[Arrival], starts: dict[str, list[Start]]) -> list[str]:
    """Return a line for each request of an execution that the ledger does not call begun."""
    begun = {str(start.execution) for found in starts.values() for start in found}
    return [
        f"{one.webhook_id} arrived, but is not known to have begun"
        for one in arrivals
        if one.webhook_id not in begun
    ]


def _moment(nanoseconds: int) -> datetime:
    return datetime.fromtimestamp(nanoseconds / 1e9, UTC)


def measure(product: installation.Installation, chosen: argparse.Namespace) -> int:
    """Race, judge, publish; 1 when anything began that must not have."""
    enter(product)
    begun = time.monotonic()
    with installation.receiver() as target:
        racers = asyncio.run(run_races(product, target, chosen))
        arrivals, _ = read_arrivals(target.ledger)
    seconds = time.monotonic() - begun
    changes = {task: made for racer in racers for task, made in racer.changes.items()}
    starts = read_starts(list(changes))
    faults = [fault for task in changes for fault in broken(changes[task], starts[task])]
    faults += unknown(arrivals, starts)
    verbs = Counter(change.verb for made in changes.values() for change in made)
    started = sum(map(len, starts.values()))
    lines = [
        f"{sum(verbs.values())} changes of {len(changes)} tasks in {seconds:.0f} s: "
        + ", ".join(f"{verb} {count}" for verb, count in sorted(verbs.items())),
        f"{started} executions began, {len(arrivals)} requests arrived",
        f"began after an answer that ruled it out: {len(faults)}",
        *faults[:20],
        "FAILED" if faults else "PASSED",
    ]
    figures = {
        "changes": dict(verbs),
        "tasks": len(changes),
        "seconds": round(seconds, 1),
        "started": started,
        "arrived": len(arrivals),
        "faults": faults,
        "passed": not faults,
    }
    report.publish("withdrawal-race", figures, lines, chosen)
    return 1 if faults else 0


def main(arguments: list[str]) -> int:
    """Run the report from a command line."""
    chosen = options(arguments)
    installation.require_start(chosen)
    with installation.opened(chosen) as product:
        return measure(product, chosen)


if __name__ == "__main__":
    command_line.run(main)
