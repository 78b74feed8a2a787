"""Rolling restart of all processes under load: nothing missed or doubled, hardly anything late.

Each process in turn is asked to end (SIGTERM) and the next waits until its successor has been live
for five seconds; the supervisor starts it again. PostgreSQL and Valkey are not restarted. Start
delay p99 stays under two seconds.

Run: ``python -m bench.rolling_restart --start --rate 500 --seconds 140``.
"""

from __future__ import annotations

import argparse
import asyncio

from bench import campaign, command_line, installation, report
from bench.chaos.shutdown import RollingRestart
from bench.chaos.site import Site
from operations.proof.campaign import Outcome
from operations.proof.matcher import Fault
from operations.proof.oracle import Planned
from operations.proof.workload import Window, steady

P99_MS = 2000.0
#: Few are created meanwhile: the load is the executions; the API has enough to restart for.
_ONE_TIME_SHARE = 0.02
_EVERY_MS = 2000
_APART_SECONDS = 5.0


def options(arguments: list[str]) -> argparse.Namespace:
    """Return the command line's options."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rate", type=float, default=500)
    parser.add_argument("--seconds", type=float, default=120)
    parser.add_argument("--slow-share", type=float, default=0.05)
    installation.add_arguments(parser)
    report.add_arguments(parser)
    return parser.parse_args(arguments)


def plan_of(window: Window, rate: float, slow_share: float) -> list[Planned]:
    """Return the load under which processes are restarted, at a rate of executions a second."""
    return steady(
        window, rate, slow_share=slow_share, one_time_share=_ONE_TIME_SHARE, every_ms=_EVERY_MS
    )


def broken(outcome: Outcome) -> list[str]:
    """Return which promises a run broke, in words."""
    verdict = outcome.verdict
    found = [] if verdict.passed else [f"promises broken: {dict(verdict.labels)}"]
    if verdict.duplicates:
        found.append(f"{verdict.duplicates} doubled")
    if verdict.start_delay.p99 >= P99_MS:
        found.append(f"start delay p99 {verdict.start_delay.p99:.0f} ms, not under {P99_MS:g} ms")
    return found


def main(arguments: list[str]) -> int:
    """Run the report; 1 when something was missed or doubled, or too much was late."""
    chosen = options(arguments)
    installation.require_start(chosen)
    restarting = RollingRestart(_APART_SECONDS)

    pair = {"SCHEDULERS": "2", "WORKERS": "2", "RECORDERS": "2"}
    with installation.opened(chosen, **pair) as product:
        site = Site(product)

        def plan(window: Window) -> list[Planned]:
            return plan_of(window, chosen.rate, chosen.slow_share)

        async def meanwhile(window: Window) -> tuple[Fault, ...]:
            return await restarting.inject(site, window)

        outcome = asyncio.run(campaign.run(product, chosen.seconds, plan, meanwhile))
    problems = broken(outcome)
    lines = [
        f"{len(restarting.took)} processes restarted at {chosen.rate:g} executions a second",
        *report.verdict_lines(outcome.verdict),
        *(f"  {name:<16} live again after {took:.1f} s" for name, took in restarting.took.items()),
        *outcome.notes,
        *problems,
        "FAILED" if problems else "PASSED",
    ]
    figures = {
        "rate": chosen.rate,
        "seconds": chosen.seconds,
        "restarted_seconds": {name: round(took, 2) for name, took in restarting.took.items()},
        **outcome.as_json(),
        "problems": problems,
        "passed": not problems,
    }
    report.publish("rolling-restart", figures, lines, chosen)
    return 1 if problems else 0


if __name__ == "__main__":
    command_line.run(main)
