"""Shares of scarce workers on a running installation, with one scheduler or with several.

``weights``: three tenants of the weights 1, 2 and 4 have more due than the workers can run, for
five minutes; the starts of each may differ from its share by 5 % at most, although one tenant has
all of its work in one partition. ``beside``: a small tenant's start delay is measured alone, beside
a flood of another tenant, and beside a flood of calls that take 30 seconds: its p95 may rise by
50 ms. ``priority``: urgent work of a tenant overtakes its own backlog and takes nothing from
another tenant, and its low priority waits ten times as long as in order of due time at most.
Run: ``python -m bench.fairness --start --schedulers 4`` (``--only weights``).
"""

from __future__ import annotations

import argparse
import asyncio
import time
from collections.abc import Callable, Mapping
from contextlib import ExitStack
from typing import Any

from bench import backlogs, campaign, command_line, installation, report, saturation
from bench.backlogs import Backlog
from bench.fairness_priority import priority_run
from bench.members import enter, make_member
from bench.saturation import CALL_MS
from operations.proof.matcher import Verdict
from operations.proof.oracle import Planned
from operations.proof.workload import Window, steady

WEIGHTS = (1, 2, 4)
#: By how much the p95 beside others may rise.
MOST_MS = 50.0
_HANG_MS = 30_000
#: The partition that has all the work of the last tenant.
_PARTITION = 7
#: Measures a part; returns its figures, and whether the claim was kept.
Part = Callable[[installation.Installation, argparse.Namespace], tuple[dict[str, Any], bool]]


def options(arguments: list[str]) -> argparse.Namespace:
    """Return the command line's options."""
    parser = argparse.ArgumentParser(prog="python -m bench.fairness", description=__doc__)
    parser.add_argument("--only", nargs="+", choices=tuple(PARTS), default=list(PARTS))
    parser.add_argument("--schedulers", type=command_line.above_zero, default=1)
    parser.add_argument(
        "--capacity", type=command_line.above_zero, default=50, help="slots of the one worker"
    )
    parser.add_argument("--seconds", type=float, default=300, help="of saturation")
    parser.add_argument(
        "--destinations",
        type=command_line.above_zero,
        default=1,
        help="that each tenant of a weight calls",
    )
    parser.add_argument("--beside-seconds", type=float, default=60)
    parser.add_argument("--flood", type=command_line.above_zero, default=100_000)
    parser.add_argument("--rate", type=float, default=50, help="of the small tenant, a second")
    installation.add_arguments(parser)
    report.add_arguments(parser)
    return parser.parse_args(arguments)


def kept(p95: Mapping[str, float]) -> bool:
    """Return whether no p95 is more than 50 ms above the one alone."""
    return all(delay <= p95["alone"] + MOST_MS for delay in p95.values())


def weights_run(
    product: installation.Installation, chosen: argparse.Namespace
) -> tuple[dict[str, Any], bool]:
    """Saturate the workers by three tenants; return the starts of each, and whether all fit."""
    members = [make_member() for _ in WEIGHTS]
    for member, weight in zip(members, WEIGHTS, strict=True):
        saturation.weigh(member, weight)
    counts = saturation.counts_of(chosen.capacity, chosen.seconds, WEIGHTS)
    partitions = [*[None] * (len(members) - 1), _PARTITION]
    with ExitStack() as stack:
        targets = [stack.enter_context(installation.receiver()) for _ in range(chosen.destinations)]
        url, *others = [f"{target.url}/slow?ms={CALL_MS}" for target in targets]
        work = [
            (member, Backlog(url, count, partition=partition, others=tuple(others)))
            for member, count, partition in zip(members, counts, partitions, strict=True)
        ]
        starts, each_second = saturation.saturate(product, work, chosen.seconds)
    errors = saturation.errors_of(starts, WEIGHTS)
    figures = {
        "weights": WEIGHTS,
        "starts": starts,
        "a_second": each_second,
        "errors": [round(error, 4) for error in errors],
    }
    return figures, saturation.is_fair(errors)


def small_run(product: installation.Installation, chosen: argparse.Namespace) -> Verdict:
    """Run the small tenant's steady load; return its verdict."""

    def plan(window: Window) -> list[Planned]:
        return steady(window, chosen.rate)

    return asyncio.run(campaign.run(product, chosen.beside_seconds, plan)).verdict


def beside_run(
    product: installation.Installation, chosen: argparse.Namespace
) -> tuple[dict[str, Any], bool]:
    """Measure the small tenant alone, beside a flood, and beside calls that hang."""
    verdicts = {"alone": small_run(product, chosen)}
    for name, call_ms in (("flood", CALL_MS), ("hanging", _HANG_MS)):
        member = make_member()
        with installation.receiver() as target:
            flood = Backlog(f"{target.url}/slow?ms={call_ms}", chosen.flood)
            due = saturation.fall_due(product, [(member, flood)])
            saturation.wait(due + saturation.SETTLE_SECONDS - time.time())
            verdicts[name] = small_run(product, chosen)
            backlogs.require_waiting(product, [member])
        # Behind the receiver's end: its calls that hang have ended, too.
        backlogs.clear(product, member.tenant_id)
    delays = {name: one.start_delay for name, one in verdicts.items()}
    calm = kept({name: one.p95 for name, one in delays.items()})
    faults = [line for one in verdicts.values() if not one.passed for line in _told(one)]
    figures = {**{name: one.as_json() for name, one in delays.items()}, "faults": faults}
    return figures, calm and not faults


def _told(verdict: Verdict) -> list[str]:
    return report.verdict_lines(verdict)[:2]


PARTS: Mapping[str, Part] = {
    "weights": weights_run,
    "beside": beside_run,
    "priority": priority_run,
}


def measure(product: installation.Installation, chosen: argparse.Namespace) -> int:
    """Run the parts that were asked for and publish; 1 when a claim was missed."""
    enter(product)
    found = {name: PARTS[name](product, chosen) for name in chosen.only}
    passed = all(kept_it for _, kept_it in found.values())
    figures = {
        "schedulers": chosen.schedulers,
        "capacity": chosen.capacity,
        "destinations": chosen.destinations,
        "seconds": chosen.seconds,
        "flood": chosen.flood,
        **{name: {**told, "passed": kept_it} for name, (told, kept_it) in found.items()},
        "passed": passed,
    }
    lines = [f"{chosen.schedulers} schedulers, {chosen.capacity} slots, calls of {CALL_MS} ms"]
    for name, (told, kept_it) in found.items():
        lines.append(f"{name}: {'kept' if kept_it else 'MISSED'}")
        lines += [f"  {what}: {value}" for what, value in told.items()]
    lines.append("PASSED" if passed else "FAILED")
    report.publish("fairness", figures, lines, chosen)
    return 0 if passed else 1


def main(arguments: list[str]) -> int:
    """Run the report from a command line."""
    chosen = options(arguments)
    with saturation.opened(chosen) as product:
        return measure(product, chosen)


if __name__ == "__main__":
    command_line.run(main)
