"""One machine beside two: what the second adds, and that no execution is lost between them.

Machines are hosts of their own on this one (network namespaces on a bridge; root and ``ip``): one
for PostgreSQL, one for Valkey, and one or two with everything that ``manage.py up`` runs, which
share nothing else. Each number of machines works off the same backlog of webhooks due at one
moment, each machine with its share of the processor where control groups let it have one, since
all run on the same cores; then, without shares, the same steady rate.
Run: ``python -m bench.machines --count 20000``.
"""

from __future__ import annotations

import argparse
import http.client
import shutil
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from subprocess import SubprocessError
from typing import Any

import psycopg
import redis

from bench import command_line, report
from bench.chaos import hosts
from bench.chaos.site import CannotRunError
from bench.installation import InstallationError
from bench.machines_stand import Machines
from bench.machines_up import MACHINES, PROGRAMS
from bench.peers.contender import Contender, CouldNotRunError
from bench.peers.figures import Turn, cpu_us
from bench.peers.target import Target, running
from bench.peers.turn import Load, take

#: Cores that each machine may use while a backlog is worked off: with two of them, the servers and
#: the receiver two cores are not filled yet.
CORES_EACH = 0.25
BACKLOG, STEADY = "backlog", "steady"
RECORDER = "recorder"
#: Errors that are reported in one line instead of a traceback, besides those of every report.
_COULD_NOT_RUN = (
    CannotRunError,
    CouldNotRunError,
    psycopg.Error,
    redis.RedisError,
    http.client.HTTPException,
    SubprocessError,
)


@dataclass(frozen=True, slots=True)
class Run:
    """One load on a number of machines."""

    machines: int
    load: str
    turn: Turn
    #: Kind -> machine -> executions.
    shares: dict[str, dict[str, int]]
    #: The machines whose recorder had some of them.
    recorders: list[str]
    #: Whether each machine was limited to its share of the processor.
    shared_out: bool

    @property
    def idle(self) -> list[str]:
        """Return "kind of machine" for each kind that did nothing on a machine."""
        names = list(MACHINES)[: self.machines]
        worked = {kind: set(shares) for kind, shares in self.shares.items()}
        worked[RECORDER] = set(self.recorders)
        return [
            f"{kind} of {name}" for name in names for kind in worked if name not in worked[kind]
        ]

    @property
    def kept(self) -> bool:
        """Whether each ran once, none early, all are recorded, and each machine worked."""
        return self.turn.kept and not self.idle

    @property
    def microseconds(self) -> dict[str, float]:
        """Processor time of an execution by kind, all machines together, without the receiver."""
        return by_kind(cpu_us([self.turn]))

    def as_json(self) -> dict[str, Any]:
        """Return the figures for the stored result."""
        each = self.microseconds
        return {
            "machines": self.machines,
            "load": self.load,
            "cores_each": CORES_EACH if self.shared_out else None,
            **self.turn.as_json(),
            "microseconds": each,
            "sum": round(sum(each.values()), 1),
            "shares": self.shares,
            "recorders": self.recorders,
            "idle": self.idle,
        }


def by_kind(each: dict[str, float]) -> dict[str, float]:
    """Return the sums by kind of figures by ``kind@machine``, the dearest first."""
    found: dict[str, float] = {}
    for name, value in each.items():
        kind = name.partition("@")[0]
        found[kind] = found.get(kind, 0.0) + value
    return {kind: round(value, 1) for kind, value in sorted(found.items(), key=lambda i: -i[1])}


def times(runs: Sequence[Run]) -> tuple[float, float]:
    """Return how many times as fast, and as dear, a backlog was on two machines as on one."""
    one, two = (next(r for r in runs if r.load == BACKLOG and r.machines == n) for n in (1, 2))
    speed = (two.turn.recorded_per_second or 0.0) / (one.turn.recorded_per_second or 1.0)
    dear = sum(two.microseconds.values()) / (sum(one.microseconds.values()) or 1.0)
    return round(speed, 2), round(dear, 2)


def measure(target: Target, chosen: argparse.Namespace) -> list[Run]:
    """Take both loads on one machine and on two; CouldNotRunError when one cannot be taken."""
    loads = {
        BACKLOG: (Load(chosen.count), CORES_EACH),
        STEADY: (Load(round(chosen.rate * chosen.seconds), 1000 / chosen.rate), None),
    }
    runs = []
    for name, (load, cores) in loads.items():
        for count in (1, 2):
            runs.append(_run(target, name, load, count, cores))
            print("\n".join(lines_of(runs[-1])), flush=True)
    return runs


def _run(target: Target, name: str, load: Load, count: int, cores: float | None) -> Run:
    made: list[Machines] = []

    def make() -> Contender:
        made.append(Machines(count, cores))
        return made[-1]

    turn = take(make, target, load)
    last = made[-1]
    return Run(count, name, turn, last.shares, last.recorders, last.shared_out)


def lines_of(run: Run) -> list[str]:
    """Return a run's figures for people."""
    turn, each = run.turn, run.microseconds
    recorded = turn.recorded_per_second or 0.0
    bound = f", {CORES_EACH:g} of a core each" if run.shared_out else ""
    lines = [
        f"{run.load}, {run.machines} of each kind{bound}: {turn.recorded}/{turn.count} recorded, "
        f"{recorded:.0f} a second; missed {turn.count - turn.received}, doubled {turn.doubled}, "
        f"early {turn.early}",
        f"  start delay: {turn.delays_ms}",
        f"  {sum(each.values()):.0f} µs each: "
        + ", ".join(f"{kind} {us:.0f}" for kind, us in each.items() if us >= 0.5),
    ]
    for kind, shares in run.shares.items():
        told = ", ".join(f"{name} {count}" for name, count in sorted(shares.items()))
        lines.append(f"  {kind}: {told}")
    lines.append(f"  recorder: {', '.join(run.recorders)}")
    lines += [f"  IDLE: the {one}" for one in run.idle]
    return lines


def publish(runs: Sequence[Run], chosen: argparse.Namespace) -> int:
    """Print and store what came of it; 1 when a promise was broken or a machine did nothing."""
    speed, dear = times(runs)
    passed = all(run.kept for run in runs)
    figures = {
        "runs": [run.as_json() for run in runs],
        "speed_up": speed,
        "times_as_dear": dear,
        "passed": passed,
    }
    lines = [
        *(line for run in runs for line in lines_of(run)),
        f"two machines worked the backlog off {speed:.2f} times as fast as one; "
        f"an execution cost {dear:.2f} times as much processor time",
        "PASSED" if passed else "FAILED",
    ]
    if not all(run.shared_out for run in runs if run.load == BACKLOG):
        lines.insert(-1, "control groups cannot be made here: all machines shared the same cores")
    report.publish("machines", figures, lines, chosen)
    return 0 if passed else 1


def options(arguments: list[str]) -> argparse.Namespace:
    """Return the command line's options; SystemExit for a load of nothing."""
    parser = argparse.ArgumentParser(prog="python -m bench.machines", description=__doc__)
    parser.add_argument("--count", type=int, default=20_000, help="webhooks of the backlog")
    parser.add_argument("--rate", type=float, default=200, help="a second (steady)")
    parser.add_argument("--seconds", type=float, default=30, help="how long (steady)")
    report.add_arguments(parser)
    chosen = parser.parse_args(arguments)
    if chosen.count < 1 or chosen.rate <= 0 or chosen.rate * chosen.seconds < 1:
        parser.error("--count, --rate and --seconds have to make 1 webhook or more")
    return chosen


@contextmanager
def network() -> Iterator[None]:
    """Make the hosts and remove them; InstallationError where that cannot be."""
    missing = [program for program in PROGRAMS if shutil.which(program) is None]
    if missing:
        raise InstallationError(f"machines need {' and '.join(missing)}")
    try:
        with hosts.network():
            yield
    except _COULD_NOT_RUN as error:
        raise InstallationError(str(error)) from error


def main(arguments: list[str]) -> int:
    """Run the report from a command line."""
    chosen = options(arguments)
    with network(), running(hosts.RECEIVERS.address) as target:
        return publish(measure(target, chosen), chosen)


if __name__ == "__main__":
    command_line.run(main)
