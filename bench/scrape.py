"""A scrape of ``/metrics`` with a million tasks and 10,000 executions a minute beside it.

The tasks are copies that lie in wait; the executions are those of recurring tasks. Every scrape
has to take less than 100 ms, the ones that read what changes slowly included; the wire and this
process's parsing of the answer are in that time. Run: ``python -m bench.scrape --start``.
"""

from __future__ import annotations

import argparse
import asyncio
import secrets
import time
import urllib.request
from typing import Any
from uuid import UUID

from bench import at_rest_tables, command_line, installation, report, saturation
from bench.at_rest_tables import settle
from bench.creation import body_of
from bench.failing import create
from bench.isolation_small import create_recurring
from bench.members import Member, enter, make_member
from operations.proof.client import ApiClient
from operations.proof.percentiles import Distribution, distribution

LIMIT_MS = 100.0
_A_MINUTE = 10_000
#: A reading serves scrapes for a second; each scrape here reads anew.
_EVERY_SECONDS = 1.5
_WARM_SECONDS = 15.0


def options(arguments: list[str]) -> argparse.Namespace:
    """Return the command line's options."""
    parser = argparse.ArgumentParser(prog="python -m bench.scrape", description=__doc__)
    parser.add_argument("--tasks", type=command_line.above_zero, default=1_000_000)
    parser.add_argument("--scrapes", type=command_line.above_zero, default=60)
    installation.add_arguments(parser)
    report.add_arguments(parser)
    return parser.parse_args(arguments)


def faults_of(found: Distribution, size: int) -> list[str]:
    """Return a line for each promise that was broken."""
    faults = []
    if found.max >= LIMIT_MS:
        faults.append(f"a scrape took {found.max:.1f} ms, not under {LIMIT_MS:g}")
    if not size:
        faults.append("a scrape answered nothing")
    return faults


def scrape(url: str, token: str) -> tuple[float, int]:
    """Scrape once; return the milliseconds and the bytes of the answer."""
    request = urllib.request.Request(  # noqa: S310 - this machine's own web process
        f"{url}/metrics", headers={"Authorization": f"Bearer {token}"}
    )
    begin = time.monotonic()
    with urllib.request.urlopen(request, timeout=30) as answer:  # noqa: S310 - as above
        size = len(answer.read())
    return (time.monotonic() - begin) * 1000, size


async def _samples(product: installation.Installation, member: Member) -> list[str]:
    """Create the tasks that those at rest are copies of."""
    async with ApiClient(product.base_url, member.api_key) as client:
        return await create(client, [body_of(number) for number in range(10)])


def measure(
    product: installation.Installation, token: str, chosen: argparse.Namespace
) -> tuple[Distribution, int]:
    """Fill, load and scrape; return the milliseconds of the scrapes and the least answer."""
    enter(product)
    member = make_member()
    samples = asyncio.run(_samples(product, member))
    tenants: list[UUID] = [member.tenant_id]
    at_rest_tables.fill(product.database_url, chosen.tasks, tenants, samples)
    settle(product.database_url)
    with installation.receiver() as target:
        asyncio.run(create_recurring(product, make_member(), target, _A_MINUTE / 60))
        saturation.wait(_WARM_SECONDS)
        found = []
        for _ in range(chosen.scrapes):
            found.append(scrape(product.base_url, token))
            saturation.wait(_EVERY_SECONDS)
    return distribution([ms for ms, _ in found]), min(size for _, size in found)


def main(arguments: list[str]) -> int:
    """Run the report from a command line."""
    chosen = options(arguments)
    installation.require_start(chosen)
    token = secrets.token_hex(16)
    with installation.opened(chosen, METRICS_TOKEN=token) as product:
        found, size = measure(product, token, chosen)
    faults = faults_of(found, size)
    figures: dict[str, Any] = {
        "tasks": chosen.tasks,
        "executions_a_minute": _A_MINUTE,
        "scrape_ms": found.as_json(),
        "bytes": size,
        "faults": faults,
        "passed": not faults,
    }
    lines = [
        f"{chosen.tasks} tasks, {_A_MINUTE} executions a minute, {chosen.scrapes} scrapes of "
        f"{size} bytes: {found}",
        *faults,
        "FAILED" if faults else "PASSED",
    ]
    report.publish("scrape", figures, lines, chosen)
    return 1 if faults else 0


if __name__ == "__main__":
    command_line.run(main)
