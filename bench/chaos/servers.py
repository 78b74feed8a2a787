"""The embedded servers of a site as a fault sees them: their pids, files, and being kept away."""

from __future__ import annotations

import asyncio
import contextlib
import os
import signal
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import psycopg
import redis

from bench import processes
from bench.chaos.site import Site
from bench.installation import InstallationError
from launcher import local_state

POSTGRESQL, VALKEY = "postgresql", "valkey"
_BACK_SECONDS = 60.0
_POLL_SECONDS = 0.02


def pid_of(site: Site, kind: str) -> int | None:
    """Return the server's pid, None while it is away; cheap enough to be asked all the time."""
    for one in local_state.load_runtime(site.data_dir).get("processes", ()):
        if one["kind"] == kind and one["pid"]:
            return int(one["pid"])
    return None


async def strike(site: Site, kind: str, number: signal.Signals) -> int:
    """Send a signal to the server, waiting for one where it is away; return its pid."""
    deadline = time.monotonic() + _BACK_SECONDS
    while time.monotonic() < deadline:
        pid = pid_of(site, kind)
        if pid is not None:
            with contextlib.suppress(ProcessLookupError):  # it has ended, its successor is near
                os.kill(pid, number)
                return pid
        await asyncio.sleep(_POLL_SECONDS)
    raise InstallationError(f"no {kind} runs")


async def until_answering(site: Site, kind: str) -> float:
    """Wait until the server answers; return how many seconds that took."""
    began = time.monotonic()
    answers = _valkey_answers if kind == VALKEY else _postgresql_answers
    while not await asyncio.to_thread(answers, site):
        if time.monotonic() - began > _BACK_SECONDS:
            raise InstallationError(f"{kind} did not come back")
        await asyncio.sleep(_POLL_SECONDS)
    return time.monotonic() - began


async def until_gone(pid: int) -> None:
    """Wait for the end of a process that was told to end."""
    while pid in processes.snapshot():  # noqa: ASYNC110 - another process's end, no event of ours
        await asyncio.sleep(_POLL_SECONDS)


@asynccontextmanager
async def frozen(site: Site, kind: str) -> AsyncIterator[None]:
    """Stop the server with all its children for the time of the block."""
    pid = pid_of(site, kind)
    if pid is None:
        raise InstallationError(f"no {kind} runs")
    stopped = processes.descendants(pid)
    for one in stopped:
        _signal(one, signal.SIGSTOP)
    try:
        yield
    finally:
        for one in stopped:
            _signal(one, signal.SIGCONT)


@asynccontextmanager
async def kept_away(site: Site, kind: str, number: signal.Signals) -> AsyncIterator[Path]:
    """End the server and hinder its starts for the time of the block, which gets its directory.

    The supervisor goes on trying, with growing pauses of ten seconds at most.
    """
    directory = directory_of(site, kind)
    needed = directory / ("valkey.conf" if kind == VALKEY else "postgresql.conf")
    hidden = needed.with_suffix(".hidden")
    needed.rename(hidden)
    try:
        await until_gone(await strike(site, kind, number))
        yield directory
    finally:
        hidden.rename(needed)
    await until_answering(site, kind)


def directory_of(site: Site, kind: str) -> Path:
    """Return where the server's data is."""
    link = site.data_dir / "servers"
    base = link.resolve() if link.is_symlink() else site.data_dir
    return base / ("valkey" if kind == VALKEY else "postgres")


def _valkey_answers(site: Site) -> bool:
    with site.valkey() as client:
        try:
            return bool(client.ping())
        except (redis.RedisError, OSError):
            return False


def _postgresql_answers(site: Site) -> bool:
    try:
        return bool(site.rows("SELECT 1"))
    except psycopg.OperationalError:
        return False


def _signal(pid: int, number: signal.Signals) -> None:
    with contextlib.suppress(ProcessLookupError):  # a session may have ended meanwhile
        os.kill(pid, number)
