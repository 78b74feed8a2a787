"""The demo's strikes: one process of a kind, once, and only as it was asked."""

from __future__ import annotations

import asyncio
import json
import stat
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from launcher.strikes import FILE, Strikes
from shared.unix_http import UnixConnection


@dataclass
class Process:
    """A process as the supervisor has it; one that crashes stays away until it is started."""

    name: str
    pid: int | None = 1
    started_at: float = 1.0
    crashes: int = 0
    spec: Any = field(init=False)

    def __post_init__(self) -> None:
        self.spec = SimpleNamespace(name=self.name)

    def crash(self) -> None:
        self.crashes += 1
        self.pid = None


class Asked:
    """A server of strikes, and what it logged."""

    def __init__(self, path: Path, processes: list[Process]) -> None:
        self.path = path
        self.log: list[str] = []
        known: Any = processes
        self.strikes = Strikes(path, known, lambda name, line: self.log.append(line))

    async def ask(self, method: str, target: str) -> tuple[int, Any]:
        def call() -> tuple[int, Any]:
            connection = UnixConnection(self.path, 20)
            try:
                connection.request(method, target)
                answer = connection.getresponse()
                body = answer.read()
                return answer.status, json.loads(body) if body else None
            finally:
                connection.close()

        return await asyncio.to_thread(call)

    async def order(self, kind: str, after: int = 0) -> tuple[int, Any]:
        return await self.ask("POST", f"/strikes?kind={kind}&after={after}")

    async def last(self) -> Any:
        return (await self.ask("GET", "/strikes"))[1]["strike"]


@asynccontextmanager
async def asked(path: Path, *processes: Process) -> AsyncIterator[Asked]:
    made = Asked(path / FILE, list(processes))
    await made.strikes.start()
    try:
        yield made
    finally:
        await made.strikes.stop()


async def test_the_oldest_of_the_kind_is_killed_and_seen_to_be_back(tmp_path: Path):
    young, old = Process("worker-1", started_at=9.0), Process("worker-2", 7, started_at=5.0)
    others = Process("worker-handlers-1"), Process("scheduler-1"), Process("system-worker-1")
    async with asked(tmp_path, young, old, *others) as server:
        status, _ = await server.order("worker")
        struck = await server.last()
        old.pid, old.started_at = 8, 10.0
        back = await server.last()

    assert status == 202
    assert [one.crashes for one in (young, old, *others)] == [0, 1, 0, 0, 0]
    assert (struck["name"], struck["pid"], struck["back_at"]) == ("worker-2", 7, None)
    assert struck["struck_at"] is not None
    assert (back["new_pid"], back["back_at"]) == (8, "1970-01-01T00:00:10.000Z")
    assert server.log == ["worker-2 (pid 7) is killed for the demo"]


async def test_a_strike_waits_for_its_time_and_no_other_is_taken_meanwhile(tmp_path: Path):
    worker, scheduler = Process("worker-1"), Process("scheduler-1")
    async with asked(tmp_path, worker, scheduler) as server:
        assert (await server.order("worker", 60))[0] == 202
        assert (await server.order("scheduler"))[0] == 409
        waiting = await server.last()

    assert (waiting["kind"], waiting["struck_at"], waiting["pid"]) == ("worker", None, None)
    assert worker.crashes == scheduler.crashes == 0


async def test_where_none_is_left_at_its_time_none_is_killed(tmp_path: Path):
    worker = Process("worker-1")
    server = Asked(tmp_path / FILE, [worker])
    await server.strikes.start()
    await server.order("worker", 1)
    worker.pid = None
    server.strikes._strike(server.strikes._last)  # type: ignore[arg-type]  # an order is there

    assert (await server.last())["struck_at"] is None
    assert server.log == ["no worker is alive: the demo's break killed none"]
    await server.strikes.stop()


@pytest.mark.parametrize(
    ("method", "target", "status"),
    [
        ("POST", "/strikes?kind=postgresql", 400),
        ("POST", "/strikes", 400),
        ("POST", "/strikes?kind=worker&after=61", 400),
        ("POST", "/strikes?kind=scheduler", 409),
        ("DELETE", "/strikes", 405),
        ("GET", "/processes", 404),
    ],
)
async def test_what_is_no_strike_kills_none(tmp_path: Path, method: str, target: str, status: int):
    worker = Process("worker-1")
    async with asked(tmp_path, worker) as server:
        assert (await server.ask(method, target))[0] == status
        assert await server.last() is None

    assert worker.crashes == 0


async def test_the_file_is_the_owners_alone_and_goes_with_the_supervisor(tmp_path: Path):
    async with asked(tmp_path) as server:
        assert stat.S_IMODE(server.path.stat().st_mode) == 0o600

    assert not server.path.exists()
