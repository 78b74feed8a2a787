"""Punctual and its peers, head to head: the same calls, the same receiver, the same machine.

Each contender is started afresh for each turn, as its own documentation advises, with PostgreSQL
and Valkey from the same wheels; turns of a round follow each other, so that a change of the
machine meets all of them, and each round begins with another, so that none always follows the
same. The report gives the medians over the rounds, the cost of a webhook by kind of process, and
Punctual beside each peer; of Punctual also what its ledger has recorded a second. Most peers delete
a job that has succeeded, and none signs its calls: that is less work than Punctual's.
Run: ``python -m bench.peers burst`` (``steady``, ``throughput``).
"""

from __future__ import annotations

import argparse
import http.client
from collections.abc import Sequence
from dataclasses import dataclass, field
from subprocess import SubprocessError
from typing import Any

from bench import command_line, report
from bench.command_line import above_zero
from bench.installation import InstallationError
from bench.peers import install, target
from bench.peers.celery_peers import DjangoCeleryBeat
from bench.peers.contender import CouldNotRunError
from bench.peers.contenders import BURST, CONTENDERS, SCENARIOS, STEADY, THROUGHPUT
from bench.peers.figures import OWN, Turn, ratios, summary_of
from bench.peers.table import cpu_lines, ratio_lines, table
from bench.peers.targets import missed_targets
from bench.peers.turn import Load, take
from operations.proof.client import ApiError

COULD_NOT_RUN = 2
#: What ends a turn and not the report: a program, a server or the receiver that does not answer.
ENDS_A_TURN = (
    CouldNotRunError,
    InstallationError,
    ApiError,
    OSError,
    EOFError,
    SubprocessError,
    http.client.HTTPException,
)


@dataclass(slots=True)
class Outcome:
    """What came of all rounds."""

    turns: list[Turn] = field(default_factory=list)
    #: "name: why" of each turn that could not be carried out, or not to its end.
    not_run: list[str] = field(default_factory=list)
    versions: dict[str, dict[str, str]] = field(default_factory=dict)

    @property
    def code(self) -> int:
        """The exit code: a broken promise of Punctual's comes before what could not run."""
        if not all(turn.kept for turn in self.turns if turn.contender == OWN):
            return 1
        return COULD_NOT_RUN if self.not_run else 0


def options(arguments: list[str]) -> argparse.Namespace:
    """Return the command line's options; SystemExit for a name that there is not."""
    parser = argparse.ArgumentParser(prog="python -m bench.peers", description=__doc__)
    parser.add_argument("scenario", nargs="?", default=BURST, choices=tuple(SCENARIOS))
    parser.add_argument("--count", type=above_zero, default=10_000, help="webhooks of a turn")
    parser.add_argument("--rate", type=above_zero, default=1000, help="a second (steady)")
    parser.add_argument("--seconds", type=above_zero, default=20, help="how long (steady)")
    parser.add_argument("--rounds", type=above_zero, default=3)
    parser.add_argument("--peer-count", type=above_zero, help="webhooks of a peer, if fewer")
    parser.add_argument("--beat-entries", type=above_zero, default=1000)
    parser.add_argument("--only", nargs="+", metavar="NAME", choices=tuple(CONTENDERS))
    parser.add_argument("--install", action="store_true", help="install the peers and end")
    report.add_arguments(parser)
    chosen = parser.parse_args(arguments)
    chosen.names = [one for one in SCENARIOS[chosen.scenario] if one in (chosen.only or CONTENDERS)]
    if not chosen.names:
        parser.error(f"none of these takes part in {chosen.scenario}")
    return chosen


def load_of(name: str, chosen: argparse.Namespace) -> Load:
    """Return what a contender gets; beat fewer, since its fires take the longer the more it has.

    So may every peer: their rates do not depend on it, and the slow ones would take hours.
    """
    if chosen.scenario == STEADY:
        return Load(chosen.rate * chosen.seconds, 1000 / chosen.rate)
    count = chosen.count if name == OWN else min(chosen.count, chosen.peer_count or chosen.count)
    if name == DjangoCeleryBeat.name:
        count = min(count, chosen.beat_entries)
    return Load(count, timed=chosen.scenario != THROUGHPUT)


def run(chosen: argparse.Namespace, absent: dict[str, str]) -> Outcome:
    """Let all take their turns, round by round; ``absent`` is what could not be installed."""
    outcome = Outcome()
    able = []
    for name in chosen.names:
        reason = absent.get(CONTENDERS[name].needs)
        if reason is None:
            able.append(name)
        else:
            outcome.not_run.append(f"{name}: {reason}")
    with target.running() as receiver:
        for number in range(1, chosen.rounds + 1):
            for name in turned(able, number - 1):
                _take_one(name, number, receiver, load_of(name, chosen), outcome)
    return outcome


def turned(names: Sequence[str], by: int) -> list[str]:
    """Return the names in their order, beginning with another each time."""
    begin = by % len(names) if names else 0
    return [*names[begin:], *names[:begin]]


def _take_one(
    name: str, number: int, receiver: target.Target, load: Load, outcome: Outcome
) -> None:
    make = CONTENDERS[name]
    try:
        turn = take(make, receiver, load)
        outcome.versions.setdefault(name, make().versions())
    except ENDS_A_TURN as error:
        outcome.not_run.append(f"{name}: {error}")
        print(f"round {number}: {name} could not run: {error}", flush=True)
        return
    outcome.turns.append(turn)
    if turn.received < turn.count:
        # Its figures are of a part: they are shown, and marked as not run to the end.
        outcome.not_run.append(f"{name}: {turn.received} of {turn.count} webhooks arrived")
    recorded = turn.recorded_per_second
    told = [
        f"round {number}: {name:<18} {turn.received}/{turn.count}",
        f"{turn.per_second:.0f} a second",
        *([] if recorded is None else [f"recorded {turn.recorded}, {recorded:.0f} a second"]),
        *([str(turn.delays_ms)] if turn.delays_ms else []),
        f"scheduled in {turn.scheduling_seconds:.1f} s",
    ]
    print("; ".join(told), flush=True)


def publish(outcome: Outcome, chosen: argparse.Namespace) -> int:
    """Print and store what came of it; the exit code."""
    names = [name for name in chosen.names if any(t.contender == name for t in outcome.turns)]
    summaries = [summary_of([t for t in outcome.turns if t.contender == name]) for name in names]
    found = ratios(summaries)
    missed = missed_targets(chosen.scenario, chosen.rate, summaries, found)
    code = outcome.code or (1 if missed else 0)
    figures: dict[str, Any] = {
        "scenario": chosen.scenario,
        "rounds": chosen.rounds,
        "load": _load_told(chosen),
        "peer_versions": outcome.versions,
        "medians": {one.contender: one.as_json() for one in summaries},
        "punctual_to": {one.peer: one.as_json() for one in found},
        "turns": [turn.as_json() for turn in outcome.turns],
        "could_not_run": outcome.not_run,
        "targets_missed": missed,
        "passed": code == 0,
    }
    lines = [
        _title(chosen),
        *_exceptions(chosen),
        *table(summaries),
        *cpu_lines(summaries),
        *ratio_lines(found),
        *(f"could not run to its end: {one}" for one in outcome.not_run),
        *version_lines(outcome.versions),
        *missed,
        {0: "PASSED", 1: "FAILED", COULD_NOT_RUN: "INCOMPLETE"}[code],
    ]
    report.publish(f"peers-{chosen.scenario}", figures, lines, chosen)
    return code


def _load_told(chosen: argparse.Namespace) -> dict[str, Any]:
    loads = {name: load_of(name, chosen) for name in chosen.names}
    return {name: {"count": one.count, "step_ms": one.step_ms} for name, one in loads.items()}


def _title(chosen: argparse.Namespace) -> str:
    what = {
        BURST: f"{chosen.count} webhooks due at one instant",
        STEADY: f"{chosen.rate} webhooks a second for {chosen.seconds} s",
        THROUGHPUT: f"a backlog of {chosen.count} webhooks",
    }[chosen.scenario]
    return f"{what}, medians of {chosen.rounds} rounds"


def _exceptions(chosen: argparse.Namespace) -> list[str]:
    """Return a line for each contender that gets another number of webhooks than the title says."""
    usual = load_of(OWN, chosen).count
    counts = {name: load_of(name, chosen).count for name in chosen.names}
    return [f"{name}: {count} of them" for name, count in counts.items() if count != usual]


def version_lines(versions: dict[str, dict[str, str]]) -> Sequence[str]:
    """Return a line for each contender that has versions of its own."""
    return [
        f"  {name}: {', '.join(f'{package} {version}' for package, version in found.items())}"
        for name, found in versions.items()
        if found
    ]


def main(arguments: list[str]) -> int:
    """Run the report; 1 when Punctual broke a promise, 2 when a contender could not finish."""
    chosen = options(arguments)
    names = CONTENDERS if chosen.install and not chosen.only else chosen.names
    absent = install.ensure(CONTENDERS[name].needs for name in names)
    if chosen.install:
        for kind, reason in absent.items():
            print(f"the {kind} peers could not be installed: {reason}")
        return COULD_NOT_RUN if absent else 0
    return publish(run(chosen, absent), chosen)


if __name__ == "__main__":
    command_line.run(main)
