"""What an execution costs here beside another checkout: ``bench.costs`` of both, in turns.

Each pair runs both, every other one in reverse order, so that a machine that grows slower favours
neither. Told are the means of each kind of process and stage, and the difference with its 95 %
interval, of Student's t. The other checkout has its own environment (``make setup-dev``).
Run: ``python -m bench.costs_beside --other ../before`` (``--pairs 10 --count 30000``); with
``--tenants 100`` the work is spread over tenants, where the other checkout knows that option, too.
With ``--other . --traces 0.01`` it is the cost of recording that share of all traces; with
``--metrics-off`` in place of ``--other``, that of metrics, and of both with ``--traces``, too.
"""

from __future__ import annotations

import argparse
import json
import math
import os
import statistics
import subprocess
import tempfile
from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from bench import command_line, metrics_off, report
from bench.installation import CHECKOUT, InstallationError
from bench.peers.figures import TARGET
from bench.trace_sink import trace_sink

#: Student's t of 95 %, both sides, by pairs.
_T95 = {
    3: 4.303,
    4: 3.182,
    5: 2.776,
    6: 2.571,
    7: 2.447,
    8: 2.365,
    9: 2.306,
    10: 2.262,
    12: 2.201,
    15: 2.145,
    20: 2.093,
}
_TOLD_FROM = 0.1
ALL = "all"


@dataclass(frozen=True, slots=True)
class Difference:
    """Microseconds an execution: means of both, and how much more it is here, give or take."""

    name: str
    other: float
    here: float
    more: float
    give_or_take: float


def figures_of(result: Mapping[str, Any]) -> dict[str, float]:
    """Return what a result of ``bench.costs`` says of each stage and kind, and of all of them."""
    found: dict[str, float] = {}
    for stage, told in result["stages"].items():
        for kind, each in told["microseconds"].items():
            if kind != TARGET:
                for name in (f"{stage} {kind}", f"{ALL} {kind}", stage, ALL):
                    found[name] = found.get(name, 0.0) + each
    return found


def differences(
    other: Sequence[Mapping[str, float]], here: Sequence[Mapping[str, float]]
) -> list[Difference]:
    """Return the difference of each figure over pairs of runs; all of them first."""
    names = sorted({name for run in (*other, *here) for name in run}, key=_place)
    return [
        _difference(
            name, [run.get(name, 0.0) for run in other], [run.get(name, 0.0) for run in here]
        )
        for name in names
    ]


def _place(name: str) -> tuple[bool, str]:
    return (not name.startswith(ALL), name)


def _difference(name: str, other: Sequence[float], here: Sequence[float]) -> Difference:
    more = [after - before for before, after in zip(other, here, strict=True)]
    half = _T95[len(more)] * statistics.stdev(more) / math.sqrt(len(more))
    return Difference(
        name=name,
        other=round(statistics.mean(other), 1),
        here=round(statistics.mean(here), 1),
        more=round(statistics.mean(more), 2),
        give_or_take=round(half, 2),
    )


def lines_of(found: Sequence[Difference]) -> list[str]:
    """Return the figures for people."""
    return [
        f"{one.name:<24} {one.other:7.1f} {one.here:7.1f} µs"
        f"  {one.more:+7.2f} ± {one.give_or_take:.2f}"
        for one in found
        if max(one.other, one.here) >= _TOLD_FROM
    ]


def options(arguments: list[str]) -> argparse.Namespace:
    """Return the command line's options."""
    parser = argparse.ArgumentParser(prog="python -m bench.costs_beside", description=__doc__)
    other = parser.add_mutually_exclusive_group(required=True)
    other.add_argument("--other", type=Path, help="the other checkout")
    other.add_argument(
        "--metrics-off", action="store_true", help="beside this commit without its metrics"
    )
    parser.add_argument("--pairs", type=int, choices=sorted(_T95), default=10)
    parser.add_argument("--count", type=command_line.above_zero, default=30_000)
    parser.add_argument("--tenants", type=command_line.above_zero, default=1)
    parser.add_argument("--traces", type=float, help="the share of traces recorded here, 0 to 1")
    report.add_arguments(parser)
    return parser.parse_args(arguments)


def run_costs(
    checkout: Path, count: int, tenants: int = 1, environment: Mapping[str, str] | None = None
) -> dict[str, Any]:
    """Run ``bench.costs`` in a checkout, with these variables, too, and return its result."""
    with tempfile.TemporaryDirectory() as scratch:
        arguments = ["--count", str(count), "--results", scratch]
        # An older checkout does not know the option, and needs none for a single tenant.
        arguments += ["--tenants", str(tenants)] if tenants > 1 else []
        done = _costs(checkout, *arguments, environment=environment)
        stored = list(Path(scratch).glob("*.json"))
        if done.returncode or len(stored) != 1:
            raise InstallationError(f"bench.costs in {checkout.name}: {done.stderr.strip()[-500:]}")
        found: dict[str, Any] = json.loads(stored[0].read_text(encoding="utf-8"))
        return found


def _costs(
    checkout: Path, *arguments: str, environment: Mapping[str, str] | None = None
) -> subprocess.CompletedProcess[str]:
    command = [str(checkout / ".venv" / "bin" / "python"), "-m", "bench.costs", *arguments]
    return subprocess.run(
        command,
        cwd=checkout,
        env={**os.environ, **(environment or {})},
        capture_output=True,
        text=True,
        check=False,
    )


def require_tenants(checkout: Path) -> None:
    """Raise InstallationError where a checkout's ``bench.costs`` knows no number of tenants."""
    if "--tenants" not in _costs(checkout, "--help").stdout:
        raise InstallationError(
            f"bench.costs in {checkout.name} has no --tenants; compare a newer checkout, or leave "
            "the option out"
        )


def main(arguments: list[str]) -> int:
    """Run the pairs and publish; InstallationError when a run could not come to its end."""
    chosen = options(arguments)
    with ExitStack() as stack:
        if chosen.metrics_off:
            scratch = Path(stack.enter_context(tempfile.TemporaryDirectory()))
            # The servers of a run by root belong to another account, which reads the copy.
            scratch.chmod(0o755)
            other = metrics_off.copy_to(scratch / "without-metrics")
        else:
            other = chosen.other.resolve()
        places = {"other": other, "here": CHECKOUT}
        if chosen.tenants > 1:
            # Before the first pair, not after its first half.
            require_tenants(other)
        runs: dict[str, list[dict[str, Any]]] = {name: [] for name in places}
        traces: dict[str, dict[str, str]] = {}
        if chosen.traces is not None:
            traces["here"] = stack.enter_context(trace_sink()).environment(chosen.traces)
        for pair in range(chosen.pairs):
            for name in sorted(places, reverse=pair % 2 == 0):
                asked = (places[name], chosen.count, chosen.tenants, traces.get(name))
                runs[name].append(run_costs(*asked))
    publish(runs, chosen)
    return 0


def publish(runs: Mapping[str, Sequence[Mapping[str, Any]]], chosen: argparse.Namespace) -> None:
    """Publish the differences, and which commits they are of."""
    found = differences(*([figures_of(one) for one in runs[name]] for name in ("other", "here")))
    commits = {name: told[0]["versions"]["commit"] for name, told in runs.items()}
    figures = {
        "count": chosen.count,
        "tenants": chosen.tenants,
        "pairs": chosen.pairs,
        "traces": chosen.traces,
        "metrics_off": chosen.metrics_off,
        "commits": commits,
        "differences": [asdict(one) for one in found],
    }
    of = f"{chosen.count}, tenants: {chosen.tenants}"
    without = " without metrics" if chosen.metrics_off else ""
    head = f"{chosen.pairs} pairs of {of}: {commits['other']}{without} beside {commits['here']}"
    report.publish("costs-beside", figures, [head, *lines_of(found)], chosen)


if __name__ == "__main__":
    command_line.run(main)
