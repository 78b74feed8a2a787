"""A day of mixed work in ten minutes: nothing missed, nothing doubled, nothing early.

2,000 tasks, one-time, cron and fixed rate, some failing, some slow, judged against an
independent oracle. Run: ``python -m bench.mixed_day --start``.
"""

from __future__ import annotations

import argparse
import asyncio

from bench import campaign, command_line, installation, report
from operations.proof.campaign import delays_by_kind
from operations.proof.oracle import Planned
from operations.proof.workload import Window, mixed_day


def options(arguments: list[str]) -> argparse.Namespace:
    """Return the command line's options."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--minutes", type=float, default=10)
    parser.add_argument("--tasks", type=int, default=2000)
    parser.add_argument("--seed", type=int, default=1)
    installation.add_arguments(parser)
    report.add_arguments(parser)
    return parser.parse_args(arguments)


def main(arguments: list[str]) -> int:
    """Run the report; 1 when a promise was broken."""
    chosen = options(arguments)

    def plan(window: Window) -> list[Planned]:
        return mixed_day(window, chosen.tasks, chosen.seed)

    with installation.opened(chosen) as product:
        outcome = asyncio.run(campaign.run(product, chosen.minutes * 60, plan))
    verdict = outcome.verdict
    right_letters = outcome.dead_letters == verdict.labels["failed"]
    lines = [
        *report.verdict_lines(verdict),
        *(f"  {kind}: {delays}" for kind, delays in delays_by_kind(verdict)),
        f"dead letters {outcome.dead_letters}, failing executions {verdict.labels['failed']}",
        *outcome.notes,
    ]
    passed = verdict.passed and right_letters
    figures = {"seed": chosen.seed, **outcome.as_json(), "passed": passed}
    lines.append("PASSED" if passed else "FAILED")
    report.publish("mixed-day", figures, lines, chosen)
    return 0 if passed else 1


if __name__ == "__main__":
    command_line.run(main)
