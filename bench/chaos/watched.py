"""What an injection over hosts looks at meanwhile: who noticed, who took over, who is back.

An injection says in words what did not hold; the experiment's check returns it. Notes go to the
stored result.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any, cast

import psycopg
import redis

from bench.chaos import hosts
from bench.chaos.experiment import Check, Experiment, nothing_more
from bench.chaos.hosts import PROCESSES, Host
from bench.chaos.hosts_stand import HostsSite, spread
from bench.chaos.site import Site
from operations.proof.campaign import Outcome
from operations.proof.matcher import Fault
from operations.proof.workload import Window

#: A silent cut is noticed, and a healed one forgotten, within this long.
NOTICE_SECONDS = BACK_SECONDS = 30.0
_LOOK_SECONDS = 0.5


@dataclass(slots=True)
class Watch:
    """One run of an injection: what it has to complain of and what it saw."""

    site: HostsSite
    window: Window
    problems: list[str] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)

    async def until(
        self, what: str, holds: Callable[[], bool], seconds: float = BACK_SECONDS
    ) -> None:
        """Wait until something holds; note how long it took, complain where it never does."""
        began = time.monotonic()
        while not await asyncio.to_thread(_holds, holds):
            if time.monotonic() - began > seconds:
                self.problems.append(f"not within {seconds:g} s: {what}")
                return
            await asyncio.sleep(_LOOK_SECONDS)
        self.notes.append(f"{what}: after {time.monotonic() - began:.1f} s")

    async def until_noticed(self, name: str, *servers: Host) -> None:
        """Wait until a process has given up the connections that it has now to the servers."""
        before = {server: self.site.connections(name, server) for server in servers}
        await self.until(
            f"{name} gives up its connections",
            lambda: not any(self.site.connections(name, s) & before[s] for s in servers),
            NOTICE_SECONDS,
        )

    async def until_working(self, *names: str) -> None:
        """Wait until each process does what it is for, by what the installation has of it."""
        since = datetime.now(UTC)
        for name in names:
            await self.until(f"{name} works again", self._working(name, since))

    def _working(self, name: str, since: Any) -> Callable[[], bool]:
        kind = name.rpartition("-")[0]
        if kind == "recorder":
            return lambda: self._recorder_asks(name)
        statement, parameters = _WORKING[kind], (f"{name}@%", since)
        if kind == "scheduler":
            parameters = (f"{name}@%",)  # type: ignore[assignment]  # the lease says enough
        return lambda: bool(self.site.rows(statement, parameters)[0][0])

    def _recorder_asks(self, name: str) -> bool:
        found = self.site.valkey().xinfo_consumers("punctual:outcomes", "recorders")
        idle = [one["idle"] for one in found if one["name"].decode().startswith(f"{name}@")]
        return bool(idle) and min(idle) < 3000

    @asynccontextmanager
    async def same_processes(self) -> AsyncIterator[None]:
        """Complain where a process of ours ended during the block."""
        before = {name: self.site.pid(name) for name in PROCESSES}
        yield
        ended = [name for name, pid in before.items() if self.site.pid_or_none(name) != pid]
        if ended:
            self.problems.append(f"ended by itself: {', '.join(ended)}")


_WORKING = {
    "scheduler": """
        SELECT count(*) FROM partition_leases l JOIN scheduler_nodes n ON n.id = l.owner
        WHERE n.name LIKE %s AND least(l.expires_at, n.lease_expires_at) > now()
    """,
    "worker": "SELECT count(*) FROM attempts WHERE worker LIKE %s AND started_at > %s",
}


def _holds(question: Callable[[], bool]) -> bool:
    try:
        return question()
    except (psycopg.OperationalError, redis.RedisError, LookupError):
        return False  # who is asked is still on its way back


Act = Callable[[Watch], Awaitable[tuple[Fault, ...]]]


@dataclass(slots=True)
class _Run:
    act: Act
    more: Check
    watch: Watch | None = None

    async def inject(self, site: Site, window: Window) -> tuple[Fault, ...]:
        self.watch = watch = Watch(cast(HostsSite, site), window)
        try:
            async with watch.same_processes():
                return await self.act(watch)
        finally:
            hosts.heal()

    def check(self, site: Site, outcome: Outcome) -> list[str]:
        if self.watch is None:
            return ["nothing was done"]
        outcome.notes.extend(self.watch.notes)
        return self.watch.problems + self.more(site, outcome)


def watched(act: Act, *, check: Check = nothing_more, **facts: Any) -> Experiment:
    """Return an experiment on hosts; ``facts`` are the Experiment's."""
    run = _Run(act, check)
    return Experiment(**{"stand": spread, "inject": run.inject, "check": run.check, **facts})
