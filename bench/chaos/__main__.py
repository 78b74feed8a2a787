"""``make chaos``: injects every fault of the table, or those named, and judges each.

Installations of its own, two at a time; experiments of one stand share one. Exit codes as every
report.
"""

from __future__ import annotations

import argparse
import itertools
import sys
from collections import Counter
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from multiprocessing import get_context
from typing import Any

from bench import command_line, report
from bench.chaos import page
from bench.chaos.experiment import Experiment, NotRun, Result, run
from bench.chaos.site import CannotRunError, Stand
from bench.chaos.table import EXPERIMENTS
from bench.installation import InstallationError
from operations.proof.client import ApiError

COULD_NOT_RUN = 2
KEPT, BROKEN, ABSENT = "kept", "broken", "absent"


@dataclass(frozen=True, slots=True)
class Told:
    """What came of one experiment, as it goes from one process to another."""

    line: str
    figures: dict[str, Any]
    state: str


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
    return _publish(_run_lanes(_lanes(experiments)), chosen)


def _lanes(experiments: list[Experiment]) -> list[list[Experiment]]:
    """Share them out to two processes at most, so that all of them take no longer than promised.

    One gets the longest row of one stand: where hosts are made of namespaces, only one may run.
    """
    groups = [list(group) for _, group in itertools.groupby(experiments, key=lambda one: one.stand)]
    longest = max(groups, key=lambda group: sum(one.seconds for one in group))
    others = [one for group in groups if group is not longest for one in group]
    return [longest, others] if others else [longest]


def _run_lanes(lanes: list[list[Experiment]]) -> list[Told]:
    if len(lanes) == 1:
        return _run_lane([one.id for one in lanes[0]])
    with ProcessPoolExecutor(len(lanes), get_context("fork")) as pool:
        told = pool.map(_run_lane, [[one.id for one in lane] for lane in lanes])
        return [one for lane in told for one in lane]


def _run_lane(ids: list[str]) -> list[Told]:
    results: list[Result] = []
    not_run: list[NotRun] = []
    experiments = [one for one in EXPERIMENTS if one.id in ids]
    for stand, group in itertools.groupby(experiments, key=lambda one: one.stand):
        _run_all(stand, list(group), results, not_run)
    return [
        *(Told(_line(one), one.as_json(), KEPT if one.passed else BROKEN) for one in results),
        *(
            Told(_absent(one), one.as_json(), BROKEN if one.broke_off else ABSENT)
            for one in not_run
        ),
    ]


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
            print(_absent(not_run[-1]), flush=True)


def _told(error: BaseException) -> str:
    if isinstance(error, BaseExceptionGroup):
        return "; ".join(_told(one) for one in error.exceptions)
    return f"{type(error).__name__}: {error}"


def _publish(told: list[Told], chosen: argparse.Namespace) -> int:
    counts = Counter(one.state for one in told)
    lines = [one.line for one in told]
    lines.append(f"{len(told)} faults, {counts[KEPT]} kept every promise")
    if counts[ABSENT]:
        lines.append(f"{counts[ABSENT]} could not run")
    failed, incomplete = counts[BROKEN] > 0, counts[ABSENT] > 0
    lines.append("FAILED" if failed else "INCOMPLETE" if incomplete else "PASSED")
    figures = {
        "experiments": [one.figures for one in told],
        "passed": not failed and not incomplete,
    }
    report.publish("chaos", figures, lines, chosen)
    return 1 if failed else COULD_NOT_RUN if incomplete else 0


def _absent(one: NotRun) -> str:
    how = "broke off" if one.broke_off else "could not run"
    return f"{one.experiment.id:<32} {how}: {one.reason}"


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
