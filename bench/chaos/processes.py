"""Faults of processes: killed with -9, one of two, all of a kind, again and again, all at once."""

from __future__ import annotations

import asyncio
import contextlib
import itertools
import os
import signal
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Iterable, Sequence
from contextlib import asynccontextmanager

from bench.chaos import servers
from bench.chaos.experiment import Experiment
from bench.chaos.site import Site, fault, into
from bench.installation import InstallationError
from operations.proof.campaign import Outcome
from operations.proof.matcher import Fault
from operations.proof.workload import Window

#: The kinds that are Punctual's own, with how many of each a pair has.
KINDS = {"web": 1, "scheduler": 2, "worker": 2, "recorder": 2, "system-worker": 1}
_SERVERS = (servers.POSTGRESQL, servers.VALKEY)
_BEGIN = 5.0
_AGAIN_SECONDS = 3.0
#: With a start of a few seconds, twenty altogether; less than the ledger is prepared ahead.
_AWAY_SECONDS = 15.0
_BACK_SECONDS = 120.0


def signal_all(pids: Iterable[int], number: signal.Signals) -> None:
    """Send a signal to all of them; one that has just ended is no fault."""
    for pid in pids:
        with contextlib.suppress(ProcessLookupError):
            os.kill(pid, number)


def killed(kind: str) -> Callable[[Site, Window], Awaitable[tuple[Fault, ...]]]:
    """Return an injection that kills one process of the kind and waits for its successor."""

    async def inject(site: Site, window: Window) -> tuple[Fault, ...]:
        await into(window, _BEGIN)
        struck = await site.strike(kind)
        await site.until_running(kind, KINDS[kind])
        return (struck,)

    return inject


def all_killed(*kinds: str) -> Callable[[Site, Window], Awaitable[tuple[Fault, ...]]]:
    """Return an injection that kills every process of the kinds at once."""

    async def inject(site: Site, window: Window) -> tuple[Fault, ...]:
        found = [pid for kind in kinds for pid in await site.pids(kind)]
        await into(window, _BEGIN)
        signal_all(found, signal.SIGKILL)
        struck = fault(f"SIGKILL of all: {', '.join(kinds)}")
        for kind in kinds:
            await site.until_running(kind, KINDS.get(kind, 1))
        return (struck,)

    return inject


async def _again_and_again(site: Site, window: Window) -> tuple[Fault, ...]:
    """Kill one process every few seconds, of each kind in turn."""
    struck = []
    for number, kind in enumerate(("worker", "scheduler", "recorder", "worker", "recorder")):
        await into(window, _BEGIN + number * _AGAIN_SECONDS)
        struck.append(await site.strike(kind, index=number % 2))
        await site.until_running(kind)
    return tuple(struck)


async def _schedulers_away(site: Site, window: Window) -> tuple[Fault, ...]:
    """Keep both schedulers from working, then end them; their successors start at once."""
    found = await site.pids("scheduler")
    await into(window, _BEGIN)
    async with stopped(found):
        await asyncio.sleep(_AWAY_SECONDS)
        signal_all(found, signal.SIGKILL)
    await site.until_running("scheduler")
    return (fault("no scheduler", seconds=_AWAY_SECONDS),)


@asynccontextmanager
async def stopped(pids: Sequence[int]) -> AsyncIterator[None]:
    """Stop processes (SIGSTOP) for the time of the block."""
    signal_all(pids, signal.SIGSTOP)
    try:
        yield
    finally:
        signal_all(pids, signal.SIGCONT)


async def _everything(site: Site, window: Window) -> tuple[Fault, ...]:
    """Kill every child of the supervisor in one go, the servers too, and wait for all of them."""
    listed = [pid for kind in (*_SERVERS, *KINDS, "receiver") for pid in await site.pids(kind)]
    await into(window, _BEGIN)
    signal_all(listed, signal.SIGKILL)
    # The stream's last second may be lost with Valkey: its outcomes are in doubt.
    struck = fault("SIGKILL of everything", doubt=2.0)
    for kind in _SERVERS:
        await servers.until_answering(site, kind)
    for kind, count in KINDS.items():
        await site.until_running(kind, count)
    return (struck,)


def late_but_run(site: Site, outcome: Outcome) -> list[str]:
    """Ask that what came due without a scheduler ran afterwards, and that there was such work."""
    if outcome.verdict.labels["late"]:
        return []
    return ["nothing came due while no scheduler worked"]


async def until_true(what: str, holds: Callable[[], bool], seconds: float = _BACK_SECONDS) -> float:
    """Wait until it holds; return how long that took. InstallationError after ``seconds``."""
    began = time.monotonic()
    if not await within(seconds, holds):
        raise InstallationError(f"not within {seconds:g} s: {what}")
    return time.monotonic() - began


async def within(seconds: float, holds: Callable[[], bool]) -> bool:
    """Wait until it holds, at most ``seconds``; return whether it does."""
    deadline = time.monotonic() + seconds
    while not await asyncio.to_thread(holds):
        if time.monotonic() > deadline:
            return False
        await asyncio.sleep(0.05)
    return True


def _one_killed(kind: str, fault_: str, invariant: str, latest: float) -> Experiment:
    return Experiment(
        id=f"{kind}-killed",
        fault=fault_,
        how=f"SIGKILL of {'one of two' if KINDS[kind] > 1 else 'the'} {kind}",
        invariant=invariant,
        inject=killed(kind),
        seconds=20.0,
        latest_start_seconds=latest,
        quick=kind == "worker",
        workflows=kind != "system-worker",
    )


#: Kind, what goes wrong, what holds, and the latest start.
_ONE_KILLED = (
    (
        "worker",
        "a worker dies with requests in flight",
        "what it had is with the other within ten seconds",
        10.0,
    ),
    (
        "scheduler",
        "a scheduler dies",
        "its partitions are with the other within ten seconds",
        10.0,
    ),
    (
        "recorder",
        "a recorder dies with outcomes in hand",
        "the other takes them over; each is recorded once",
        5.0,
    ),
    (
        "web",
        "the web process dies while tasks are created",
        "a call repeated with its key makes one task; executions go on",
        5.0,
    ),
    (
        "system-worker",
        "the worker of the system's own jobs dies",
        "executions go on",
        5.0,
    ),
)

EXPERIMENTS = (
    *itertools.starmap(_one_killed, _ONE_KILLED),
    Experiment(
        id="workers-all-killed",
        fault="every worker dies at once",
        how="SIGKILL of both workers and of the system's worker",
        invariant="what they had runs as soon as workers are back",
        inject=all_killed("worker", "system-worker"),
        seconds=20.0,
        latest_start_seconds=25.0,
        slow_share=0.4,
    ),
    Experiment(
        id="recorders-all-killed",
        fault="every recorder dies at once",
        how="SIGKILL of both recorders",
        invariant="starts go on; outcomes wait in the stream and are recorded once",
        inject=all_killed("recorder"),
        seconds=20.0,
        latest_start_seconds=5.0,
    ),
    Experiment(
        id="schedulers-away",
        fault="no scheduler works for 20 seconds",
        how="SIGSTOP of both schedulers, SIGKILL 15 seconds later, then the time of their start",
        invariant="what came due meanwhile runs late, once, as soon as one is back",
        inject=_schedulers_away,
        check=late_but_run,
        seconds=30.0,
        latest_start_seconds=35.0,
    ),
    Experiment(
        id="killed-again-and-again",
        fault="a process dies every three seconds",
        how="SIGKILL of a worker, a scheduler, a recorder, a worker and a recorder in turn",
        invariant="takeovers overlap and nothing is lost between them",
        inject=_again_and_again,
        seconds=25.0,
        slow_share=0.4,
    ),
    Experiment(
        id="everything-killed",
        fault="everything but the supervisor dies at once",
        how="SIGKILL of all processes, PostgreSQL and Valkey too",
        invariant="the supervisor brings all of it back without a hand",
        inject=_everything,
        workflows=True,
        seconds=25.0,
        slow_share=0.4,
        latest_start_seconds=35.0,
    ),
)
