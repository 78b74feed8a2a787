"""Faults of the database: restarted, crashed, frozen, its sessions ended, taken or in the way."""

from __future__ import annotations

import asyncio
import contextlib
import signal
import time

import psycopg

from bench.chaos import contention
from bench.chaos.experiment import Experiment
from bench.chaos.probed import AS_EVER, probed
from bench.chaos.servers import POSTGRESQL, frozen, strike, until_answering, until_gone
from bench.chaos.site import Site, fault
from launcher import local_state
from operations.proof.campaign import Outcome
from operations.proof.matcher import Fault
from operations.proof.workload import Window

_FREEZE_SECONDS = 20.0
#: The load around a fault that is over in a moment.
_SHORT_SECONDS = 18.0
_SLOTS_SECONDS = 15.0
_TERMINATE_SECONDS = 10.0
_HOLD_SECONDS = 15.0
_READ_SECONDS = 40.0


def _address(site: Site) -> str:
    found: str = local_state.load_runtime(site.data_dir)["database_url"]
    return found


async def _end(site: Site, number: signal.Signals) -> tuple[Fault, ...]:
    began = time.monotonic()
    await until_gone(await strike(site, POSTGRESQL, number))
    await until_answering(site, POSTGRESQL)
    return (fault(f"{number.name} postgresql", seconds=time.monotonic() - began),)


async def _restart(site: Site, window: Window) -> tuple[Fault, ...]:
    return await _end(site, signal.SIGINT)


async def _immediate(site: Site, window: Window) -> tuple[Fault, ...]:
    return await _end(site, signal.SIGQUIT)


async def _killed(site: Site, window: Window) -> tuple[Fault, ...]:
    return await _end(site, signal.SIGKILL)


async def _frozen(site: Site, window: Window) -> tuple[Fault, ...]:
    async with frozen(site, POSTGRESQL):
        await asyncio.sleep(_FREEZE_SECONDS)
    return (fault("SIGSTOP postgresql", seconds=_FREEZE_SECONDS),)


_TERMINATE_ONE = """
    SELECT pg_terminate_backend(pid) FROM pg_stat_activity
    WHERE backend_type = 'client backend' AND pid <> pg_backend_pid() ORDER BY random() LIMIT 1
"""


async def _terminated(site: Site, window: Window) -> tuple[Fault, ...]:
    deadline = time.monotonic() + _TERMINATE_SECONDS
    while time.monotonic() < deadline:
        with contextlib.suppress(psycopg.OperationalError):  # it may have hit this very session
            await asyncio.to_thread(site.rows, _TERMINATE_ONE)
        await asyncio.sleep(0.2)
    return (fault("sessions ended", seconds=_TERMINATE_SECONDS),)


async def _exhausted(site: Site, window: Window) -> tuple[Fault, ...]:
    """Take every free slot, and each that becomes free."""
    taken: list[psycopg.AsyncConnection] = []
    address = _address(site)
    deadline = time.monotonic() + _SLOTS_SECONDS
    try:
        while time.monotonic() < deadline:
            try:
                taken.append(await psycopg.AsyncConnection.connect(address, autocommit=True))
            except psycopg.OperationalError:
                await asyncio.sleep(0.2)
    finally:
        for connection in taken:
            await connection.close()
    return (fault("slots taken", seconds=_SLOTS_SECONDS),)


async def _locked(site: Site, window: Window) -> tuple[Fault, ...]:
    """Hold one task's row and those of its executions in a transaction that does nothing."""
    async with await psycopg.AsyncConnection.connect(_address(site)) as connection:
        found = await connection.execute(
            "SELECT id FROM tasks WHERE name LIKE %s ORDER BY id LIMIT 1", (f"{window.name} %",)
        )
        row = await found.fetchone()
        assert row is not None  # noqa: S101 - the campaign has made them
        await connection.execute("SELECT 1 FROM executions WHERE task_id = %s FOR UPDATE", row)
        await connection.execute("SELECT 1 FROM tasks WHERE id = %s FOR UPDATE", row)
        await asyncio.sleep(_HOLD_SECONDS)
    return (fault("rows locked", seconds=_HOLD_SECONDS),)


async def _read_for_long(site: Site, window: Window) -> tuple[Fault, ...]:
    """Keep a snapshot open: nothing that dies meanwhile can be removed from table or index."""
    async with await psycopg.AsyncConnection.connect(_address(site)) as connection:
        await connection.set_isolation_level(psycopg.IsolationLevel.REPEATABLE_READ)
        await connection.execute("SELECT count(*) FROM executions")
        await asyncio.sleep(_READ_SECONDS)
    return ()


def _others_in_time(site: Site, outcome: Outcome) -> list[str]:
    # The locked task fires every ten seconds: two of its instants fall into the time.
    late = sum(delay > 2000 for delay in outcome.verdict.start_delays_ms)
    return [f"{late} starts were more than 2 s late, 2 are the locked task's"] if late > 2 else []


EXPERIMENTS: tuple[Experiment, ...] = (
    probed(
        _restart,
        id="database-restarted",
        seconds=_SHORT_SECONDS,
        fault="PostgreSQL is restarted",
        how="SIGINT to the postmaster (fast shutdown); the supervisor starts it again",
        invariant="the API answers 503 with Retry-After within 2 s; every 201 stays true",
        quick=True,
    ),
    probed(
        _immediate,
        id="database-shut-down-at-once",
        seconds=_SHORT_SECONDS,
        fault="PostgreSQL is shut down without a checkpoint",
        how="SIGQUIT to the postmaster (immediate shutdown)",
        invariant="as above, after a recovery from the log",
    ),
    probed(
        _killed,
        id="database-killed",
        workflows=True,
        seconds=_SHORT_SECONDS,
        fault="PostgreSQL crashes",
        how="SIGKILL of the postmaster",
        invariant="as above, after a recovery from the log",
    ),
    probed(
        _frozen,
        id="database-frozen",
        fault="PostgreSQL hangs",
        how="SIGSTOP of all its processes for 20 s",
        invariant="no thread is stuck afterwards; the API answers 503 within 4 s",
        answer_seconds=4.0,
        seconds=35.0,
        latest_start_seconds=25.0,
    ),
    probed(
        _terminated,
        id="database-sessions-ended",
        fault="database sessions end at random",
        how="pg_terminate_backend of one session, five times a second for 10 s",
        invariant="connections are made anew; nothing waits for one that is gone",
    ),
    probed(
        _exhausted,
        id="database-slots-taken",
        fault="no database connection is free",
        how="idle clients take every slot for 15 s",
        invariant="the API answers 503 within 2 s where it has none; what has one works on",
    ),
    probed(
        _locked,
        allowed=AS_EVER,
        id="database-rows-locked",
        fault="a forgotten transaction holds a task's rows",
        how="SELECT ... FOR UPDATE of one task and its executions, open for 15 s",
        invariant="only that task waits",
        check=_others_in_time,
        latest_start_seconds=20.0,
    ),
    probed(
        _read_for_long,
        allowed=AS_EVER,
        id="database-read-for-long",
        fault="a long report keeps a snapshot of the database open",
        how="a REPEATABLE READ transaction, open for 40 s",
        invariant="nothing starts more than 2 s late",
        seconds=50.0,
        rate=60.0,
        latest_start_seconds=2.0,
    ),
    *contention.EXPERIMENTS,
)
