"""Kill -9 of one process under load: nothing missed, doubled only what was in flight.

A share of the webhooks is slow, so that requests are in flight at the kill.
Run: ``python -m bench.kill --start --kind worker``.
"""

from __future__ import annotations

import argparse
import asyncio
import signal
import time
from collections.abc import Callable

from bench import campaign, command_line, installation, report
from operations.proof.campaign import until
from operations.proof.matcher import Fault
from operations.proof.oracle import Planned
from operations.proof.workload import Window, steady

#: How long around the kill an answered request may not have been reported yet: the worker's
#: buffer and the batch on its way, with a wide margin.
DOUBT_SECONDS = 0.5


def options(arguments: list[str]) -> argparse.Namespace:
    """Return the command line's options."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--kind", choices=installation.KILLABLE, required=True)
    parser.add_argument("--rate", type=float, default=100)
    parser.add_argument("--seconds", type=float, default=120)
    parser.add_argument("--kill-at", type=float, default=40, help="seconds into the load")
    parser.add_argument("--slow-share", type=float, default=0.1)
    installation.add_arguments(parser)
    report.add_arguments(parser)
    return parser.parse_args(arguments)


class Interference:
    """Stops one process of a kind at a moment of the window."""

    def __init__(
        self,
        strike: Callable[[], int],
        what: str,
        after_seconds: float,
        doubt_seconds: float,
    ) -> None:
        self._strike = strike
        self._what = what
        self._after_ms = round(after_seconds * 1000)
        self._doubt_ns = round(doubt_seconds * 1e9)
        self.at_ns = 0

    async def __call__(self, window: Window) -> tuple[Fault, ...]:
        """Strike at the moment and return the fault with its time of doubt."""
        await until(window.begin_ms + self._after_ms)
        pid = await asyncio.to_thread(self._strike)
        self.at_ns = time.time_ns()
        print(f"{self._what}: process {pid}", flush=True)
        return (Fault(self._what, self.at_ns, self._doubt_ns, self._doubt_ns),)


def main(arguments: list[str]) -> int:
    """Run the report; 1 when something was missed, or doubled without cause."""
    chosen = options(arguments)

    def plan(window: Window) -> list[Planned]:
        return steady(window, chosen.rate, slow_share=chosen.slow_share)

    # One of each: no other process takes over what the killed one had.
    with installation.opened(chosen, WORKERS="1") as product:
        strike = Interference(
            lambda: product.signal_one(chosen.kind, signal.SIGKILL),
            f"kill -9 {chosen.kind}",
            chosen.kill_at,
            DOUBT_SECONDS,
        )
        outcome = asyncio.run(campaign.run(product, chosen.seconds, plan, strike))
    verdict = outcome.verdict
    passed = verdict.passed
    lines = [
        f"kill -9 of one {chosen.kind} after {chosen.kill_at:g} s at {chosen.rate:g} a second",
        *report.verdict_lines(verdict),
        f"requests in flight at the kill: {verdict.in_flight_at_faults}",
        *outcome.notes,
        "PASSED" if passed else "FAILED",
    ]
    figures = {
        "kind": chosen.kind,
        "rate": chosen.rate,
        "kill_at_seconds": chosen.kill_at,
        **outcome.as_json(),
        "passed": passed,
    }
    report.publish(f"kill-{chosen.kind}", figures, lines, chosen)
    return 0 if passed else 1


if __name__ == "__main__":
    command_line.run(main)
