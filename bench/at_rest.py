"""Shows that tasks at rest cost nothing: the product with a million of them beside an empty one.

Two installations run at the same time, and the same figures are taken of both in turn, so that a
machine whose speed changes does not decide: start delay, creating, lists, and the statements of
materialize and dispatch with a thousand due. At rest are copies of a few real tasks, due in a month
or later; the empty system has those few, and what measuring creates, some ten thousand. The cost
of the full one while it is not asked anything would slow both, and is not reported here. Then
backlogs are worked off beside an open transaction. Run: ``python -m bench.at_rest --start``.
"""

from __future__ import annotations

import argparse
import asyncio
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, timedelta
from typing import Any
from uuid import UUID, uuid4

from bench import at_rest_tables as tables
from bench import campaign, command_line, creation, installation, report
from bench.at_rest_reader import Backlogs, work_off_all
from bench.at_rest_sides import Measured, Side, in_turn
from bench.at_rest_stages import Costs, one_look, one_pass
from bench.failing import create
from bench.installation import Installation
from bench.members import Member, make_member
from operations.proof.client import ApiClient
from operations.proof.oracle import Planned
from operations.proof.percentiles import distribution
from operations.proof.workload import Window, steady

#: How many times as much a figure may cost as in the empty system, and at which size.
TARGET_RATIO = 1.2
TARGET_SIZE = 1_000_000
#: Figures whose name ends so are rates: more of them is better.
_RATE = "a second"
_BULK_CALL = 10_000
_WARM_RATE, _WARM_SECONDS = 20.0, 10.0
_SAMPLES = 60
#: How many of them the rare filter and the search find.
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


#: What was measured of the empty system, and at the same time with tasks at rest.
Pair = tuple[Measured, Measured]


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
        """Return whether its cost is within the target."""
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
    parser.add_argument("--seconds", type=float, default=30.0, help="of executions in a round")
    parser.add_argument("--creates", type=int, default=100, help="single creations a second")
    parser.add_argument("--create-seconds", type=float, default=15.0)
    parser.add_argument("--bulk", type=int, default=10_000, help="tasks created in bulk")
    some = command_line.above_zero
    parser.add_argument("--repeat", type=some, default=5, help="requests and passes in a round")
    parser.add_argument("--rounds", type=some, default=3, help="of each figure; medians count")
    parser.add_argument("--backlogs", type=int, default=5, help="0 leaves them out")
    parser.add_argument("--backlog-count", type=int, default=20_000, help="executions of each")
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


def lists(ground: Ground, chosen: argparse.Namespace) -> Measured:
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
    found = Measured()

    async def ask() -> None:
        async with ApiClient(
            ground.product.base_url, ground.member.api_key, concurrency=1
        ) as client:
            for name, (method, path, body) in asked.items():
                taken = []
                for _ in range(chosen.repeat + 1):
                    begun = time.perf_counter()
                    await client.expect(200, method, path, body)
                    taken.append((time.perf_counter() - begun) * 1000)
                # The first one warms what all later ones use.
                found.figures[f"{name} p50, ms"] = distribution(taken[1:]).p50

    asyncio.run(ask())
    return found


def stages(ground: Ground, chosen: argparse.Namespace) -> Measured:
    """Take the medians of what the statements of the stages cost."""
    tables.settle(ground.address)
    looks = [one_look() for _ in range(chosen.repeat + 1)][1:]
    passes = [one_pass(ground.member.tenant_id) for _ in range(chosen.repeat + 1)][1:]
    # What was undone is left in the tables, and of small ones it is the greater part.
    tables.settle(ground.address)
    found = Measured()
    for taken in (looks, passes):
        whole = Measured.median([_measured(costs) for costs in taken])
        found.figures |= whole.figures
        found.blocks |= whole.blocks
    return found


def _measured(costs: Costs) -> Measured:
    return Measured(
        {f"{stage}, ms": ms for stage, ms in costs.ms.items()},
        {stage: float(blocks) for stage, blocks in costs.blocks.items()},
    )


def start_delays(product: Installation, rate: float, seconds: float) -> Measured:
    """Run a steady load through the product, and tell how late it started."""

    def plan(window: Window) -> list[Planned]:
        return steady(window, rate)

    verdict = asyncio.run(campaign.run(product, seconds, plan)).verdict
    faults = [] if verdict.passed else [f"the load did not run as planned: {dict(verdict.labels)}"]
    delays = verdict.start_delay
    figures = {"start delay p50, ms": delays.p50, "start delay p99, ms": delays.p99}
    return Measured(figures, faults=faults)


def loads(ground: Ground, chosen: argparse.Namespace) -> Measured:
    """Run the steady load that the options tell."""
    return start_delays(ground.product, chosen.rate, chosen.seconds)


def creations(ground: Ground, chosen: argparse.Namespace) -> Measured:
    """Create by single calls and in bulk, for a tenant of its own."""
    product = replace(ground.product, api_key=make_member().api_key)
    single = asyncio.run(creation.singles(product, chosen.creates, chosen.create_seconds))
    bulk = asyncio.run(creation.in_bulk(product, chosen.bulk, _BULK_CALL))
    figures = {
        "single create p50, ms": single.latency.p50,
        "single create p99, ms": single.latency.p99,
        "bulk creates a second": bulk.per_second,
    }
    if single.refused or bulk.tasks != chosen.bulk:
        fault = f"{single.refused} creations refused, {bulk.tasks} made in bulk"
        return Measured(figures, faults=[fault])
    return Measured(figures)


#: Each with its turns in a round; in this order: what is created at the end lies at rest as well.
PARTS: Mapping[Callable[[Ground, argparse.Namespace], Measured], int] = {
    lists: 5,
    stages: 1,
    loads: 1,
    creations: 1,
}


# --- the report --------------------------------------------------------------------------------


def prepare(product: Installation, chosen: argparse.Namespace) -> Ground:
    """Make the tenants and the tasks that are copied, and warm the installation up."""
    from shared.actor import COMMAND
    from tenants.services import create_tenant

    member = make_member()
    names = (f"at rest {uuid4()}" for _ in range(chosen.tenants - 1))
    others = [create_tenant(name, actor=COMMAND, unlimited=True).id for name in names]
    address = product.database_url

    async def make_samples() -> list[str]:
        far = datetime.now(UTC).replace(microsecond=0) + _FAR
        async with ApiClient(product.base_url, member.api_key) as client:
            return await create(client, sample_bodies(far))

    samples = asyncio.run(make_samples())
    start_delays(product, _WARM_RATE, _WARM_SECONDS)
    return Ground(product, address, member, [member.tenant_id, *others], samples)


def size_lines(size: int, empty: Measured, full: Measured) -> list[str]:
    """Return the figures of a size beside those of the empty system."""
    return [
        f"  {'':36} {'empty':>10} {size:>10} {'times':>6}  target {TARGET_RATIO:g} times",
        f"  {'tasks that wait':36} {empty.tasks:>10} {full.tasks:>10}",
        *map(str, judge(empty.figures, full.figures)),
        *(
            f"  {stage}: {blocks:.0f} blocks, empty {empty.blocks[stage]:.0f}"
            for stage, blocks in full.blocks.items()
        ),
    ]


def faults_of(measured: Mapping[int, Pair], size: int) -> list[str]:
    """Return a line for each fault of any size, and for each target that was missed at this one."""
    found = [
        f"{name} {at} at rest: {fault}"
        for at, (empty, full) in measured.items()
        for name, side in (("beside", empty), ("with", full))
        for fault in side.faults
    ]
    empty, full = measured[size]
    return found + [
        f"target missed: {one.name} {one.ratio:.2f} times (target {TARGET_RATIO:g})"
        for one in judge(empty.figures, full.figures)
        if not one.kept
    ]


def publish(
    measured: Mapping[int, Pair],
    stored: tables.Stored,
    backlogs: Backlogs | None,
    chosen: argparse.Namespace,
    lost: Sequence[str] = (),
) -> int:
    """Print and store what came of it; 1 when a target was missed or something went wrong."""
    size = judged_size(list(measured))
    faults = [*faults_of(measured, size), *(backlogs.faults() if backlogs else []), *lost]
    lines = [line for at, pair in measured.items() for line in size_lines(at, *pair)]
    lines += stored.lines()
    lines += backlogs.lines() if backlogs else []
    figures = {
        "tenants": chosen.tenants,
        "rate": chosen.rate,
        "seconds": chosen.seconds,
        "rounds": chosen.rounds,
        "sizes": {
            at: {
                "empty": empty.figures,
                "full": full.figures,
                "blocks": {"empty": empty.blocks, "full": full.blocks},
                "tasks": {"empty": empty.tasks, "full": full.tasks},
            }
            for at, (empty, full) in measured.items()
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
    with ExitStack() as stack:
        sides = [
            stack.enter_context(Side.opened(stack.enter_context(installation.opened(chosen))))
            for _ in range(2)
        ]
        for side in sides:
            side.ground = side.call(prepare, side.product, chosen)
        _, full = sides
        measured: dict[int, Pair] = {}
        for size in sorted(chosen.sizes):
            tables.fill(full.ground.address, size, full.ground.tenants, full.ground.samples)
            for side in sides:
                tables.settle(side.ground.address)
            waiting = [tables.count(side.ground.address) for side in sides]
            empty_found, full_found = in_turn(sides, PARTS, chosen)
            empty_found.tasks, full_found.tasks = waiting
            measured[size] = (empty_found, full_found)
        stored = tables.read(full.ground.address)
        backlogs, lost = None, []
        if chosen.backlogs:
            try:
                backlogs = full.call(
                    work_off_all,
                    full.product,
                    full.ground.address,
                    chosen.backlogs,
                    chosen.backlog_count,
                )
            except installation.InstallationError as error:
                # What was measured before took long: it counts without the backlogs.
                lost.append(f"no backlogs: {error}")
    return publish(measured, stored, backlogs, chosen, lost)


if __name__ == "__main__":
    command_line.run(main)
