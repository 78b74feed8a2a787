"""Runs of ten steps beside DBOS, Celery's canvas and BullMQ's flows: the same calls, one machine.

Each contender is started afresh for each turn, set up as its own documentation advises for
production (``bench/workflows/peers/contenders.py``), and takes turns as in ``bench.peers``. A turn
has chains that begin evenly (from a step's answer to the next request), graphs with two fans and
their joins at once (steps a second from the moment for which they were asked), and in the first
rounds graphs in whose midst everything is killed with -9, servers included, and started again (what
was lost, and what was executed again, by the receiver).
Run: ``python -m bench.workflows peers``.
"""

from __future__ import annotations

import argparse
from dataclasses import dataclass, field
from typing import Any

from bench import command_line, report
from bench.peers import install, target
from bench.peers.__main__ import COULD_NOT_RUN, ENDS_A_TURN, turned, version_lines
from bench.workflows.peers.contenders import CONTENDERS
from bench.workflows.peers.figures import Kill, Speed, Summary, summary_of
from bench.workflows.peers.table import beside_lines, table, told
from bench.workflows.peers.targets import missed_targets
from bench.workflows.peers.turn import Load, take

NAME = "peers"


@dataclass(slots=True)
class Outcome:
    """What came of all rounds."""

    speeds: list[Speed] = field(default_factory=list)
    kills: list[Kill] = field(default_factory=list)
    #: "name: why" of each turn that could not be carried out.
    not_run: list[str] = field(default_factory=list)
    versions: dict[str, dict[str, str]] = field(default_factory=dict)

    def summaries(self) -> list[Summary]:
        """Return the medians of those that had a turn, in the order of the contenders."""
        return [
            summary_of(name, own, [one for one in self.kills if one.contender == name])
            for name in CONTENDERS
            if (own := [one for one in self.speeds if one.contender == name])
        ]


def add_parser(parsers: Any) -> None:
    """Add the part's options."""
    parser = parsers.add_parser(NAME, help="beside DBOS, Celery's canvas and BullMQ's flows")
    parser.add_argument("--chains", type=command_line.above_zero, default=100, help="of a turn")
    parser.add_argument("--seconds", type=float, default=10, help="over which chains begin")
    parser.add_argument("--runs", type=command_line.above_zero, default=500, help="at once")
    parser.add_argument(
        "--killed", type=command_line.above_zero, default=300, help="runs of a kill"
    )
    parser.add_argument("--kills", type=int, default=1, help="rounds with a kill; 0 for none")
    # BullMQ takes jobs of a killed worker up again after 60 s, after 90 s where a check is skipped.
    parser.add_argument("--patience", type=float, default=120, help="seconds, behind a kill")
    parser.add_argument("--rounds", type=command_line.above_zero, default=1)
    parser.add_argument("--only", nargs="+", metavar="NAME", choices=tuple(CONTENDERS))
    report.add_arguments(parser)
    parser.set_defaults(run=run)


def load_of(chosen: argparse.Namespace, number: int) -> Load:
    """Return what every contender gets in a round; the first ``--kills`` rounds have a kill."""
    killed = chosen.killed if number <= chosen.kills else 0
    return Load(chosen.chains, chosen.seconds, chosen.runs, killed, chosen.patience)


def measure(chosen: argparse.Namespace) -> Outcome:
    """Let all take their turns, round by round."""
    outcome = Outcome()
    names = [name for name in CONTENDERS if name in (chosen.only or CONTENDERS)]
    absent = install.ensure(CONTENDERS[name].needs for name in names)
    able = [name for name in names if CONTENDERS[name].needs not in absent]
    outcome.not_run += [
        f"{name}: {absent[CONTENDERS[name].needs]}" for name in names if name not in able
    ]
    with target.running() as receiver:
        for number in range(1, chosen.rounds + 1):
            for name in turned(able, number - 1):
                _take_one(name, number, receiver, load_of(chosen, number), outcome)
    return outcome


def _take_one(
    name: str, number: int, receiver: target.Target, load: Load, outcome: Outcome
) -> None:
    make = CONTENDERS[name]
    try:
        for part in take(make, receiver, load):
            if isinstance(part, Kill):
                outcome.kills.append(part)
                line = f"killed at {part.before}: {told(part.counts)}"
            else:
                outcome.speeds.append(part)
                line = f"{part.gaps_ms}; {part.steps_per_second:.0f} steps a second"
            print(f"round {number}: {name:<14} {line}", flush=True)
        outcome.versions.setdefault(name, make().versions())
    except ENDS_A_TURN as error:
        outcome.not_run.append(f"{name}: {error}")
        print(f"round {number}: {name} could not run: {error}", flush=True)


def run(chosen: argparse.Namespace) -> int:
    """Measure and publish; 1 where a target was missed, 2 where a contender could not run."""
    outcome = measure(chosen)
    summaries = outcome.summaries()
    missed = missed_targets(summaries)
    code = 1 if missed else COULD_NOT_RUN if outcome.not_run else 0
    figures = {
        "load": {
            name: getattr(chosen, name)
            for name in ("chains", "seconds", "runs", "killed", "kills", "patience", "rounds")
        },
        "peer_versions": outcome.versions,
        "medians": {one.contender: one.as_json() for one in summaries},
        "turns": [one.as_json() for one in outcome.speeds],
        "kills": [one.as_json() for one in outcome.kills],
        "could_not_run": outcome.not_run,
        "targets_missed": missed,
        "passed": code == 0,
    }
    lines = [
        f"{chosen.chains} chains in {chosen.seconds:g} s, {chosen.runs} graphs at once,"
        f" {chosen.killed} in a kill of everything; medians of {chosen.rounds} rounds",
        *table(summaries),
        *beside_lines(summaries),
        *(f"could not run to its end: {one}" for one in outcome.not_run),
        *version_lines(outcome.versions),
        *missed,
        {0: "PASSED", 1: "FAILED", COULD_NOT_RUN: "INCOMPLETE"}[code],
    ]
    report.publish(f"workflows-{NAME}", figures, lines, chosen)
    return code
