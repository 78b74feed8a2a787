"""An alert storm beside a steady load: what it costs dispatch, and who hears how often.

A tenant has 10,000 failures of three causes within each window, its alert rules on and off in
turns; another tenant runs steadily beside it. The steady tenant's start delay p99 with the alerts
may be above that without them by 10 % or by 5 ms, whichever is more; the medians of the windows
count. In a window with alerts every failure has to be counted, and the tenant's member gets three
messages at most. Run: ``python -m bench.alert_storm --start``.
"""

from __future__ import annotations

import argparse
import asyncio
import statistics
import time
from collections.abc import Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from typing import Any
from urllib.parse import urlsplit

from bench import backlogs, command_line, installation, report, saturation
from bench.alert_books import read_books
from bench.backlogs import Backlog
from bench.failing import until_failed
from bench.isolation_small import Delays, create_recurring, until_arrived
from bench.mailbox import Mailbox, mailbox
from bench.members import Member, enter, make_member
from operations.proof.campaign import Receiver
from operations.proof.client import ApiClient
from operations.proof.percentiles import Distribution, distribution

#: By how much the start delay p99 may rise: a share of it, or milliseconds.
SHARE, MOST_MS = 0.1, 5.0
MOST_MESSAGES = 3
_STATUSES = (500, 503, 404)
_LEAD_SECONDS = 3.0
_WARM_SECONDS = 10.0
#: From the end of a storm until its failures are recorded, counted and told.
_PATIENCE_SECONDS = 60.0
_TOLD_SECONDS = 5.0


@dataclass(frozen=True, slots=True)
class Window:
    """What the steady tenant has seen beside a storm, and what came of the storm."""

    with_alerts: bool
    delay: Distribution
    lacking: int
    failed: int
    counted: int
    messages: int

    def as_json(self) -> dict[str, Any]:
        """Return the figures for the stored result."""
        return {
            "with_alerts": self.with_alerts,
            "delay_ms": self.delay.as_json(),
            "lacking": self.lacking,
            "failed": self.failed,
            "counted": self.counted,
            "messages": self.messages,
        }

    def __str__(self) -> str:
        """Return one line for people."""
        side = "with alerts" if self.with_alerts else "without"
        return (
            f"{side}: start delay {self.delay}; {self.failed} failed, {self.counted} counted, "
            f"{self.messages} messages"
        )


def options(arguments: list[str]) -> argparse.Namespace:
    """Return the command line's options."""
    parser = argparse.ArgumentParser(prog="python -m bench.alert_storm", description=__doc__)
    parser.add_argument("--failures", type=command_line.above_zero, default=10_000)
    parser.add_argument("--seconds", type=float, default=60, help="of each window")
    parser.add_argument("--rounds", type=command_line.above_zero, default=3, help="of each side")
    parser.add_argument("--rate", type=float, default=50, help="steady executions a second")
    installation.add_arguments(parser)
    report.add_arguments(parser)
    return parser.parse_args(arguments)


def allowed_p99(without: float) -> float:
    """Return the most that the p99 with alerts may be, in milliseconds."""
    return without + max(without * SHARE, MOST_MS)


def faults_of(windows: Sequence[Window], failures: int) -> list[str]:
    """Return a line for each promise that was broken."""
    found = []
    sides = {
        side: [one.delay.p99 for one in windows if one.with_alerts is side]
        for side in (False, True)
    }
    without, beside = (statistics.median(sides[side]) for side in (False, True))
    if beside > allowed_p99(without):
        found.append(f"start delay p99 {beside:.1f} ms, over {allowed_p99(without):.1f}")
    for number, one in enumerate(windows, 1):
        wanted = failures if one.with_alerts else 0
        if (one.failed, one.counted) != (failures, wanted):
            found.append(f"window {number}: {one.failed} failed, {one.counted} were counted")
        if one.messages > MOST_MESSAGES or (one.with_alerts and not one.messages):
            found.append(f"window {number}: {one.messages} messages")
        if one.lacking:
            found.append(f"window {number}: {one.lacking} executions lacking")
    return found


class Stand:
    """The installation with a steady tenant on it, and a receiver that fails."""

    def __init__(
        self, product: installation.Installation, delays: Delays, target: Receiver, mails: Mailbox
    ) -> None:
        self._product = product
        self._delays = delays
        self._target = target
        self._mails = mails

    def window(self, chosen: argparse.Namespace, *, with_alerts: bool) -> Window:
        """Measure the steady tenant while a new one fails."""
        member = make_member()
        if not with_alerts:
            _switch_off(member)
        asyncio.run(self._without_circuit(member))
        urls = [f"{self._target.url}/status/{status}" for status in _STATUSES]
        step_ms = chosen.seconds * 1000 / chosen.failures
        backlog = Backlog(urls[0], chosen.failures, step_ms=step_ms, others=tuple(urls[1:]))
        tasks = backlogs.tasks_of(self._product, member, backlog)
        begin = time.time() + _LEAD_SECONDS
        backlogs.fill(self._product, backlog, tasks, begin)
        end = begin + chosen.seconds
        saturation.wait(end - time.time())
        failed = asyncio.run(self._settle(member, chosen.failures, end))
        delays, lacking = self._delays.within(begin, end)
        books = read_books(member.tenant_id)
        return Window(
            with_alerts,
            distribution(delays),
            lacking,
            failed,
            sum(alert.count for alert in books.alerts),
            len(self._mails.to(member.address)),
        )

    async def _settle(self, member: Member, failures: int, end: float) -> int:
        await until_arrived(end)
        failed = await until_failed(member.tenant_id, failures, _PATIENCE_SECONDS)
        await asyncio.sleep(_TOLD_SECONDS)
        return failed

    async def _without_circuit(self, member: Member) -> None:
        """Let the calls go on although all of them fail."""
        async with ApiClient(self._product.base_url, member.api_key) as client:
            path = f"/v1/destinations/{urlsplit(self._target.url).netloc}"
            await client.expect(200, "PATCH", path, {"breaker": False})


def _switch_off(member: Member) -> None:
    from notifications.services.rules import list_rules, update_rule
    from shared.actor import COMMAND

    for rule in list_rules(member.tenant_id):
        update_rule(member.tenant_id, rule.pk, {"enabled": False}, actor=COMMAND)


def measure(
    product: installation.Installation, mails: Mailbox, chosen: argparse.Namespace
) -> list[Window]:
    """Measure both sides in turns; the side that begins changes with each round."""
    enter(product)
    with ExitStack() as stack:
        steady, failing = (stack.enter_context(installation.receiver()) for _ in range(2))
        recurring = asyncio.run(create_recurring(product, make_member(), steady, chosen.rate))
        stand = Stand(product, Delays(recurring, steady.ledger), failing, mails)
        saturation.wait(_WARM_SECONDS)
        windows = []
        for number in range(chosen.rounds):
            for with_alerts in (False, True) if number % 2 == 0 else (True, False):
                windows.append(stand.window(chosen, with_alerts=with_alerts))
                print(windows[-1], flush=True)
    return windows


def publish(windows: Sequence[Window], chosen: argparse.Namespace) -> int:
    """Print and store what came of it; 1 when a promise was broken."""
    faults = faults_of(windows, chosen.failures)
    figures: dict[str, Any] = {
        "failures": chosen.failures,
        "seconds": chosen.seconds,
        "rate": chosen.rate,
        "windows": [one.as_json() for one in windows],
        "faults": faults,
        "passed": not faults,
    }
    lines = [
        f"{chosen.failures} failures of three causes in {chosen.seconds:g} s beside "
        f"{chosen.rate:g} executions a second, alert rules off and on in turns",
        *(str(one) for one in windows),
        *faults,
        "FAILED" if faults else "PASSED",
    ]
    report.publish("alert-storm", figures, lines, chosen)
    return 1 if faults else 0


def main(arguments: list[str]) -> int:
    """Run the report from a command line."""
    chosen = options(arguments)
    installation.require_start(chosen)
    with mailbox() as mails, installation.opened(chosen, EMAIL_URL=mails.url) as product:
        return publish(measure(product, mails, chosen), chosen)


if __name__ == "__main__":
    command_line.run(main)
