"""Cancellations raced against start and end: one final state each, and the receiver agrees.

One-time executions come due, and each is cancelled somewhere between just before its start and
just after its end. Afterwards each has ended in exactly one final state; what was cancelled
before it began never reached the receiver, what succeeded did, and an answer that said 409
(already final) is about one that had ended. Run:
``python -m bench.cancel_race --start --count 10000``.
"""

from __future__ import annotations

import argparse
import asyncio
import random
import time
from collections import Counter, defaultdict
from collections.abc import Iterable
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Any
from uuid import UUID

from bench import command_line, installation, report
from bench.failing import create, failing_task
from bench.members import Member, enter, make_member
from operations.proof.client import ApiClient
from operations.proof.ledger import Arrival, read_arrivals
from shared.ids import execution_id

#: A cancellation is sent at most this long before or after the due moment.
_BEFORE_MS, _AFTER_MS = 300.0, 500.0
_ANSWER_MS = 300
_WAVE = 400
_WAVE_SPREAD_MS = 10_000
_LEAD_MS = 4000
_PATIENCE_SECONDS = 60.0
_FINAL = frozenset({"SUCCEEDED", "FAILED", "CANCELLED"})


@dataclass(frozen=True, slots=True)
class Ended:
    """One execution as the product tells it after the race."""

    execution: str
    status: str
    attempts: int
    began: bool


def options(arguments: list[str]) -> argparse.Namespace:
    """Return the command line's options."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--count", type=int, default=10_000)
    parser.add_argument("--seed", type=int, default=1)
    installation.add_arguments(parser)
    report.add_arguments(parser)
    return parser.parse_args(arguments)


async def wave(client: ApiClient, url: str, count: int, chance: random.Random) -> dict[str, int]:
    """Create ``count`` executions and cancel each around its due moment; return the answers."""
    base_ms = time.time_ns() // 1_000_000 + _LEAD_MS
    due = [base_ms + number * _WAVE_SPREAD_MS // count for number in range(count)]
    tasks = await create(client, [failing_task(url, at, n) for n, at in enumerate(due)])
    found = await asyncio.gather(
        *(_cancel(client, task, at, chance) for task, at in zip(tasks, due, strict=True))
    )
    return dict(found)


def from_ms(milliseconds: int) -> datetime:
    """Return the moment of a whole number of milliseconds since 1970."""
    return datetime(1970, 1, 1, tzinfo=UTC) + timedelta(milliseconds=milliseconds)


async def _cancel(
    client: ApiClient, task: str, due_ms: int, chance: random.Random
) -> tuple[str, int]:
    # Derived from task and instant: asking for it would be most of the load.
    execution = str(execution_id(UUID(task), from_ms(due_ms)))
    aim = (due_ms + chance.uniform(-_BEFORE_MS, _AFTER_MS)) / 1000
    await asyncio.sleep(max(0.0, aim - time.time()))
    path = f"/v1/executions/{execution}/cancel"
    answer = await client.call("POST", path, {}, key=f"cancel-{execution}")
    return execution, answer.status


async def race(
    product: installation.Installation, member: Member, url: str, chosen: argparse.Namespace
) -> dict[str, int]:
    """Run wave after wave; return the status of each answer by execution."""
    chance = random.Random(chosen.seed)
    answers: dict[str, int] = {}
    async with ApiClient(product.base_url, member.api_key, concurrency=16) as client:
        while len(answers) < chosen.count:
            count = min(_WAVE, chosen.count - len(answers))
            answers |= await wave(client, url, count, chance)
    return answers


def read_ended(tenant_id: Any) -> list[Ended]:
    """Return every execution of the tenant with the number of attempts written."""
    from django.db.models import Count

    from executions.models import Attempt, Execution

    written = dict(
        Attempt.objects.filter(tenant_id=tenant_id)
        .values_list("execution_id")
        .annotate(count=Count("id"))
    )
    rows = Execution.objects.for_tenant(tenant_id).values_list("id", "status", "started_at")
    return [
        Ended(str(one), status, written.get(one, 0), started is not None)
        for one, status, started in rows
    ]


def faults(
    ended: Iterable[Ended], answers: dict[str, int], arrivals: Iterable[Arrival]
) -> list[str]:
    """Return a line for each execution whose end, answer and arrivals do not agree."""
    arrived: dict[str, int] = defaultdict(int)
    for arrival in arrivals:
        arrived[arrival.webhook_id] += 1
    found = []
    for one in ended:
        calls, answer = arrived[one.execution], answers.get(one.execution)
        if one.status not in _FINAL:
            found.append(f"{one.execution} is {one.status}, no final state")
        if one.attempts > 1 or calls > 1:
            found.append(f"{one.execution}: {one.attempts} attempts, {calls} requests")
        if one.status == "SUCCEEDED" and calls != 1:
            found.append(f"{one.execution} succeeded, and {calls} requests arrived")
        if one.status == "CANCELLED" and not one.began and calls:
            found.append(f"{one.execution} was cancelled before it began, and a request arrived")
        if answer not in (202, 409):
            found.append(f"{one.execution}: its cancellation was answered {answer}")
        if answer == 409 and one.status == "CANCELLED":
            found.append(f"{one.execution}: refused as final, and cancelled all the same")
    return found


async def until_final(tenant_id: Any) -> list[Ended]:
    """Wait until everything has ended; return how."""
    deadline = time.monotonic() + _PATIENCE_SECONDS
    while True:
        ended = await asyncio.to_thread(read_ended, tenant_id)
        if all(one.status in _FINAL for one in ended) or time.monotonic() > deadline:
            return ended
        await asyncio.sleep(0.5)


def measure(product: installation.Installation, chosen: argparse.Namespace) -> int:
    """Race, judge, publish; 1 when anything does not agree."""
    enter(product)
    member = make_member()
    begun = time.monotonic()
    with installation.receiver() as target:
        url = f"{target.url}/slow?ms={_ANSWER_MS}"
        answers = asyncio.run(race(product, member, url, chosen))
        ended = asyncio.run(until_final(member.tenant_id))
        arrivals, _ = read_arrivals(target.ledger)
    seconds = time.monotonic() - begun
    wrong = faults(ended, answers, arrivals)
    if len(ended) != chosen.count:
        wrong.append(f"{len(ended)} executions, not {chosen.count}")
    states = Counter(f"{one.status}{' begun' if one.began else ''}" for one in ended)
    said = Counter(answers.values())
    figures = {
        "count": chosen.count,
        "seconds": round(seconds, 1),
        "states": dict(states),
        "answers": {str(status): count for status, count in said.items()},
        "arrived": len(arrivals),
        "faults": wrong,
        "passed": not wrong,
    }
    lines = [
        f"{len(answers)} cancellations in {seconds:.0f} s, answered: "
        + ", ".join(f"{status} {count}" for status, count in sorted(said.items())),
        "ended: " + ", ".join(f"{status} {count}" for status, count in sorted(states.items())),
        f"{len(arrivals)} requests arrived; disagreements: {len(wrong)}",
        *wrong[:20],
        "FAILED" if wrong else "PASSED",
    ]
    report.publish("cancel-race", figures, lines, chosen)
    return 1 if wrong else 0


def main(arguments: list[str]) -> int:
    """Run the report from a command line."""
    chosen = options(arguments)
    installation.require_start(chosen)
    with installation.opened(chosen) as product:
        return measure(product, chosen)


if __name__ == "__main__":
    command_line.run(main)
