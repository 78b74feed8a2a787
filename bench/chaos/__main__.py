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
from bench.chaos.site import CannotRunError, Stand
from bench.chaos.table import EXPERIMENTS
from bench.installation import InstallationError
from scheduler_site.proof.client import ApiError

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
        _run_all(stand, list(group), results, not_run)
    return _publish(results, not_run, chosen)


def _run_all(
    stand: Stand, waiting: list[Experiment], results: list[Result], not_run: list[NotRun]
) -> None:
    """Run experiments on one site; behind one that broke off, on a new one."""
    while waiting:
        try:
            with stand() as site:
                while waiting:
                    results.append(run(waiting[0], site))
                    del waiting[0]
                    print(_line(results[-1]), flush=True)
        except CannotRunError as error:
            not_run += [NotRun(experiment, str(error)) for experiment in waiting]
            waiting.clear()
        except (InstallationError, ApiError, OSError, ExceptionGroup) as error:
            # The product did not come back, or not as the experiment needs it.
            not_run.append(NotRun(waiting.pop(0), _told(error), broke_off=True))
            print(f"{not_run[-1].experiment.id:<32} broke off: {not_run[-1].reason}", flush=True)


def _told(error: BaseException) -> str:
    if isinstance(error, BaseExceptionGroup):
        return "; ".join(_told(one) for one in error.exceptions)
    return f"{type(error).__name__}: {error}"


def _publish(results: list[Result], not_run: list[NotRun], chosen: argparse.Namespace) -> int:
    failed = any(not one.passed for one in results) or any(one.broke_off for one in not_run)
    kept = sum(one.passed for one in results)
    lines = [_line(one) for one in results]
    for one in not_run:
        how = "broke off" if one.broke_off else "could not run"
        lines.append(f"{one.experiment.id:<32} {how}: {one.reason}")
    lines.append(f"{len(results) + len(not_run)} faults, {kept} kept every promise")
    if not_run:
        lines.append(f"{len(not_run)} did not run to their end")
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
