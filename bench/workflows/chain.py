"""Chains of 10 and of 40 steps: from the end of a step to the request of the next one.

Both are the receiver's moments: it answers a step at once, and notes when the next one comes. With
``--rate`` ordinary executions run beside, at this rate a second, and their start delay is measured
with chains and without, in turns. Targets beside 500 a second: p50 under 20, p99 under 100 ms.
Run: ``python -m bench.workflows chain --start --rate 500``.
"""

from __future__ import annotations

import argparse
import asyncio
import statistics
import time
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from bench import command_line, installation, report
from bench.installation import Installation
from bench.peers.figures import Turn
from bench.peers.target import Target, running
from bench.workflows import ordinary
from bench.workflows.definitions import chain
from bench.workflows.evidence import Call, problems, read_calls
from bench.workflows.runs import create, start, statuses, until_ended
from operations.proof.campaign import Receiver
from operations.proof.client import ApiClient
from operations.proof.percentiles import Distribution, distribution

NAME = "chain"
#: Without chains: the ordinary executions alone.
ALONE = 0
TARGETS_MS = {"p50": 20.0, "p99": 100.0}
_PATIENCE_SECONDS = 120.0
_PERCENTILES = ("p50", "p95", "p99", "max")


@dataclass(frozen=True, slots=True)
class ChainTurn:
    """One turn: chains of a length (0: none), and the ordinary executions beside them."""

    length: int
    #: From the answer to a step until the request of the next one.
    gaps_ms: Distribution
    #: From the call that asks for a run until the request of its first step.
    begins_ms: Distribution
    beside: Turn | None
    problems: tuple[str, ...]

    def as_json(self) -> dict[str, Any]:
        """Return the figures for the stored result."""
        return {
            "length": self.length,
            "step_to_next_ms": self.gaps_ms.as_json(),
            "asked_to_first_ms": self.begins_ms.as_json(),
            "beside": self.beside.as_json() if self.beside else None,
            "problems": list(self.problems),
        }


def gaps_ms(calls: Sequence[Call]) -> list[float]:
    """Return how long after the answer to each step the next one of its chain came."""
    by_run: dict[str, dict[int, Call]] = defaultdict(dict)
    for call in calls:
        by_run[call.run_id].setdefault(call.step, call)
    return [
        (made[step + 1].arrival.wall_ns - made[step].arrival.answered_ns) / 1e6
        for made in by_run.values()
        for step in sorted(made)
        if step + 1 in made
    ]


def add_parser(parsers: Any) -> None:
    """Add the part's options."""
    parser = parsers.add_parser(NAME, help="from the end of a step to the next request")
    parser.add_argument("--lengths", type=command_line.above_zero, nargs="+", default=[10, 40])
    parser.add_argument("--chains", type=command_line.above_zero, default=20, help="of a turn")
    parser.add_argument("--seconds", type=float, default=30, help="of a turn; chains begin evenly")
    parser.add_argument("--rate", type=float, default=0, help="ordinary executions a second beside")
    parser.add_argument("--rounds", type=command_line.above_zero, default=3)
    installation.add_arguments(parser)
    report.add_arguments(parser)
    parser.set_defaults(run=run)


def turns_of(rounds: int, lengths: Sequence[int], rate: float) -> list[int]:
    """Return the lengths of the turns in order: every other round backwards."""
    once = [ALONE, *lengths] if rate else list(lengths)
    return [length for n in range(rounds) for length in (once[::-1] if n % 2 else once)]


async def take_turn(
    product: Installation, target: Target, receiver: Receiver, length: int, chosen: Any
) -> ChainTurn:
    """Run one turn and return its figures."""
    target.reset()
    plan = ordinary.plan_of(target, chosen.rate, chosen.seconds) if chosen.rate else None
    if plan:
        await ordinary.schedule(product, plan)
    body = chain(f"{receiver.url}/ok", length)
    async with ApiClient(product.base_url, product.api_key) as client:
        workflow_id = await create(client, body) if length else ""
        begin = plan.at_ms / 1000 if plan else time.time()
        asked: list[tuple[str, int]] = []
        for number in range(chosen.chains if length else 0):
            at = begin + number * chosen.seconds / chosen.chains
            await asyncio.sleep(max(0.0, at - time.time()))
            asked.append(await start(client, workflow_id))
    beside = await ordinary.measured(target, plan) if plan else None
    ids = [run_id for run_id, _ in asked]
    found = await until_ended(product, ids, _PATIENCE_SECONDS) if ids else {}
    calls, _ = read_calls(product.database_url, receiver.ledger, ids) if ids else ([], [])
    wrong = problems(calls, body)
    if set(statuses(found)) - {"SUCCEEDED"} or len(calls) != length * len(ids):
        wrong.append(f"{statuses(found)}, {len(calls)} of {length * len(ids)} requests")
    if beside and not beside.kept:
        wrong.append(f"beside: {beside.received} of {beside.count}, {beside.doubled} doubled")
    first = {call.run_id: call for call in reversed(calls) if call.step == 1}
    begins = [(first[run_id].arrival.wall_ns - ns) / 1e6 for run_id, ns in asked if run_id in first]
    return ChainTurn(
        length, distribution(gaps_ms(calls)), distribution(begins), beside, tuple(wrong)
    )


def medians(turns: Sequence[Distribution]) -> dict[str, float]:
    """Return the medians of each figure over the turns."""
    return {
        name: round(statistics.median(getattr(one, name) for one in turns), 3)
        for name in _PERCENTILES
        if turns
    }


def figures_of(turns: Sequence[ChainTurn]) -> dict[str, Any]:
    """Return the medians by length, and the turns."""
    found: dict[str, Any] = {}
    for length in sorted({one.length for one in turns}):
        own = [one for one in turns if one.length == length]
        beside = [one.beside.delays_ms for one in own if one.beside and one.beside.delays_ms]
        found[str(length)] = {
            "step_to_next_ms": medians([one.gaps_ms for one in own if length]),
            "asked_to_first_ms": medians([one.begins_ms for one in own if length]),
            "beside_start_delay_ms": medians(beside),
        }
    return {"medians": found, "turns": [one.as_json() for one in turns]}


def missed(figures: dict[str, Any]) -> list[str]:
    """Return a line for each target that a length misses."""
    return [
        f"target missed: chains of {length}, step to next {name} {told[name]:.2f} ms,"
        f" not under {limit:g} ms"
        for length, found in figures["medians"].items()
        if (told := found["step_to_next_ms"])
        for name, limit in TARGETS_MS.items()
        if told[name] >= limit
    ]


def lines_of(figures: dict[str, Any]) -> list[str]:
    """Return the medians for people."""
    lines = []
    for length, found in figures["medians"].items():
        what = f"chains of {length}" if int(length) else "no chains"
        for name, told in found.items():
            if told:
                parts = ", ".join(f"{key} {ms:.2f}" for key, ms in told.items())
                lines.append(f"{what:<14} {name.replace('_', ' '):<24} {parts}")
    return lines


def run(chosen: argparse.Namespace) -> int:
    """Measure and publish; 1 where a target was missed or a run did not do what it had to."""
    turns: list[ChainTurn] = []
    with installation.opened(chosen) as product, running() as target:
        for length in turns_of(chosen.rounds, chosen.lengths, chosen.rate):
            with installation.receiver() as receiver:
                turns.append(asyncio.run(take_turn(product, target, receiver, length, chosen)))
    figures = figures_of(turns)
    wrong = [line for one in turns for line in one.problems] + missed(figures)
    figures |= {
        "rate": chosen.rate,
        "seconds": chosen.seconds,
        "chains": chosen.chains,
        "problems": wrong,
        "passed": not wrong,
    }
    lines = [*lines_of(figures), *wrong, "FAILED" if wrong else "PASSED"]
    report.publish(f"workflows-{NAME}", figures, lines, chosen)
    return 1 if wrong else 0
