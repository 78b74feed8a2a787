"""Two hundred open tabs: how soon a change of state is on a screen, and what dispatch feels of it.

Each client is what a tab is to the server: a live socket, and the pages that it asks for when it
hears of a change and every 15 seconds. The tabs belong to several tenants, in each of which a task
is paused or resumed every few seconds. One tab more is a real Chromium. Of its changes the time is
taken from the call of the API to the frame in which the new state is drawn: p95 under a second.
All are measured once every tab has been opened.
The start delay p99 of ordinary executions, measured in turns with and without all of this, may grow
by a tenth or 5 ms, whichever is more. Run: ``python -m bench.live --start``.
"""

from __future__ import annotations

import argparse
import asyncio
import random
import secrets
import time
from collections.abc import AsyncIterator, Coroutine, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass, field
from typing import Any

from bench import command_line, installation, report
from bench.installation import Installation
from bench.listener import listening
from bench.live_browser import BrowserTab, browser_tab
from bench.members import Member, enter, make_member
from bench.peers.figures import Turn
from bench.peers.target import Target, running
from bench.workflows import ordinary
from bench.workflows.pages import disturbed, medians_of
from bench.workflows.tab import Asker, Tab
from operations.proof.client import ApiClient
from operations.proof.percentiles import Distribution, distribution

LIMIT_MS = 1000.0
#: Pages that people keep open; ``{task}`` is the task that changes.
PATHS = ("/", "/tasks", "/executions", "/tasks/{task}")
_TASKS = 20
_AT = "2099-01-01T00:00:00Z"
#: Options that are stored with the figures.
_CHOSEN = ("tabs", "tenants", "every", "watched_every", "rate", "seconds")
#: Sockets that are opened at a time.
_OPENING = 20


@dataclass(slots=True)
class Place:
    """A tenant with its member and the task that is paused and resumed."""

    member: Member
    task: str
    is_paused: bool = False


@dataclass(slots=True)
class Changes:
    """How long each change took to the frame in the real tab, and how many were never drawn."""

    visible_ms: list[float] = field(default_factory=list)
    unseen: int = 0


@dataclass(frozen=True, slots=True)
class Seen:
    """What one turn with open tabs has come to; ``readings_ms`` are those of all tabs but one."""

    turn: Turn
    changes: Changes
    readings_ms: list[float]
    seconds: float


def options(arguments: list[str]) -> argparse.Namespace:
    """Return the command line's options."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--tabs", type=command_line.above_zero, default=200)
    parser.add_argument("--tenants", type=command_line.above_zero, default=20)
    parser.add_argument(
        "--every", type=float, default=15, help="seconds between a tenant's changes"
    )
    parser.add_argument(
        "--watched-every", type=float, default=3, help="seconds between changes in the real tab"
    )
    parser.add_argument("--rate", type=float, default=50, help="ordinary executions a second")
    parser.add_argument("--seconds", type=float, default=60, help="of a turn")
    parser.add_argument("--rounds", type=command_line.above_zero, default=2, help="of turns")
    installation.add_arguments(parser)
    report.add_arguments(parser)
    return parser.parse_args(arguments)


async def make_place(product: Installation) -> Place:
    """Make a tenant with some tasks that lie in wait; the last one will be changed."""
    member = await asyncio.to_thread(make_member)
    body = {"schedule": {"run_at": _AT}, "target": {"url": "https://example.com/"}}
    task = ""
    async with ApiClient(product.base_url, member.api_key) as client:
        for number in range(_TASKS):
            named = {**body, "name": f"Task {number}"}
            made = await client.expect(201, "POST", "/v1/tasks", named, key=secrets.token_hex(16))
            task = str(made.json()["id"])
    return Place(member, task)


async def change(client: ApiClient, place: Place) -> None:
    """Pause the task, or resume it."""
    status = "SCHEDULED" if place.is_paused else "PAUSED"
    await client.expect(200, "PATCH", f"/v1/tasks/{place.task}", {"status": status})
    place.is_paused = not place.is_paused


async def change_on(product: Installation, place: Place, every: float, seed: int) -> None:
    """Change the task of a tenant again and again until cancelled, at moments of its own."""
    moments = random.Random(seed)
    async with ApiClient(product.base_url, place.member.api_key) as client:
        while True:
            await asyncio.sleep(every * moments.uniform(0.5, 1.5))
            await change(client, place)


async def watch(
    product: Installation, place: Place, tab: BrowserTab, every: float, changes: Changes
) -> None:
    """Change the task of the real tab until cancelled; note when each change was drawn."""
    moments = random.Random(-1)
    async with ApiClient(product.base_url, place.member.api_key) as client:
        while True:
            await asyncio.sleep(every * moments.uniform(0.5, 1.5))
            await tab.expect_state("scheduled" if place.is_paused else "paused")
            begun_ms = time.time_ns() / 1e6
            await change(client, place)
            drawn_ms = await tab.drawn_ms()
            if drawn_ms is None:
                changes.unseen += 1
            else:
                changes.visible_ms.append(drawn_ms - begun_ms)


async def take_turn(product: Installation, target: Target, chosen: argparse.Namespace) -> Turn:
    """Measure the ordinary executions."""
    target.reset()
    plan = ordinary.plan_of(target, chosen.rate, chosen.seconds)
    await ordinary.schedule(product, plan)
    return await ordinary.measured(target, plan)


async def open_tabs(
    product: Installation, opened: AsyncExitStack, places: Sequence[Place], count: int
) -> list[Tab]:
    """Open the sockets of the tabs, some at a time; the tabs of each tenant have every page."""

    async def open_one(number: int) -> Tab:
        place = places[number % len(places)]
        asker = Asker(product.base_url, place.member.session, place.member.api_key)
        listener = await opened.enter_async_context(listening(asker.base_url, asker.session))
        path = PATHS[number // len(places) % len(PATHS)]
        return Tab(asker, listener, path.format(task=place.task))

    tabs: list[Tab] = []
    for first in range(0, count, _OPENING):
        some = range(first, min(count, first + _OPENING))
        tabs += await asyncio.gather(*(open_one(number) for number in some))
    return tabs


async def take_turn_with_tabs(
    product: Installation, target: Target, places: Sequence[Place], chosen: argparse.Namespace
) -> Seen:
    """Measure the ordinary executions while all tabs are open and the tasks of tenants change."""
    # A thread for each call that is under way.
    asyncio.get_running_loop().set_default_executor(ThreadPoolExecutor(chosen.tabs + _OPENING))
    watched, changes = places[0], Changes()
    async with AsyncExitStack() as opened:
        tabs = await open_tabs(product, opened, places, chosen.tabs)
        real = await opened.enter_async_context(
            browser_tab(product.base_url, watched.member.session, f"/tasks/{watched.task}")
        )
        work = [change_on(product, *one) for one in _apart(places[1:], chosen.every)]
        work.append(watch(product, watched, real, chosen.watched_every, changes))
        async with working([tab.stay() for tab in tabs]):
            # That many people do not open their pages within one second.
            await asyncio.gather(*(tab.is_open.wait() for tab in tabs))
            opening = [len(tab.answers) for tab in tabs]
            begun = time.monotonic()
            async with working(work):
                turn = await take_turn(product, target, chosen)
            seconds = time.monotonic() - begun
    live = (tab.answers[first:] for tab, first in zip(tabs, opening, strict=True))
    readings = [1000 * one.seconds for answers in live for one in answers]
    return Seen(turn, changes, readings, seconds)


def _apart(places: Sequence[Place], every: float) -> list[tuple[Place, float, int]]:
    return [(place, every, seed) for seed, place in enumerate(places)]


@asynccontextmanager
async def working(work: Sequence[Coroutine[Any, Any, None]]) -> AsyncIterator[None]:
    """Do all of it during a block, which ends with the error of the first that fails."""
    async with asyncio.TaskGroup() as group:
        tasks = [group.create_task(one) for one in work]
        yield
        for task in tasks:
            task.cancel()


def judged(alone: Sequence[Turn], beside: Sequence[Seen]) -> list[str]:
    """Return a line for each target that was missed."""
    found = disturbed(alone, [one.turn for one in beside])
    found += [f"{t.received} of {t.count}" for t in (*alone, *_turns(beside)) if not t.kept]
    visible = visible_of(beside)
    if not visible.count or visible.p95 >= LIMIT_MS:
        found.append(f"target missed: visible p95 {visible.p95:.0f} ms, not under {LIMIT_MS:g} ms")
    unseen = sum(one.changes.unseen for one in beside)
    if unseen:
        found.append(f"{unseen} changes were never drawn")
    return found


def _turns(beside: Sequence[Seen]) -> list[Turn]:
    return [one.turn for one in beside]


def visible_of(beside: Sequence[Seen]) -> Distribution:
    """Return how long changes took to the screen, over all turns."""
    return distribution(value for one in beside for value in one.changes.visible_ms)


def readings_of(beside: Sequence[Seen]) -> dict[str, Any]:
    """Return how long the readings of the simulated tabs took, and how many a second there were."""
    taken = [value for one in beside for value in one.readings_ms]
    a_second = len(taken) / sum(one.seconds for one in beside)
    return {"ms": distribution(taken).as_json(), "a_second": round(a_second, 1)}


def main(arguments: list[str]) -> int:
    """Measure in turns and publish; 1 where a target was missed."""
    chosen = options(arguments)
    installation.require_start(chosen)
    alone: list[Turn] = []
    beside: list[Seen] = []
    with installation.opened(chosen) as product, running() as target:
        enter(product)
        places = [asyncio.run(make_place(product)) for _ in range(chosen.tenants)]
        for _ in range(chosen.rounds):
            alone.append(asyncio.run(take_turn(product, target, chosen)))
            beside.append(asyncio.run(take_turn_with_tabs(product, target, places, chosen)))
    wrong, visible, readings = judged(alone, beside), visible_of(beside), readings_of(beside)
    delays = {"alone": medians_of(alone), "beside": medians_of(_turns(beside))}
    figures = {
        **{name: getattr(chosen, name) for name in _CHOSEN},
        "visible_ms": visible.as_json(),
        "readings": readings,
        "start_delay_ms": delays,
        "problems": wrong,
        "passed": not wrong,
    }
    lines = [
        f"{chosen.tabs} tabs of {chosen.tenants} tenants and a real one, a change in each every "
        f"{chosen.every:g} s",
        f"change to frame: {visible} (target: p95 under {LIMIT_MS:g} ms)",
        f"readings: {readings['a_second']:g} a second, p95 {readings['ms']['p95']:.0f} ms",
        *(
            f"start delay {name}: p50 {one['p50']:.2f}, p99 {one['p99']:.2f} ms"
            for name, one in delays.items()
            if one
        ),
        *wrong,
        "FAILED" if wrong else "PASSED",
    ]
    report.publish("live", figures, lines, chosen)
    return 1 if wrong else 0


if __name__ == "__main__":
    command_line.run(main)
