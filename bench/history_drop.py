"""The start delay under a steady load, before and while whole days of history are dropped.

Rounds of two windows: one in which nothing else happens, one in which a day leaves every few
seconds, by the very function that housekeeping calls. The medians of their p99 are compared.
"""

from __future__ import annotations

import argparse
import asyncio
import statistics
import tempfile
import time
from dataclasses import dataclass, field, replace
from datetime import timedelta
from typing import Any

from bench import campaign, report
from bench.history_rows import History
from bench.installation import Installation, InstallationError
from operations.proof.campaign import Outcome, nothing, until
from operations.proof.matcher import Fault
from operations.proof.oracle import Planned
from operations.proof.percentiles import distribution
from operations.proof.workload import Window, steady

#: By how much the p99 may move.
TARGET_RATIO = 1.10
_TABLES_OF_A_DAY = 3
_TRIES = 5


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the options of the drop."""
    parser.add_argument("--drop-under-load", action="store_true")
    parser.add_argument("--rate", type=float, default=100)
    parser.add_argument("--seconds", type=float, default=60, help="of each window")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--drops", type=int, default=10, help="days dropped per round")
    parser.add_argument("--archive", action="store_true", help="archive each day before its drop")


@dataclass(slots=True)
class Dropper:
    """Drops the oldest days, evenly over a window; keeps how long each took."""

    days: list[str]
    seconds: list[float] = field(default_factory=list)

    async def __call__(self, window: Window) -> tuple[Fault, ...]:
        """Drop the days while the load runs; nothing is a fault."""
        step = window.length_ms / len(self.days)
        for number, day in enumerate(self.days):
            await until(round(window.begin_ms + number * step))
            self.seconds.append(await asyncio.to_thread(_drop, day))
        return ()


def measure(product: Installation, chosen: argparse.Namespace, history: History) -> int:
    """Run the rounds and publish; 1 when the load was held up or lost anything."""
    if chosen.rounds * chosen.drops > chosen.days:
        raise InstallationError("give --days for all the drops: --rounds times --drops")
    before: list[Outcome] = []
    during: list[Outcome] = []
    droppers = [Dropper(days) for days in rounds_of(_days(chosen.days), chosen)]
    with tempfile.TemporaryDirectory(prefix="punctual-archive-") as directory:
        _configure(directory if chosen.archive else "")
        for dropper in droppers:
            before.append(_run(product, chosen, nothing))
            during.append(_run(product, chosen, dropper))
    seconds = [one for dropper in droppers for one in dropper.seconds]
    return publish(chosen, history, (before, during), seconds)


def publish(
    chosen: argparse.Namespace,
    history: History,
    runs: tuple[list[Outcome], list[Outcome]],
    seconds: list[float],
) -> int:
    """Publish what the rounds gave."""
    before, during = runs
    ratio = ratio_of([p99_of(one) for one in before], [p99_of(one) for one in during])
    kept = all(one.verdict.passed for one in (*before, *during))
    passed = kept and ratio < TARGET_RATIO
    took = distribution(1000 * one for one in seconds)
    figures: dict[str, Any] = {
        "rows": chosen.rows,
        "bytes": history.bytes,
        "rate": chosen.rate,
        "seconds": chosen.seconds,
        "archive": chosen.archive,
        "before_ms": [one.verdict.start_delay.as_json() for one in before],
        "during_ms": [one.verdict.start_delay.as_json() for one in during],
        "ratio_p99": round(ratio, 3),
        "drop_ms": took.as_json(),
        "passed": passed,
    }
    lines = [
        f"{chosen.rate:g} executions a second, {chosen.drops} days dropped per round of "
        f"{chosen.seconds:g} s{', each archived before' if chosen.archive else ''}",
        *(f"before: {one.verdict.start_delay}" for one in before),
        *(f"during: {one.verdict.start_delay}" for one in during),
        f"p99 moves by the factor {ratio:.2f}, medians compared (target under {TARGET_RATIO:g})",
        f"a day of {chosen.rows // chosen.days} rows is gone after {took}",
        *(line for one in (*before, *during) for line in report.verdict_lines(one.verdict)[:1]),
        "PASSED" if passed else "FAILED",
    ]
    report.publish("history-drop", figures, lines, chosen)
    return 0 if passed else 1


def rounds_of(days: list[str], chosen: argparse.Namespace) -> list[list[str]]:
    """Return the days that each round drops, the oldest first."""
    return [
        days[number * chosen.drops : (number + 1) * chosen.drops] for number in range(chosen.rounds)
    ]


def ratio_of(before: list[float], during: list[float]) -> float:
    """Return by which factor the median moved; 0 where nothing was measured."""
    first = statistics.median(before) if before else 0.0
    return statistics.median(during) / first if first and during else 0.0


def p99_of(outcome: Outcome) -> float:
    """Return the p99 of the start delay at the receiver, in milliseconds."""
    return outcome.verdict.start_delay.p99


def _run(product: Installation, chosen: argparse.Namespace, meanwhile: Any) -> Outcome:
    def plan(window: Window) -> list[Planned]:
        return steady(window, chosen.rate)

    return asyncio.run(campaign.run(product, chosen.seconds, plan, meanwhile))


def _days(count: int) -> list[str]:
    """Return the names of the filled days, the oldest first."""
    from executions.loop.clocks import database_now

    today = database_now()
    return [f"{today - timedelta(days=ago):%Y%m%d}" for ago in range(count, 0, -1)]


def _configure(archive_dir: str) -> None:
    from django.conf import settings

    from shared.conf import conf

    settings.PUNCTUAL = replace(conf(), archive_dir=archive_dir)


def _drop(day: str) -> float:
    """Let a day go as housekeeping does; return the seconds it took."""
    from django.db import connection

    from executions.ledger import days as ledger
    from executions.ledger import retention

    following = f"{ledger.day_of(day) + timedelta(days=1):%Y%m%d}"
    try:
        begun = time.perf_counter()
        dropped = 0
        for _ in range(_TRIES):
            dropped += retention.drop_days(following)
            if dropped == _TABLES_OF_A_DAY:
                return time.perf_counter() - begun
        raise InstallationError(f"only {dropped} tables of {day} were dropped")
    finally:
        # Of this thread only.
        connection.close()
