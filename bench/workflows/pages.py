"""Pages of the console and answers of the API about very large runs: how long, and how many bytes.

A fan-out of 10,000 items in flight and one that has ended, ten fan-outs of 1,000, and 25 runs of
900 steps. Every answer has to come within a second. Then pages of these runs are open and live, in
turns with none: the start delay p99 of ordinary executions may grow by a tenth or 5 ms, whichever
is more.
Run: ``python -m bench.workflows pages --start``.
"""

from __future__ import annotations

import argparse
import asyncio
import statistics
from collections.abc import Iterable, Sequence
from contextlib import AsyncExitStack
from dataclasses import dataclass
from typing import Any

from bench import command_line, installation, report
from bench.installation import Installation
from bench.listener import listening
from bench.members import enter, log_in
from bench.peers.figures import Turn
from bench.peers.target import Target, running
from bench.workflows import large_runs, ordinary
from bench.workflows.chain import medians
from bench.workflows.large_runs import Large
from bench.workflows.tab import Answer, Asker, Tab, again, versions
from operations.proof.percentiles import distribution

NAME = "pages"
LIMIT_SECONDS = 1.0
#: By how much the start delay p99 may grow beside the pages: the greater of the two.
MOST_SHARE, MOST_MS = 0.1, 5.0


@dataclass(frozen=True, slots=True)
class Asked:
    """A page or an answer of the API, asked for several times."""

    name: str
    answers: Sequence[Answer]
    #: The same page as an open tab asks again, nothing of it changed; empty of the API.
    live: Sequence[Answer] = ()

    def as_json(self) -> dict[str, Any]:
        """Return the figures for the stored result."""
        found = {"name": self.name, **_figures(self.answers)}
        return found | ({"live": _figures(self.live)} if self.live else {})


def _figures(answers: Sequence[Answer]) -> dict[str, Any]:
    taken = distribution(1000 * one.seconds for one in answers)
    last = answers[-1]
    return {"ms": taken.as_json(), "bytes": last.bytes, "sent_bytes": last.sent_bytes}


def add_parser(parsers: Any) -> None:
    """Add the part's options."""
    parser = parsers.add_parser(NAME, help="the console with very large runs")
    parser.add_argument("--items", type=command_line.above_zero, default=10_000)
    parser.add_argument("--steps", type=command_line.above_zero, default=900)
    parser.add_argument("--runs", type=command_line.above_zero, default=25)
    parser.add_argument("--repeat", type=command_line.above_zero, default=7, help="of each page")
    parser.add_argument("--rate", type=float, default=100, help="ordinary executions a second")
    parser.add_argument("--seconds", type=float, default=30, help="of a turn")
    parser.add_argument("--rounds", type=int, default=3, help="of turns; 0: pages alone")
    installation.add_arguments(parser)
    report.add_arguments(parser)
    parser.set_defaults(run=run)


def questions(large: Large) -> Iterable[tuple[str, str]]:
    """Yield what is asked for: its name and its path."""
    for name, run_id, step in (
        ("fan-out in flight", large.in_flight, large.fan_step),
        ("fan-out ended", large.ended, large.fan_step),
        ("ten fan-outs", large.fans, large.fans_step),
        ("many steps", large.wide, large.wide_step),
    ):
        page = f"/workflow-runs/{run_id}"
        yield f"run, {name}", page
        yield f"step, {name}", f"{page}/steps/{step}"
        yield f"execution of the take, {name}", f"/executions/{run_id}"
        yield f"explain, {name}", f"/executions/{run_id}/explain"
        yield f"API: run, {name}", f"/v1{page}"
    items = f"/workflow-runs/{large.in_flight}/steps/{large.fan_step}"
    yield "items, the last page", f"{items}?page=200"
    yield "items that run", f"{items}?only=RUNNING"
    yield "items that succeeded, deep", f"{items}?only=SUCCEEDED&page=100"
    yield "API: items", f"/v1{items}/items?limit=200"
    yield "run, many steps, the last page", f"/workflow-runs/{large.wide}?steps_from=800"
    yield "run, many steps, failed", f"/workflow-runs/{large.wide}?only=FAILED"
    for name, task in (
        ("fan-out", large.fan_workflow),
        ("ten fan-outs", large.fans_workflow),
        ("many steps", large.wide_workflow),
    ):
        yield f"workflow, {name}", f"/workflows/{task}"
        yield f"API: status, {name}", f"/v1/workflows/{task}/status"
        yield f"API: runs, {name}", f"/v1/workflows/{task}/runs"
    yield "workflow, many steps, failed", f"/workflows/{large.wide_workflow}?only=failed"
    yield "workflow, many steps, edit", f"/workflows/{large.wide_workflow}/edit"
    yield "workflows", "/workflows"
    yield "executions of many steps", f"/executions?task={large.wide_workflow}"
    yield "overview", "/"


def ask(asker: Asker, name: str, path: str, repeat: int) -> Asked:
    """Ask so often; a page then again as an open tab does."""
    answers = [asker.get(path) for _ in range(repeat)]
    if path.startswith("/v1/"):
        return Asked(name, answers)
    known = versions(answers[-1].text)
    live = []
    for _ in range(repeat):
        live.append(asker.get(path, again(known)))
        known |= versions(live[-1].text)
    return Asked(name, answers, live)


def late(asked: Sequence[Asked]) -> list[str]:
    """Return a line for each answer that was not there within the limit."""
    return [
        f"target missed: {one.name}, {worst:.2f} s, not under {LIMIT_SECONDS:g} s"
        for one in asked
        if (worst := max(each.seconds for each in (*one.answers, *one.live))) >= LIMIT_SECONDS
    ]


def disturbed(alone: Sequence[Turn], beside: Sequence[Turn]) -> list[str]:
    """Return a line where the start delay p99 has grown by more than it may."""
    if not alone or not beside:
        return []
    before, after = (medians_of(turns)["p99"] for turns in (alone, beside))
    limit = before + max(MOST_SHARE * before, MOST_MS)
    if after <= limit:
        return []
    return [f"target missed: start delay p99 {after:.2f} ms beside, not within {limit:.2f} ms"]


def medians_of(turns: Sequence[Turn]) -> dict[str, float]:
    """Return the medians of the start delay over turns."""
    return medians([one.delays_ms for one in turns if one.delays_ms])


async def take_turn(
    product: Installation, target: Target, asker: Asker, paths: Sequence[str], chosen: Any
) -> tuple[Turn, list[Tab]]:
    """Measure the ordinary executions beside tabs with these pages, which stay open meanwhile."""
    target.reset()
    plan = ordinary.plan_of(target, chosen.rate, chosen.seconds)
    async with AsyncExitStack() as opened:
        tabs = []
        for path in paths:
            listener = await opened.enter_async_context(listening(asker.base_url, asker.session))
            tabs.append(Tab(asker, listener, path))
        staying = [asyncio.create_task(tab.stay()) for tab in tabs]
        try:
            await ordinary.schedule(product, plan)
            turn = await ordinary.measured(target, plan)
        finally:
            for task in staying:
                task.cancel()
            await asyncio.gather(*staying, return_exceptions=True)
    return turn, tabs


def make_asker(product: Installation, workflow_id: str) -> Asker:
    """Return what asks as an owner of the tenant that has the runs and the ordinary tasks."""
    from django.contrib.auth.models import User

    from tasks.models import Task
    from tenants.choices import Role
    from tenants.models import Membership

    tenant_id = Task.objects.get(pk=workflow_id).tenant_id
    user = User.objects.create_user("bench-pages")
    Membership.objects.create(user=user, tenant_id=tenant_id, role=Role.OWNER)
    return Asker(product.base_url, log_in(user), product.api_key)


def run(chosen: argparse.Namespace) -> int:
    """Measure and publish; 1 where an answer was late or the ordinary executions were disturbed."""
    installation.require_start(chosen)
    alone: list[Turn] = []
    beside: list[Turn] = []
    tabs: list[Tab] = []
    with (
        installation.opened(chosen) as product,
        running() as target,
        installation.receiver() as receiver,
    ):
        enter(product)
        large = asyncio.run(large_runs.make(product, receiver.url, chosen))
        asker = make_asker(product, large.wide_workflow)
        asked = [ask(asker, *one, chosen.repeat) for one in questions(large)]
        pages = [f"/workflow-runs/{large.in_flight}", f"/workflows/{large.wide_workflow}"]
        for number in range(chosen.rounds):
            for paths in ([], pages)[:: -1 if number % 2 else 1]:
                turn, open_tabs = asyncio.run(take_turn(product, target, asker, paths, chosen))
                (beside if paths else alone).append(turn)
                tabs += open_tabs
        asyncio.run(large_runs.cancel(product, large.in_flight))
    wrong = late(asked) + disturbed(alone, beside)
    wrong += [f"{t.received} of {t.count}" for t in (*alone, *beside) if not t.kept]
    figures = {
        "items": chosen.items,
        "steps": chosen.steps,
        "runs": chosen.runs,
        "rate": chosen.rate,
        "seconds": chosen.seconds,
        "pages": [one.as_json() for one in asked],
        "start_delay_ms": {"alone": medians_of(alone), "beside": medians_of(beside)},
        "turns": {"alone": _as_json(alone), "beside": _as_json(beside)},
        "tabs": [tab_figures(tab) for tab in tabs],
        "problems": wrong,
        "passed": not wrong,
    }
    lines = [*lines_of(asked), *delay_lines(figures), *wrong, "FAILED" if wrong else "PASSED"]
    report.publish(f"workflows-{NAME}", figures, lines, chosen)
    return 1 if wrong else 0


def _as_json(turns: Sequence[Turn]) -> list[dict[str, Any]]:
    return [one.as_json() for one in turns]


def tab_figures(tab: Tab) -> dict[str, Any]:
    """Return how often a tab asked again, and what that took."""
    live = tab.answers[1:]
    if not live:
        return {"path": tab.path, "refreshes": 0}
    return {
        "path": tab.path,
        "refreshes": len(live),
        "ms": distribution(1000 * one.seconds for one in live).as_json(),
        "median_bytes": statistics.median(one.bytes for one in live),
        "median_sent_bytes": statistics.median(one.sent_bytes for one in live),
    }


def lines_of(asked: Sequence[Asked]) -> list[str]:
    """Return a line for each page."""
    lines = []
    for one in asked:
        first = _figures(one.answers)
        told = f"p50 {first['ms']['p50']:6.0f} max {first['ms']['max']:6.0f} ms"
        line = f"{one.name:<40} {told} {first['bytes'] / 1000:9.1f} kB"
        if one.live:
            live = _figures(one.live)
            line += f"   again p50 {live['ms']['p50']:6.0f} ms {live['bytes'] / 1000:7.1f} kB"
        lines.append(line)
    return lines


def delay_lines(figures: dict[str, Any]) -> list[str]:
    """Return the start delays, and what the open tabs did."""
    lines = [
        f"start delay {name}: " + ", ".join(f"{key} {ms:.2f} ms" for key, ms in told.items())
        for name, told in figures["start_delay_ms"].items()
        if told
    ]
    return lines + [
        f"tab {one['path'][:60]}: {one['refreshes']} refreshes, p50 {one['ms']['p50']:.0f} ms, "
        f"{one['median_bytes'] / 1000:.1f} kB"
        for one in figures["tabs"]
        if one["refreshes"]
    ]
