"""The installation that faults are injected into: its processes, its database, its Valkey."""

from __future__ import annotations

import asyncio
import os
import signal
import time
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import AbstractContextManager, asynccontextmanager, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import psycopg
import redis

from bench import installation
from bench.installation import Installation, InstallationError
from launcher import local_state
from operations.proof.campaign import until
from operations.proof.matcher import Fault

#: How long around a kill an answered request may not have been reported yet: the worker's
#: buffer and the batch on its way, with a wide margin.
DOUBT_SECONDS = 0.5
#: How long a killed process may take until its successor runs.
_RESTART_SECONDS = 30.0


class CannotRunError(Exception):
    """A stand cannot be made on this machine; what needs it is neither kept nor broken."""


@dataclass(frozen=True, slots=True)
class Site:
    """An installation with two of each kind of process, unless its stand says otherwise."""

    product: Installation

    @property
    def data_dir(self) -> Path:
        """Return the data directory."""
        return Path(self.product.environment["DATA_DIR"])

    async def pids(self, kind: str) -> list[int]:
        """Return the running processes of a kind, oldest first; none while all are away."""
        # From the file that `manage.py ps` shows: a command takes seconds on a busy machine.
        listed = local_state.load_runtime(self.data_dir).get("processes", ())
        return [int(one["pid"]) for one in listed if one["kind"] == kind and one["pid"]]

    async def strike(
        self, kind: str, number: signal.Signals = signal.SIGKILL, *, index: int = 0
    ) -> Fault:
        """Send a signal to one process of the kind; return the fault, dated just after."""
        found = await self.pids(kind)
        if len(found) <= index:
            raise InstallationError(f"no process {index} of kind {kind} runs")
        os.kill(found[index], number)
        return fault(f"{number.name} {kind}")

    @asynccontextmanager
    async def frozen(self, kind: str, *, index: int = 0) -> AsyncIterator[int]:
        """Stop a process for the time of the block (SIGSTOP, SIGCONT)."""
        pid = (await self.pids(kind))[index]
        os.kill(pid, signal.SIGSTOP)
        try:
            yield pid
        finally:
            os.kill(pid, signal.SIGCONT)

    async def until_running(self, kind: str, count: int = 2) -> None:
        """Wait until ``count`` processes of the kind run again."""
        deadline = time.monotonic() + _RESTART_SECONDS
        while len(await self.pids(kind)) < count:
            if time.monotonic() > deadline:
                raise InstallationError(f"{kind} did not come back")
            await asyncio.sleep(0.2)

    def reachable(self, receiver_url: str) -> str:
        """Return the address under which the workers of this site reach a receiver of ours."""
        return receiver_url

    def rows(self, statement: str, parameters: Any = ()) -> list[tuple[Any, ...]]:
        """Return the rows of a statement on the installation's database."""
        with psycopg.connect(self._address("database_url"), autocommit=True) as connection:
            return connection.execute(statement.encode(), parameters).fetchall()

    def valkey(self) -> redis.Redis:
        """Return a client of the installation's Valkey."""
        return redis.Redis.from_url(self._address("redis_url"))

    def _address(self, name: str) -> str:
        found: str = local_state.load_runtime(self.data_dir)[name]
        return found


Stand = Callable[[], AbstractContextManager[Site]]


@contextmanager
def pair() -> Iterator[Site]:
    """Start an installation with two schedulers, two workers and two recorders."""
    with installation.started(SCHEDULERS="2", WORKERS="2", RECORDERS="2") as product:
        yield Site(product)


def fault(what: str, *, seconds: float = 0.0, doubt: float = DOUBT_SECONDS) -> Fault:
    """Return a fault that ends now and began ``seconds`` ago, with its time of doubt."""
    before = round((seconds + doubt) * 1e9)
    return Fault(what, time.time_ns(), before, round(doubt * 1e9))


async def into(window: Any, seconds: float) -> None:
    """Wait until ``seconds`` of the window have passed."""
    await until(window.begin_ms + round(seconds * 1000))
