"""``make bench``: every claim about speed, one report after the other, on one command.

Each report starts what it needs and ends it; nothing else should run meanwhile. Their results lie
together in a directory, with a summary that tells what was kept, what was missed, and every ratio.
``--compare FIRST SECOND`` reads two such summaries: ratios that are further apart than 15 % are
named. Run: ``python -m bench`` (``--only idle steady``, ``--list``).
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import time
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from bench import command_line, report
from bench.installation import CHECKOUT, InstallationError
from bench.ratios import ratios_of

#: How far apart two runs' ratios may be.
AGREE = 0.15
SUMMARY = "summary"
_WORDS = {0: "kept", 1: "MISSED"}
_COULD_NOT_RUN = "COULD NOT RUN"

_STEADY = ("bench.peers", "steady", "--only", "punctual", "--rounds", "1")
#: The reports by name: module and arguments, short ones first.
REPORTS: dict[str, tuple[str, ...]] = {
    "idle": ("bench.idle", "--start"),
    "trickle": (*_STEADY, "--rate", "1", "--seconds", "60"),
    "steady": (*_STEADY, "--rate", "1000", "--seconds", "300"),
    "steady-5000": (*_STEADY, "--rate", "5000", "--seconds", "30"),
    "mixed": ("bench.steady", "--start", "--rate", "200", "--seconds", "60"),
    "creation": ("bench.creation", "--start"),
    "schedules": ("bench.schedules",),
    "materialization": ("bench.herd",),
    "cron-herd": ("bench.cron_herd", "--start"),
    "in-flight": ("bench.in_flight", "--start"),
    "cold-tls": ("bench.cold_tls",),
    "limits-cost": ("bench.limits_cost", "--start"),
    "recovery": ("bench.kill", "--start", "--kind", "worker"),
    "machines": ("bench.machines",),
    "costs": ("bench.costs", "--statements"),
    "chains": ("bench.workflows", "chain", "--start", "--rate", "500"),
    "fan-out": ("bench.workflows", "fan-out", "--start"),
    "runs": ("bench.workflows", "many", "--start"),
    "burst": ("bench.peers", "burst"),
    "peers-steady": ("bench.peers", "steady"),
    # Punctual for about a minute; a peer's rate shows with fewer.
    "throughput": ("bench.peers", "throughput", "--count", "250000", "--peer-count", "20000"),
    "history": ("bench.history", "--start"),
    "lists": ("bench.lists", "--start"),
    "history-drop": ("bench.history", "--start", "--drop-under-load", "--rows", "3000000"),
    "at-rest": ("bench.at_rest", "--start"),
}


@dataclass(frozen=True, slots=True)
class Ended:
    """How one report ended: exit code, seconds, and the ratios of what it stored."""

    name: str
    code: int
    seconds: float
    ratios: dict[str, float]

    def __str__(self) -> str:
        """Return the report's line."""
        word = _WORDS.get(self.code, _COULD_NOT_RUN)
        return f"{self.name:<18}{word:<15}{self.seconds / 60:>6.1f} min"


def options(arguments: list[str]) -> argparse.Namespace:
    """Return the command line's options."""
    parser = argparse.ArgumentParser(prog="python -m bench", description=__doc__)
    parser.add_argument("--only", nargs="+", metavar="NAME", choices=tuple(REPORTS))
    parser.add_argument("--list", action="store_true", help="name the reports and end")
    parser.add_argument("--compare", nargs=2, type=Path, metavar=("FIRST", "SECOND"))
    parser.add_argument("--results", type=Path, help="where results go; a new directory")
    return parser.parse_args(arguments)


def run(name: str, results: Path) -> Ended:
    """Run one report to its end, its results below the directory."""
    module, *arguments = REPORTS[name]
    began = time.monotonic()
    done = subprocess.run(
        [sys.executable, "-m", module, *arguments, "--results", str(results / name)],
        cwd=CHECKOUT,
        check=False,
    )
    return Ended(name, done.returncode, time.monotonic() - began, _ratios(results / name))


def _ratios(stored: Path) -> dict[str, float]:
    found: dict[str, float] = {}
    for path in stored.glob("*.json"):
        found |= ratios_of(json.loads(path.read_text(encoding="utf-8")))
    return found


def store(ended: list[Ended], results: Path) -> int:
    """Print and store the summary; 1 for a missed claim, else 2 where one could not run."""
    codes = {one.code for one in ended}
    figures: dict[str, Any] = {
        "reports": {one.name: {"code": one.code, "ratios": one.ratios} for one in ended},
        "passed": codes <= {0},
    }
    chosen = argparse.Namespace(results=results, json=False)
    report.publish(SUMMARY, figures, [str(one) for one in ended], chosen)
    return 0 if codes <= {0} else 1 if 1 in codes else 2


def compare(first: Path, second: Path) -> int:
    """Print every ratio of two runs; 1 where two are further apart than is allowed."""
    pairs = _ratios_of_summary(first), _ratios_of_summary(second)
    common = [name for name in pairs[0] if name in pairs[1]]
    if not common:
        raise InstallationError("the two runs have no ratio in common")
    apart = 0
    for name in common:
        a, b = pairs[0][name], pairs[1][name]
        differs = max(a, b) / min(a, b) > 1 + AGREE
        apart += differs
        print(f"{name:<50}{a:>10.3f}{b:>10.3f}  {'APART' if differs else 'agree'}")
    print(f"{len(common) - apart} of {len(common)} ratios agree within {AGREE:.0%}")
    return 1 if apart else 0


def _ratios_of_summary(path: Path) -> dict[str, float]:
    reports: Mapping[str, Any] = json.loads(path.read_text(encoding="utf-8"))["reports"]
    return {
        f"{name}: {ratio}": value
        for name, found in reports.items()
        for ratio, value in found["ratios"].items()
    }


def main(arguments: list[str]) -> int:
    """Run what is chosen, or compare two runs."""
    chosen = options(arguments)
    if chosen.list:
        print("\n".join(f"{name:<18}python -m {' '.join(REPORTS[name])}" for name in REPORTS))
        return 0
    if chosen.compare:
        return compare(*chosen.compare)
    stamp = f"{datetime.now(UTC):%Y-%m-%dT%H%M%SZ}"
    results = chosen.results or CHECKOUT / "bench" / "results" / stamp
    ended = [run(name, results) for name in chosen.only or REPORTS]
    return store(ended, results)


if __name__ == "__main__":
    command_line.run(main)
