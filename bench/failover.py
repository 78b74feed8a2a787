"""Two schedulers, one stopped under load: its partitions move within 10 s, each instant runs once.

Seen from outside: how late the latest start after the stop was. ``--start`` starts two
schedulers. Run: ``python -m bench.failover --start``.
"""

from __future__ import annotations

import argparse
import asyncio
import signal

from bench import campaign, command_line, installation, report
from bench.kill import Interference
from operations.proof.oracle import Planned
from operations.proof.workload import Window, steady

TARGET_MS = 10_000.0


def options(arguments: list[str]) -> argparse.Namespace:
    """Return the command line's options."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rate", type=float, default=50)
    parser.add_argument("--seconds", type=float, default=90)
    parser.add_argument("--stop-at", type=float, default=40, help="seconds into the load")
    parser.add_argument("--signal", choices=("TERM", "KILL"), default="TERM")
    installation.add_arguments(parser)
    report.add_arguments(parser)
    return parser.parse_args(arguments)


def main(arguments: list[str]) -> int:
    """Run the report; 1 when a start was later than 10 s or an instant did not run once."""
    chosen = options(arguments)

    def plan(window: Window) -> list[Planned]:
        return steady(window, chosen.rate)

    with installation.opened(chosen, SCHEDULERS="2") as product:
        schedulers = [pid for kind, pid in product.processes() if kind == "scheduler"]
        if len(schedulers) < 2:
            raise installation.InstallationError("two schedulers are needed (SCHEDULERS=2)")
        number = signal.Signals[f"SIG{chosen.signal}"]
        # A scheduler sends nothing: no request is in doubt, so no duplicate is excused.
        stop = Interference(
            lambda: product.signal_one("scheduler", number),
            f"SIG{chosen.signal} scheduler",
            chosen.stop_at,
            0.0,
        )
        outcome = asyncio.run(campaign.run(product, chosen.seconds, plan, stop))
    verdict = outcome.verdict
    latest = verdict.start_delay.max
    passed = verdict.passed and verdict.duplicates == 0 and latest < TARGET_MS
    lines = [
        f"SIG{chosen.signal} to one of {len(schedulers)} schedulers after {chosen.stop_at:g} s",
        *report.verdict_lines(verdict),
        f"latest start {latest:.0f} ms after its time (target under {TARGET_MS:.0f} ms)",
        *outcome.notes,
        "PASSED" if passed else "FAILED",
    ]
    figures = {"signal": chosen.signal, **outcome.as_json(), "passed": passed}
    report.publish("failover", figures, lines, chosen)
    return 0 if passed else 1


if __name__ == "__main__":
    command_line.run(main)
