"""The small tenant of ``bench.isolation``: what it runs and asks, and how long it waits for both.

Its executions are those of recurring tasks, evenly over time; a start delay counts from the nominal
time to the arrival at its receiver, which has no other caller. Its calls go out at their times,
whether or not earlier ones were answered: a latency counts from the call's time, so that an API
that stalls shows.
"""

from __future__ import annotations

import asyncio
import json
import secrets
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from bench.creation import body_of
from bench.failing import create
from bench.installation import Installation
from bench.members import Member
from operations.proof.campaign import Receiver
from operations.proof.client import ApiClient
from operations.proof.ledger import parse_arrival
from operations.proof.oracle import to_text

EVERY_MS = 10_000
_LEAD_MS = 5000
_CONNECTIONS = 64
#: From the end of a window until everything that was due in it should have arrived.
_GRACE_SECONDS = 3.0


@dataclass(frozen=True, slots=True)
class Recurring:
    """Tasks that fire in turn, evenly: instants from ``start_ms`` on, ``count`` in a round."""

    start_ms: int
    count: int

    def instants(self, begin_ms: int, end_ms: int) -> Iterator[int]:
        """Yield each nominal time from begin to end, the end not included."""
        for number in range(self.count):
            first = self.start_ms + number * EVERY_MS // self.count
            rounds = max(0, -(-(begin_ms - first) // EVERY_MS))
            yield from range(first + rounds * EVERY_MS, end_ms, EVERY_MS)


async def create_recurring(
    product: Installation, member: Member, target: Receiver, rate: float
) -> Recurring:
    """Create tasks that fire ``rate`` times a second together."""
    start_ms = time.time_ns() // 1_000_000 + _LEAD_MS
    found = Recurring(start_ms, max(1, round(rate * EVERY_MS / 1000)))
    tasks: list[dict[str, object]] = [
        {
            "name": f"small {number}",
            "schedule": {
                "every": f"PT{EVERY_MS // 1000}S",
                "start_at": to_text(start_ms + number * EVERY_MS // found.count),
            },
            "target": {"kind": "webhook", "url": f"{target.url}/ok", "method": "POST"},
        }
        for number in range(found.count)
    ]
    async with ApiClient(product.base_url, member.api_key) as client:
        await create(client, tasks)
    return found


class Delays:
    """The start delays of the small tenant, read from its receiver's ledger as it grows."""

    def __init__(self, recurring: Recurring, ledger: Path) -> None:
        self._recurring = recurring
        self._ledger = ledger
        self._read = 0

    def within(self, begin: float, end: float) -> tuple[list[float], int]:
        """Return the delays in milliseconds of what was due from begin to end, and how many lack.

        What has not arrived counts as delayed until now, so that it is in no percentile too little.
        """
        begin_ms, end_ms = round(begin * 1000), round(end * 1000)
        expected = sum(1 for _ in self._recurring.instants(begin_ms, end_ms))
        found = delays_of(self._lines(), begin_ms, end_ms)
        lacking = max(0, expected - len(found))
        return found + [(time.time() - begin) * 1000] * lacking, lacking

    def _lines(self) -> list[str]:
        with self._ledger.open("rb") as ledger:
            ledger.seek(self._read)
            text = ledger.read()
        # The last line may not be whole yet.
        whole = text[: text.rfind(b"\n") + 1]
        self._read += len(whole)
        return whole.decode().splitlines()


def delays_of(lines: Sequence[str], begin_ms: int, end_ms: int) -> list[float]:
    """Return the delays in milliseconds of the first arrivals of what was due in that span."""
    found: dict[tuple[str, int], float] = {}
    for line in lines:
        one = parse_arrival(json.loads(line))
        if one is not None and begin_ms <= one.at_ms < end_ms:
            found.setdefault((one.task_id, one.at_ms), one.wall_ns / 1e6 - one.at_ms)
    return list(found.values())


@dataclass(slots=True)
class Calls:
    """The latencies of the calls in milliseconds, and how many got no good answer."""

    latencies: list[float] = field(default_factory=list)
    refused: int = 0


async def call_steadily(
    product: Installation, member: Member, rate: float, seconds: float
) -> Calls:
    """Make the mixed calls at a rate; a call that got no answer counts as refused."""
    found = Calls()
    async with ApiClient(
        product.base_url, member.api_key, concurrency=_CONNECTIONS, tries=1
    ) as client:
        listed = await client.expect(200, "GET", "/v1/tasks?limit=1")
        one = listed.json()["tasks"][0]["id"]

        async def call(number: int, at: float) -> None:
            await asyncio.sleep(max(0.0, at - time.monotonic()))
            try:
                good = await _call(client, number, one)
            except (OSError, EOFError):
                good = False
            found.refused += not good
            found.latencies.append((time.monotonic() - at) * 1000)

        async with asyncio.TaskGroup() as calls:
            begin = time.monotonic()
            for number in range(round(rate * seconds)):
                calls.create_task(call(number, begin + number / rate))
    return found


async def _call(client: ApiClient, number: int, task: str) -> bool:
    """Make one of ten kinds of calls: lists, single rows, and two creations."""
    kind = number % 10
    if kind in (4, 9):
        key = secrets.token_hex(16)
        answer = await client.call("POST", "/v1/tasks", body_of(number), key=key)
        return answer.status == 201
    paths: Mapping[int, str] = {
        0: "/v1/tasks?limit=50",
        1: "/v1/executions?limit=50",
        2: f"/v1/tasks/{task}",
        3: "/v1/executions?status=FAILED&limit=50",
    }
    return (await client.call("GET", paths[kind % 4])).status == 200


async def until_arrived(end: float) -> None:
    """Wait until what was due before the end should have arrived."""
    await asyncio.sleep(max(0.0, end + _GRACE_SECONDS - time.time()))
