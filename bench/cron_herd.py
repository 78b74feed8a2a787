"""A hundred thousand cron schedules that fire within the same five minutes: how late they start.

Spread over the seconds of the five minutes, or with ``--full-minutes`` each at the first second of
its minute, so that a fifth of all are due at one instant, five times over; in several zones. Every
webhook is awaited at the receiver; one more, or one that came early, is a fault.
Run: ``python -m bench.cron_herd --start --schedules 100000``.
"""

from __future__ import annotations

import argparse
import asyncio
import threading
import time
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Any
from uuid import uuid4
from zoneinfo import ZoneInfo

from bench import command_line, installation, report
from bench.installation import Installation, InstallationError
from bench.peers import target
from bench.peers.plan import payload
from bench.peers.target import Arrival, Target, await_calls
from operations.proof.client import ApiClient
from operations.proof.percentiles import distribution

#: At p95, of the start delay.
TARGET_MS = 1000.0
_ZONES = ("UTC", "Europe/Berlin", "America/New_York", "Asia/Kolkata", "Australia/Sydney")
_CALL = 5000
#: Created in a second, at least; and how long what is created may take to be prepared.
_CREATED_PER_SECOND = 800
_LEAD = timedelta(seconds=30)
_MINUTE = timedelta(minutes=1)
_STALL_SECONDS = 60.0


@dataclass(frozen=True, slots=True)
class Herd:
    """``count`` schedules, spread evenly over ``minutes`` from ``first`` on, ``step`` apart."""

    count: int
    minutes: int
    first: datetime
    step: timedelta = _MINUTE

    @property
    def instants(self) -> int:
        """How many instants share the schedules."""
        return self.minutes * _MINUTE // self.step

    def due(self, number: int) -> datetime:
        """Return the instant at which a schedule fires."""
        return self.first + number % self.instants * self.step

    def body(self, number: int, url: str) -> dict[str, Any]:
        """Return the task of a schedule, whose own zone says the second, minute and hour."""
        zone = _ZONES[number % len(_ZONES)]
        at = self.due(number).astimezone(ZoneInfo(zone))
        expression = f"{at.second} {at.minute} {at.hour} * * *"
        return {
            "name": f"herd {number}",
            "schedule": {"cron_expression": expression, "timezone": zone},
            "target": {"url": f"{url}/hook/{number}"},
            "payload": payload(number),
        }

    def delays(self, arrivals: Sequence[Arrival]) -> list[float]:
        """Return how late each arrived, in milliseconds; a negative one came early."""
        return [at_ns / 1e6 - self.due(number).timestamp() * 1000 for number, at_ns in arrivals]


def first_minute(now: datetime, count: int) -> datetime:
    """Return the first minute that leaves time to create ``count`` schedules."""
    ready = now + _LEAD + timedelta(seconds=count / _CREATED_PER_SECOND)
    return ready.replace(second=0, microsecond=0) + _MINUTE


def options(arguments: list[str]) -> argparse.Namespace:
    """Return the command line's options."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--schedules", type=int, default=100_000)
    parser.add_argument("--minutes", type=int, default=5)
    parser.add_argument("--full-minutes", action="store_true", help="none within a minute")
    installation.add_arguments(parser)
    report.add_arguments(parser)
    return parser.parse_args(arguments)


async def create(product: Installation, herd: Herd, url: str) -> None:
    """Create every schedule; InstallationError when the first minute came meanwhile."""
    async with ApiClient(product.base_url, product.api_key, concurrency=1) as client:
        for begin in range(0, herd.count, _CALL):
            numbers = range(begin, min(herd.count, begin + _CALL))
            body = {"tasks": [herd.body(number, url) for number in numbers], "atomic": True}
            await client.expect(200, "POST", "/v1/tasks/bulk", body, key=str(uuid4()))
    if datetime.now(UTC) > herd.first - _LEAD / 2:
        raise InstallationError("creating took longer than was allowed for")


def await_all(receiver: Target, herd: Herd) -> None:
    """Wait until all have arrived, or none has for a minute after the last was due."""
    last = herd.due(herd.instants - 1).timestamp()
    threading.Event().wait(max(0.0, last - time.time()))
    await_calls(receiver, herd.count, stall_seconds=_STALL_SECONDS, look_seconds=0.5)


def publish(herd: Herd, arrivals: Sequence[Arrival], chosen: argparse.Namespace) -> int:
    """Print and store what came of it; 1 for a missed target or a broken promise."""
    delays = herd.delays(arrivals)
    late = distribution(delays)
    missed = herd.count - len({number for number, _ in arrivals})
    doubled = len(arrivals) - (herd.count - missed)
    early = sum(delay < 0 for delay in delays)
    faults = [
        f"{count} {what}"
        for count, what in ((missed, "missed"), (doubled, "doubled"), (early, "early"))
        if count
    ]
    if late.p95 > TARGET_MS:
        faults.append(f"target missed: p95 {late.p95:.0f} ms (target {TARGET_MS:g})")
    at_once = -(-herd.count // herd.instants)
    lines = [
        f"{herd.count} cron schedules in {herd.minutes} minutes, {at_once} at one instant",
        f"start delay at the receiver: {late}",
        *faults,
        "FAILED" if faults else "PASSED",
    ]
    figures = {
        "schedules": herd.count,
        "minutes": herd.minutes,
        "at_one_instant": at_once,
        "start_delay_ms": late.as_json(),
        "missed": missed,
        "doubled": doubled,
        "early": early,
        "faults": faults,
        "passed": not faults,
    }
    report.publish("cron-herd", figures, lines, chosen)
    return 1 if faults else 0


def main(arguments: list[str]) -> int:
    """Run the report from a command line."""
    chosen = options(arguments)
    installation.require_start(chosen)
    with installation.opened(chosen) as product, target.running() as receiver:
        first = first_minute(datetime.now(UTC), chosen.schedules)
        step = _MINUTE if chosen.full_minutes else timedelta(seconds=1)
        herd = Herd(chosen.schedules, chosen.minutes, first, step)
        asyncio.run(create(product, herd, receiver.url))
        await_all(receiver, herd)
        arrivals = receiver.arrivals()
    return publish(herd, arrivals, chosen)


if __name__ == "__main__":
    command_line.run(main)
