"""``make chaos``: injects every fault of the table, or those named, and judges each.

Installations of its own; experiments of one stand share one. Exit codes as every report.
"""

from __future__ import annotations

import argparse
import itertools
import sys

from bench import command_line, report
from bench.chaos import page
from bench.chaos.experiment import Experiment, NotRun, Result, run
from bench.chaos.site import CannotRunError
from bench.chaos.table import EXPERIMENTS

COULD_NOT_RUN = 2


def options(arguments: list[str]) -> argparse.Namespace:
    """Return the command line's options."""
    parser = argparse.ArgumentParser(prog="python -m bench.chaos", description=__doc__)
    parser.add_argument("ids", nargs="*", metavar="ID", help="faults to inject; all unless given")
    parser.add_argument("--list", action="store_true", help="name the faults and inject none")
    parser.add_argument("--quick", action="store_true", help="the short selection")
    parser.add_argument("--page", action="store_true", help="print the page of faults")
    report.add_arguments(parser)
    return parser.parse_args(arguments)


def chosen_experiments(chosen: argparse.Namespace) -> list[Experiment]:
    """Return the experiments asked for; SystemExit for a name that there is not."""
    unknown = set(chosen.ids) - {one.id for one in EXPERIMENTS}
    if unknown:
        sys.exit(f"no such fault: {', '.join(sorted(unknown))} (--list names them)")
    return [
        one
        for one in EXPERIMENTS
        if (not chosen.ids or one.id in chosen.ids) and (one.quick or not chosen.quick)
    ]


def main(arguments: list[str]) -> int:
    """Run the report; 1 when a promise was broken, 2 when some faults could not be injected."""
    chosen = options(arguments)
    if chosen.page:
        print(page.write(chosen.results), end="")
        return 0
    experiments = chosen_experiments(chosen)
    if chosen.list:
        print("\n".join(f"{one.id:<32} {one.fault}" for one in experiments))
        return 0
    results: list[Result] = []
    not_run: list[NotRun] = []
    for stand, group in itertools.groupby(experiments, key=lambda one: one.stand):
        waiting = list(group)
        try:
            with stand() as site:
                for experiment in list(waiting):
                    results.append(run(experiment, site))
                    waiting.remove(experiment)
                    print(_line(results[-1]), flush=True)
        except CannotRunError as error:
            not_run += [NotRun(experiment, str(error)) for experiment in waiting]
    failed = [one for one in results if not one.passed]
    lines = [_line(one) for one in results]
    lines += [f"{one.experiment.id:<32} could not run: {one.reason}" for one in not_run]
    lines.append(f"{len(results)} faults, {len(results) - len(failed)} kept every promise")
    if not_run:
        lines.append(f"{len(not_run)} could not run here")
    lines.append("FAILED" if failed else "INCOMPLETE" if not_run else "PASSED")
    stored = [one.as_json() for one in results] + [one.as_json() for one in not_run]
    figures = {"experiments": stored, "passed": not failed and not not_run}
    report.publish("chaos", figures, lines, chosen)
    return 1 if failed else COULD_NOT_RUN if not_run else 0


def _line(result: Result) -> str:
    verdict = result.outcome.verdict
    told = "; ".join(result.problems) or "kept"
    return (
        f"{result.experiment.id:<32} {verdict.run}/{verdict.expected} run, "
        f"{verdict.missed} missed, {verdict.duplicates} doubled of {verdict.in_flight_at_faults}, "
        f"latest start {verdict.start_delay.max / 1000:.1f} s, "
        f"quiet after {result.outcome.quiet_after_seconds:.0f} s: {told}"
    )


if __name__ == "__main__":
    command_line.run(main)
