"""What lies in wait costs nothing: the product with a million tasks at rest beside an empty one.

The same figures are taken of the empty system and of each size, in one run: start delay, creating,
lists, and the statements of materialize and dispatch with a thousand due. At rest are copies of a
few real tasks, due in a month or later; the empty system has those few alone. Then backlogs are
worked off while somebody keeps a transaction open. Run: ``python -m bench.at_rest --start``.
"""

from __future__ import annotations

import argparse
import asyncio
import statistics
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any
from uuid import UUID, uuid4

from bench import at_rest_tables as tables
from bench import campaign, command_line, creation, installation, report
from bench.at_rest_reader import Backlogs, work_off_all
from bench.at_rest_stages import STAGES, one_pass
from bench.failing import create
from bench.installation import Installation
from bench.members import Member, enter, make_member
from scheduler_site import local_state
from scheduler_site.proof.client import ApiClient
from scheduler_site.proof.oracle import Planned
from scheduler_site.proof.percentiles import distribution
from scheduler_site.proof.workload import Window, steady

#: How many times as much a figure may cost as in the empty system, and at which size.
TARGET_RATIO = 1.2
TARGET_SIZE = 1_000_000
#: Figures whose name ends so are rates: more of them is better.
_RATE = "a second"
_BULK_CALL = 10_000
_WARM_RATE, _WARM_SECONDS = 20.0, 10.0
_SAMPLES = 60
#: So few of them carry what the rare filter and the search look for.
_RARE = 5
_FAR = timedelta(days=5 * 365)


@dataclass(frozen=True, slots=True)
class Ground:
    """The installation, its database, whose lists are read, and the tasks that are copied."""

    product: Installation
    address: str = field(repr=False)
    member: Member
    tenants: Sequence[UUID]
    samples: Sequence[str]


@dataclass(slots=True)
class Measured:
    """What was measured at one size: figures that are judged, and blocks that were looked at."""

    figures: dict[str, float] = field(default_factory=dict)
    blocks: dict[str, float] = field(default_factory=dict)
    faults: list[str] = field(default_factory=list)


@dataclass(frozen=True, slots=True)
class Judged:
    """A figure of the empty system, and the same with tasks at rest."""

    name: str
    empty: float
    full: float

    @property
    def ratio(self) -> float:
        """Return how many times as much it costs; of a rate, how many times less it is."""
        worse, better = self.full, self.empty
        if self.name.endswith(_RATE):
            worse, better = better, worse
        return worse / better if better else float("inf") if worse else 1.0

    @property
    def kept(self) -> bool:
        """Return whether it costs no more than is allowed."""
        return self.ratio <= TARGET_RATIO

    def __str__(self) -> str:
        """Return the figure's line."""
        said = "kept" if self.kept else "missed"
        return f"  {self.name:36} {self.empty:10.2f} {self.full:10.2f} {self.ratio:6.2f}  {said}"


def options(arguments: list[str]) -> argparse.Namespace:
    """Return the command line's options."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--sizes", type=int, nargs="+", default=[100_000, TARGET_SIZE])
    parser.add_argument("--tenants", type=int, default=100, help="that share what is at rest")
    parser.add_argument("--rate", type=float, default=200, help="executions a second")
    parser.add_argument("--seconds", type=float, default=30.0, help="of executions in a window")
    parser.add_argument("--windows", type=int, default=3, help="of executions; medians are told")
    parser.add_argument("--creates", type=int, default=100, help="single creations a second")
    parser.add_argument("--create-seconds", type=float, default=15.0)
    parser.add_argument("--bulk", type=int, default=20_000, help="tasks created in bulk")
    parser.add_argument("--repeat", type=int, default=20, help="requests and passes of each kind")
    parser.add_argument("--rounds", type=int, default=5, help="backlogs; 0 leaves them out")
    parser.add_argument("--round-count", type=int, default=20_000, help="executions of each")
    installation.add_arguments(parser)
    report.add_arguments(parser)
    return parser.parse_args(arguments)


def sample_bodies(far: datetime) -> list[dict[str, Any]]:
    """Return real tasks of each kind whose first instant is far; the first few can be searched."""
    when = far.isoformat()
    schedules: list[dict[str, Any]] = [
        {"cron_expression": "0 3 * * *", "timezone": "Europe/Berlin", "start_at": when},
        {"every": "PT1H", "start_at": when},
        {"run_at": when},
    ]
    bodies = []
    for number in range(_SAMPLES):
        rare = number < _RARE
        body = {
            "name": f"{'needle' if rare else 'sample'} {number}",
            "schedule": schedules[number % len(schedules)],
            "labels": {"team": f"team-{number % 50}", **({"rare": "yes"} if rare else {})},
        }
        bodies.append({**creation.body_of(number), **body})
    return bodies


def judge(empty: Mapping[str, float], full: Mapping[str, float]) -> list[Judged]:
    """Return each figure of the empty system beside the same with tasks at rest."""
    return [Judged(name, value, full[name]) for name, value in empty.items()]


def judged_size(sizes: Sequence[int]) -> int:
    """Return the size that the target speaks of, or the largest where that is not measured."""
    return TARGET_SIZE if TARGET_SIZE in sizes else max(sizes)


# --- the parts of a measurement ----------------------------------------------------------------


async def lists(ground: Ground, repeat: int, found: Measured) -> None:
    """Read the lists of one tenant, and what an edit would change of a task's instants."""
    one = f"/v1/tasks/{ground.samples[0]}"
    edit = {"schedule": {"cron_expression": "30 4 * * *"}}
    asked: dict[str, tuple[str, str, Any]] = {
        "list, first page": ("GET", "/v1/tasks?limit=20", None),
        "list, by type": ("GET", "/v1/tasks?limit=20&type=ONE_TIME", None),
        "list, by a rare label": ("GET", "/v1/tasks?limit=20&label=rare:yes", None),
        "list, by a rare word": ("GET", "/v1/tasks?limit=20&q=needle", None),
        "one task": ("GET", one, None),
        "preview of a task's edit": ("POST", f"{one}/preview", edit),
    }
    key = ground.member.api_key
    async with ApiClient(ground.product.base_url, key, concurrency=1) as client:
        for name, (method, path, body) in asked.items():
            taken = []
            for _ in range(repeat + 1):
                begun = time.perf_counter()
                await client.expect(200, method, path, body)
                taken.append((time.perf_counter() - begun) * 1000)
            # The first one warms what all later ones use.
            found.figures[f"{name} p50, ms"] = distribution(taken[1:]).p50


def stages(ground: Ground, repeat: int, found: Measured) -> None:
    """Take the medians of what the statements of the stages cost."""
    taken = [one_pass(ground.member.tenant_id) for _ in range(repeat + 1)][1:]
    for stage in STAGES:
        found.figures[f"{stage}, ms"] = statistics.median(costs.ms[stage] for costs in taken)
        found.blocks[stage] = statistics.median(costs.blocks[stage] for costs in taken)


def start_delays(
    product: Installation, rate: float, seconds: float, windows: int, found: Measured
) -> None:
    """Run a steady load through the product in so many windows; take the medians of their figures.

    The 99th percentile of one window is that of few executions: one pause of a machine decides it.
    """

    def plan(window: Window) -> list[Planned]:
        return steady(window, rate)

    taken = []
    for _ in range(windows):
        verdict = asyncio.run(campaign.run(product, seconds, plan)).verdict
        if not verdict.passed:
            found.faults.append(f"the load did not run as planned: {dict(verdict.labels)}")
        taken.append(verdict.start_delay)
    found.figures |= {
        "start delay p50, ms": statistics.median(delays.p50 for delays in taken),
        "start delay p99, ms": statistics.median(delays.p99 for delays in taken),
    }


def creations(ground: Ground, chosen: argparse.Namespace, found: Measured) -> None:
    """Create by single calls and in bulk, for a tenant of its own."""
    product = replace(ground.product, api_key=make_member().api_key)
    single = asyncio.run(creation.singles(product, chosen.creates, chosen.create_seconds))
    bulk = asyncio.run(creation.in_bulk(product, chosen.bulk, _BULK_CALL))
    if single.refused or bulk.tasks != chosen.bulk:
        found.faults.append(f"{single.refused} creations refused, {bulk.tasks} made in bulk")
    found.figures |= {
        "single create p50, ms": single.latency.p50,
        "single create p99, ms": single.latency.p99,
        "bulk creates a second": bulk.per_second,
    }


def measure_size(ground: Ground, chosen: argparse.Namespace) -> Measured:
    """Take every figure once, with what lies at rest now."""
    found = Measured()
    tables.settle(ground.address)
    # First what only reads: what is created at the end lies at rest as well.
    asyncio.run(lists(ground, chosen.repeat, found))
    stages(ground, chosen.repeat, found)
    # What was undone is left in the tables, and of small ones it is the greater part.
    tables.settle(ground.address)
    start_delays(ground.product, chosen.rate, chosen.seconds, chosen.windows, found)
    creations(ground, chosen, found)
    return found


# --- the report --------------------------------------------------------------------------------


def prepare(product: Installation, chosen: argparse.Namespace) -> Ground:
    """Make the tenants and the tasks that are copied, and warm the installation up."""
    from shared.actor import COMMAND
    from tenants.services import create_tenant

    member = make_member()
    names = (f"at rest {uuid4()}" for _ in range(chosen.tenants - 1))
    others = [create_tenant(name, actor=COMMAND, unlimited=True).id for name in names]
    address = local_state.load_runtime(Path(product.environment["DATA_DIR"]))["database_url"]

    async def make_samples() -> list[str]:
        far = datetime.now(UTC).replace(microsecond=0) + _FAR
        async with ApiClient(product.base_url, member.api_key) as client:
            return await create(client, sample_bodies(far))

    samples = asyncio.run(make_samples())
    start_delays(product, _WARM_RATE, _WARM_SECONDS, 1, Measured())
    return Ground(product, address, member, [member.tenant_id, *others], samples)


def size_lines(size: int, empty: Measured, full: Measured) -> list[str]:
    """Return the figures of a size beside those of the empty system."""
    return [
        f"  {'':36} {'empty':>10} {size:>10} {'times':>6}  target {TARGET_RATIO:g} times",
        *map(str, judge(empty.figures, full.figures)),
        *(
            f"  {stage}: {blocks:.0f} blocks, empty {empty.blocks[stage]:.0f}"
            for stage, blocks in full.blocks.items()
        ),
    ]


def faults_of(measured: Mapping[int, Measured], size: int) -> list[str]:
    """Return a line for each fault of any size, and for each target that was missed at this one."""
    found = [f"with {at} at rest: {fault}" for at, one in measured.items() for fault in one.faults]
    return found + [
        f"target missed: {one.name} {one.ratio:.2f} times (target {TARGET_RATIO:g})"
        for one in judge(measured[0].figures, measured[size].figures)
        if not one.kept
    ]


def publish(
    measured: Mapping[int, Measured],
    stored: tables.Stored,
    backlogs: Backlogs | None,
    chosen: argparse.Namespace,
) -> int:
    """Print and store what came of it; 1 when a target was missed or something went wrong."""
    sizes = [at for at in measured if at]
    size = judged_size(sizes)
    faults = faults_of(measured, size) + (backlogs.faults() if backlogs else [])
    lines = [line for at in sizes for line in size_lines(at, measured[0], measured[at])]
    lines += stored.lines()
    lines += backlogs.lines() if backlogs else []
    figures = {
        "tenants": chosen.tenants,
        "rate": chosen.rate,
        "seconds": chosen.seconds,
        "windows": chosen.windows,
        "sizes": {
            at: {"figures": one.figures, "blocks": one.blocks} for at, one in measured.items()
        },
        "judged_size": size,
        "storage": stored.as_json(),
        "backlogs": backlogs.as_json() if backlogs else None,
        "faults": faults,
        "passed": not faults,
    }
    report.publish("at-rest", figures, [*lines, *faults, "FAILED" if faults else "PASSED"], chosen)
    return 1 if faults else 0


def main(arguments: list[str]) -> int:
    """Run the report from a command line."""
    chosen = options(arguments)
    installation.require_start(chosen)
    with installation.opened(chosen) as product:
        enter(product)
        ground = prepare(product, chosen)
        measured = {0: measure_size(ground, chosen)}
        for size in sorted(chosen.sizes):
            tables.fill(ground.address, size, ground.tenants, ground.samples)
            measured[size] = measure_size(ground, chosen)
        stored = tables.read(ground.address)
        backlogs = None
        if chosen.rounds:
            backlogs = work_off_all(product, ground.address, chosen.rounds, chosen.round_count)
    return publish(measured, stored, backlogs, chosen)


if __name__ == "__main__":
    command_line.run(main)
