"""One destination hangs, with a great backlog, and the others go on as if it were not there.

A steady load to a quick receiver is measured alone, and again while another destination, which
answers only after 30 seconds, has ``--backlog`` executions due. The start delay of the quick one
may move by a tenth at most at p95. Run: ``python -m bench.hanging --start --backlog 100000``.
"""

from __future__ import annotations

import argparse
import asyncio
import time
from typing import Any

from bench import campaign, command_line, installation, report
from bench.failing import create, hanging_task
from bench.members import Member, enter, make_member
from operations.proof.client import ApiClient
from operations.proof.oracle import Planned
from operations.proof.percentiles import distribution
from operations.proof.workload import Window, steady

#: By how much the p95 of the others may move.
TARGET_RATIO = 1.10
_HANG_MS = 30_000
_SETTLE_SECONDS = 10.0


def options(arguments: list[str]) -> argparse.Namespace:
    """Return the command line's options."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--backlog", type=int, default=100_000)
    parser.add_argument("--rate", type=float, default=50)
    parser.add_argument("--seconds", type=float, default=60)
    installation.add_arguments(parser)
    report.add_arguments(parser)
    return parser.parse_args(arguments)


async def make_backlog(
    product: installation.Installation, member: Member, url: str, count: int
) -> None:
    """Create the backlog, due a second after its creation began; it waits from then on."""
    at_ms = time.time_ns() // 1_000_000 + 1000
    async with ApiClient(product.base_url, member.api_key) as client:
        await create(client, [hanging_task(url, at_ms, number) for number in range(count)])
    await asyncio.sleep(_SETTLE_SECONDS)  # the first looks at it are part of no steady state


def waiting(tenant_id: Any) -> dict[str, int]:
    """Return how many of the tenant's executions are in each state."""
    from django.db.models import Count

    from executions.models import Execution

    rows = Execution.objects.for_tenant(tenant_id).values_list("status", "parked")
    counted = rows.annotate(count=Count("id"))
    return {f"{status}{' parked' if parked else ''}": count for status, parked, count in counted}


def steady_run(product: installation.Installation, chosen: argparse.Namespace) -> Any:
    """Run the steady load and return its outcome."""

    def plan(window: Window) -> list[Planned]:
        return steady(window, chosen.rate)

    return asyncio.run(campaign.run(product, chosen.seconds, plan))


def measure(product: installation.Installation, chosen: argparse.Namespace) -> int:
    """Measure alone and beside the backlog; 1 when the others were held up or lost anything."""
    enter(product)
    member = make_member()
    alone = steady_run(product, chosen)
    with installation.receiver() as target:
        url = f"{target.url}/slow?ms={_HANG_MS}"
        asyncio.run(make_backlog(product, member, url, chosen.backlog))
        before = waiting(member.tenant_id)
        beside = steady_run(product, chosen)
        after = waiting(member.tenant_id)
    first, second = alone.verdict.start_delay, beside.verdict.start_delay
    ratio = second.p95 / first.p95 if first.p95 else 0.0
    kept = alone.verdict.passed and beside.verdict.passed
    passed = kept and ratio < TARGET_RATIO
    figures = {
        "backlog": chosen.backlog,
        "rate": chosen.rate,
        "seconds": chosen.seconds,
        "alone_ms": first.as_json(),
        "beside_ms": second.as_json(),
        "product_alone_ms": distribution(alone.verdict.product_delays_ms).as_json(),
        "product_beside_ms": distribution(beside.verdict.product_delays_ms).as_json(),
        "ratio_p95": round(ratio, 3),
        "backlog_before": before,
        "backlog_after": after,
        "passed": passed,
    }
    lines = [
        f"{chosen.rate:g} executions a second, alone: {first}",
        f"beside {chosen.backlog} due for a receiver that hangs {_HANG_MS // 1000} s: {second}",
        f"p95 moves by the factor {ratio:.2f} (target under {TARGET_RATIO:g})",
        f"the backlog before: {before}; after: {after}",
        *(line for run in (alone, beside) for line in report.verdict_lines(run.verdict)[:2]),
        "PASSED" if passed else "FAILED",
    ]
    report.publish("hanging", figures, lines, chosen)
    return 0 if passed else 1


def main(arguments: list[str]) -> int:
    """Run the report from a command line."""
    chosen = options(arguments)
    installation.require_start(chosen)
    with installation.opened(chosen) as product:
        return measure(product, chosen)


if __name__ == "__main__":
    command_line.run(main)
