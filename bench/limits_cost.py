"""What limits on destinations cost while they never bind: executions a second with and without.

A backlog of webhooks to several hosts, all due at one moment, is worked off in turn without limits
and with limits far above what is reached, each turn by a tenant of its own. The median round may
differ by a tenth. Run: ``python -m bench.limits_cost --start --count 60000 --rounds 3``.
"""

from __future__ import annotations

import argparse
import asyncio
import statistics
import threading
import time
from collections.abc import Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit
from uuid import UUID

from bench import command_line, installation, report
from bench.failing import create, failing_task
from bench.members import Member, enter, make_member
from operations.proof.campaign import Receiver
from operations.proof.client import ApiClient

#: By how much the backlog may take longer with limits.
TARGET_RATIO = 1.10
LIMITS = {"max_in_flight": 50_000, "rate_per_second": 50_000}
_LEAD_MS = 5000
_DAY_MS = 86_400_000
#: Tasks created in a second, at least; how far ahead of the due time creating begins.
_CREATED_PER_SECOND = 1000
_PATIENCE_SECONDS = 600.0
_WARM_UP = 1000


@dataclass(frozen=True, slots=True)
class Turn:
    """One backlog worked off."""

    limited: bool
    per_second: float


def options(arguments: list[str]) -> argparse.Namespace:
    """Return the command line's options."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--count", type=int, default=60_000)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--hosts", type=int, default=4)
    installation.add_arguments(parser)
    report.add_arguments(parser)
    return parser.parse_args(arguments)


def backlog(urls: Sequence[str], count: int, at_ms: int) -> list[dict[str, object]]:
    """Return ``count`` one-time tasks due at one moment, in turn to each URL."""
    return [failing_task(urls[number % len(urls)], at_ms, number) for number in range(count)]


async def create_all(
    product: installation.Installation,
    member: Member,
    urls: Sequence[str],
    count: int,
    limits: dict[str, int] | None,
) -> int:
    """Create the backlog, with limits on each destination if given; return when it is due."""
    async with ApiClient(product.base_url, member.api_key) as client:
        # A destination is known by the tasks that call it; without limits the same is done.
        far_ms = time.time_ns() // 1_000_000 + _DAY_MS
        await create(client, backlog(urls, len(urls), far_ms))
        for url in urls if limits else ():
            path = f"/v1/destinations/{urlsplit(url).netloc}"
            await client.expect(200, "PATCH", path, limits)
        at_ms = time.time_ns() // 1_000_000 + _LEAD_MS + count * 1000 // _CREATED_PER_SECOND
        await create(client, backlog(urls, count, at_ms))
    if time.time_ns() // 1_000_000 > at_ms - 1000:
        raise installation.InstallationError("creating took longer than was allowed for")
    return at_ms


def succeeded(tenant_id: UUID) -> tuple[int, float]:
    """Return how many executions have succeeded, and when the last one ended (Unix seconds)."""
    from django.db.models import Count, Max

    from executions.choices import Status
    from executions.models import Execution

    found = Execution.objects.for_tenant(tenant_id).filter(status=Status.SUCCEEDED)
    figures = found.aggregate(count=Count("id"), last=Max("finished_at"))
    return figures["count"], figures["last"].timestamp() if figures["last"] else 0.0


class Arrivals:
    """How many calls the receivers have noted since it was made.

    To ask the database again and again would cost the backlog half of its rate.
    """

    def __init__(self, ledgers: Sequence[Path]) -> None:
        self._ends = {path: path.stat().st_size for path in ledgers}
        self._count = 0

    def count(self) -> int:
        """Read on, and return how many there are by now."""
        for path, end in self._ends.items():
            with path.open("rb") as ledger:
                ledger.seek(end)
                found = ledger.read()
            self._ends[path] = end + len(found)
            self._count += found.count(b"\n")
        return self._count


def work_off(
    product: installation.Installation,
    targets: Sequence[Receiver],
    count: int,
    limits: dict[str, int] | None,
) -> float:
    """Let a new tenant work off a backlog; return its executions a second."""
    member, arrivals = make_member(), Arrivals([target.ledger for target in targets])
    urls = [f"{target.url}/ok" for target in targets]
    at_ms = asyncio.run(create_all(product, member, urls, count, limits))
    deadline = time.monotonic() + (at_ms / 1000 - time.time()) + _PATIENCE_SECONDS
    pause = threading.Event()
    while time.monotonic() < deadline:
        pause.wait(0.5)
        if arrivals.count() >= count:
            done, last = succeeded(member.tenant_id)
            if done >= count:
                return count / (last - at_ms / 1000)
    raise installation.InstallationError(f"{arrivals.count()} of {count} arrived in time")


def ratio(turns: Sequence[Turn]) -> float:
    """Return how many times as long a backlog takes with limits: the median of the rounds."""
    free = [turn.per_second for turn in turns if not turn.limited]
    limited = [turn.per_second for turn in turns if turn.limited]
    # Of turns beside each other: a machine's speed changes from minute to minute.
    return statistics.median(one / other for one, other in zip(free, limited, strict=True))


def measure(product: installation.Installation, chosen: argparse.Namespace) -> int:
    """Work off the backlogs in turn and publish; 1 when limits cost more than allowed."""
    enter(product)
    turns = []
    with ExitStack() as stack:
        targets = [stack.enter_context(installation.receiver()) for _ in range(chosen.hosts)]
        work_off(product, targets, min(_WARM_UP, chosen.count), None)
        for _ in range(chosen.rounds):
            for limits in (None, LIMITS):
                turns.append(Turn(bool(limits), work_off(product, targets, chosen.count, limits)))
                print(_line(turns[-1]), flush=True)
    return publish(turns, chosen)


def publish(turns: Sequence[Turn], chosen: argparse.Namespace) -> int:
    """Print and store what came of it; 1 when limits cost more than allowed."""
    cost = ratio(turns)
    passed = cost <= TARGET_RATIO
    figures: dict[str, Any] = {
        "count": chosen.count,
        "hosts": chosen.hosts,
        "limits": LIMITS,
        "turns": [
            {"limited": turn.limited, "per_second": round(turn.per_second, 1)} for turn in turns
        ],
        "ratio": round(cost, 3),
        "passed": passed,
    }
    lines = [
        f"{chosen.count} executions due at once for {chosen.hosts} hosts, in turn:",
        *(_line(turn) for turn in turns),
        f"with limits a backlog takes {cost:.3f} times as long (target {TARGET_RATIO:g})",
        "PASSED" if passed else "FAILED",
    ]
    report.publish("limits-cost", figures, lines, chosen)
    return 0 if passed else 1


def _line(turn: Turn) -> str:
    return f"  {'with' if turn.limited else 'without'} limits: {turn.per_second:.0f} a second"


def main(arguments: list[str]) -> int:
    """Run the report from a command line."""
    chosen = options(arguments)
    installation.require_start(chosen)
    with installation.opened(chosen) as product:
        return measure(product, chosen)


if __name__ == "__main__":
    command_line.run(main)
