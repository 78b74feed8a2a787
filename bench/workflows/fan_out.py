"""A fan-out of 10,000 items with a join that reads their outputs: how long, and in what memory.

Times are the receiver's: the last item is over when it is answered, and the join begins with its
request. The join has to begin within a second.
Run: ``python -m bench.workflows fan-out --start``.
"""

from __future__ import annotations

import argparse
import asyncio
import statistics
from collections.abc import Sequence
from typing import Any

from bench import command_line, installation, report
from bench.installation import Installation
from bench.peers.figures import rate
from bench.workflows.definitions import fan_out
from bench.workflows.evidence import Call, ended_at, problems, read_calls
from bench.workflows.memory import Peaks, peaks
from bench.workflows.runs import create, start, statuses, until_ended
from operations.proof.campaign import Receiver
from operations.proof.client import ApiClient

NAME = "fan-out"
JOIN_TARGET_MS = 1000.0
_LOAD, _JOIN = 1, 2
_PATIENCE_SECONDS = 600.0


def add_parser(parsers: Any) -> None:
    """Add the part's options."""
    parser = parsers.add_parser(NAME, help="a fan-out with a join")
    parser.add_argument("--items", type=command_line.above_zero, default=10_000)
    parser.add_argument("--max-parallel", type=command_line.above_zero, default=500)
    parser.add_argument("--rounds", type=command_line.above_zero, default=3)
    installation.add_arguments(parser)
    report.add_arguments(parser)
    parser.set_defaults(run=run)


def figures_of(calls: Sequence[Call], asked_ns: int, finished_at: float) -> dict[str, float]:
    """Return the figures of one fan-out; empty where its join has not begun."""
    items = [call for call in calls if call.step == _LOAD]
    join = [call.arrival.wall_ns for call in calls if call.step == _JOIN]
    ended = ended_at(items)
    if ended is None or not join:
        return {}
    return {
        "total_seconds": round(finished_at - asked_ns / 1e9, 3),
        "first_item_ms": round((items[0].arrival.wall_ns - asked_ns) / 1e6, 1),
        "items_per_second": round(rate([call.arrival.wall_ns for call in items]), 1),
        "last_item_to_join_ms": round((join[0] - ended) / 1e6, 1),
    }


async def take_turn(
    product: Installation, receiver: Receiver, chosen: Any
) -> tuple[dict[str, Any], Peaks, list[str]]:
    """Run one fan-out; return its figures, the memory, and what is wrong with it."""
    body = fan_out(f"{receiver.url}/ok", chosen.max_parallel)
    # Asked before: the command itself would disturb the measurement.
    kinds = await asyncio.to_thread(product.kinds)
    async with ApiClient(product.base_url, product.api_key) as client:
        workflow_id = await create(client, body)
        with peaks(kinds) as memory:
            run_id, asked_ns = await start(client, workflow_id, list(range(chosen.items)))
            found = await until_ended(product, [run_id], _PATIENCE_SECONDS)
    calls, _ = read_calls(product.database_url, receiver.ledger, [run_id])
    wrong = problems(calls, body)
    if statuses(found) != {"SUCCEEDED": 1} or len(calls) != chosen.items + 1:
        wrong.append(f"{statuses(found)}, {len(calls)} of {chosen.items + 1} requests")
    return figures_of(calls, asked_ns, found[run_id].finished_at), memory, wrong


def run(chosen: argparse.Namespace) -> int:
    """Measure and publish; 1 where the join was late or the run did not do what it had to."""
    turns, wrong, memory = [], [], []
    with installation.opened(chosen) as product:
        for _ in range(chosen.rounds):
            with installation.receiver() as receiver:
                turn, used, problems_ = asyncio.run(take_turn(product, receiver, chosen))
            turns.append(turn)
            memory.append(used)
            wrong += problems_
    told = [turn for turn in turns if turn]
    middle = {name: statistics.median(turn[name] for turn in told) for name in (told or [{}])[0]}
    late = middle.get("last_item_to_join_ms", 0.0)
    if late >= JOIN_TARGET_MS:
        wrong.append(f"target missed: last item to join {late:.1f} ms, not under 1000 ms")
    figures = {
        "items": chosen.items,
        "max_parallel": chosen.max_parallel,
        "medians": middle,
        "turns": turns,
        "memory": [one.as_json() for one in memory],
        "problems": wrong,
        "passed": not wrong,
    }
    lines = [f"{name.replace('_', ' '):<24} {value:>10.1f}" for name, value in middle.items()]
    lines += _memory_lines(memory)
    lines += [*wrong, "FAILED" if wrong else "PASSED"]
    report.publish(f"workflows-{NAME}", figures, lines, chosen)
    return 1 if wrong else 0


def _memory_lines(memory: Sequence[Peaks]) -> list[str]:
    """Return what each process had before the first turn, and at most in any."""
    return [
        f"{name:<24} {memory[0].before.get(name, 0) / 2**20:8.1f} MiB before, "
        f"{max(one.most.get(name, 0) for one in memory) / 2**20:8.1f} MiB at most"
        for name in sorted(memory[0].most)
    ]
