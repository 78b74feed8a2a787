"""A thousand runs of ten steps that are asked for at one moment: steps a second.

The graph has two fans of three with a join behind each. All runs are made in one transaction, so
that they come due together; the time counts from its commit until the last run has ended.
Run: ``python -m bench.workflows many --start``.
"""

from __future__ import annotations

import argparse
import asyncio
import statistics
import time
from collections.abc import Sequence
from typing import Any
from uuid import UUID

from bench import command_line, installation, report
from bench.installation import Installation
from bench.members import Member, enter, make_member
from bench.peers.figures import rate
from bench.processes import usage
from bench.workflows.definitions import ten_steps
from bench.workflows.evidence import problems, read_calls
from bench.workflows.runs import create, statuses, until_ended
from operations.proof.campaign import Receiver
from operations.proof.client import ApiClient

NAME = "many"
_PATIENCE_SECONDS = 600.0


def add_parser(parsers: Any) -> None:
    """Add the part's options."""
    parser = parsers.add_parser(NAME, help="runs of ten steps, at once")
    parser.add_argument("--runs", type=command_line.above_zero, default=1000)
    parser.add_argument("--rounds", type=command_line.above_zero, default=3)
    installation.add_arguments(parser)
    report.add_arguments(parser)
    parser.set_defaults(run=run)


def start_all(tenant_id: UUID, workflow_id: UUID, count: int) -> list[str]:
    """Start this many runs in one transaction; return their ids."""
    from django.db import transaction

    from shared.actor import COMMAND
    from workflows.launching import start_run

    with transaction.atomic():
        made = [start_run(tenant_id, workflow_id, None, actor=COMMAND) for _ in range(count)]
    return [str(one.id) for one in made]


async def _make(product: Installation, member: Member, body: dict[str, Any]) -> str:
    async with ApiClient(product.base_url, member.api_key) as client:
        return await create(client, body)


def take_turn(
    product: Installation, member: Member, receiver: Receiver, chosen: Any
) -> tuple[dict[str, Any], list[str]]:
    """Run one turn; return its figures, and what is wrong with it."""
    body = ten_steps(f"{receiver.url}/ok")
    workflow_id = asyncio.run(_make(product, member, body))
    kinds = product.kinds()
    before = usage(kinds)
    ids = start_all(member.tenant_id, UUID(workflow_id), chosen.runs)
    committed = time.time()
    found = asyncio.run(until_ended(product, ids, _PATIENCE_SECONDS))
    cpu = usage(kinds).cpu_since(before)
    calls, _ = read_calls(product.database_url, receiver.ledger, ids)
    wrong = problems(calls, body)
    steps = len(body["steps"]) * chosen.runs
    if statuses(found) != {"SUCCEEDED": chosen.runs} or len(calls) != steps:
        wrong.append(f"{statuses(found)}, {len(calls)} of {steps} requests")
    seconds = max(one.finished_at for one in found.values()) - committed
    figures = {
        "seconds": round(seconds, 3),
        "steps_per_second": round(steps / seconds, 1),
        "requests_per_second": round(rate([call.arrival.wall_ns for call in calls]), 1),
        "cpu_us_each_step": {kind: round(used * 1e6 / steps, 1) for kind, used in cpu.items()},
    }
    return figures, wrong


def run(chosen: argparse.Namespace) -> int:
    """Measure and publish; 1 where a run did not do what it had to."""
    turns: list[dict[str, Any]] = []
    wrong: list[str] = []
    with installation.opened(chosen) as product:
        enter(product)
        member = make_member()
        for _ in range(chosen.rounds):
            with installation.receiver() as receiver:
                turn, problems_ = take_turn(product, member, receiver, chosen)
            turns.append(turn)
            wrong += problems_
    middle = medians(turns)
    figures = {
        "runs": chosen.runs,
        "medians": middle,
        "turns": turns,
        "problems": wrong,
        "passed": not wrong,
    }
    lines = [f"{name.replace('_', ' '):<24} {value:>10.1f}" for name, value in middle.items()]
    lines += [*wrong, "FAILED" if wrong else "PASSED"]
    report.publish(f"workflows-{NAME}", figures, lines, chosen)
    return 1 if wrong else 0


def medians(turns: Sequence[dict[str, Any]]) -> dict[str, float]:
    """Return the medians over the turns; processor time of all processes together."""
    return {
        "seconds": statistics.median(one["seconds"] for one in turns),
        "steps_per_second": statistics.median(one["steps_per_second"] for one in turns),
        "requests_per_second": statistics.median(one["requests_per_second"] for one in turns),
        "cpu_us_each_step": statistics.median(
            sum(one["cpu_us_each_step"].values()) for one in turns
        ),
    }
