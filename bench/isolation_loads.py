"""What the large tenant of ``bench.isolation`` does, one kind of load after the other.

Executions are written as backlogs; creations are called by a process of their own, so that the
calls of the small tenant never wait in the same one. With quotas the same is tried, and most of it
is refused or waits.
"""

from __future__ import annotations

import asyncio
import multiprocessing
import secrets
import time
from collections import Counter
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from multiprocessing.connection import Connection
from typing import Any
from urllib.parse import urlsplit

from bench import backlogs, installation, saturation
from bench.backlogs import Backlog
from bench.creation import body_of
from bench.installation import Installation, InstallationError
from bench.members import Member, make_member
from operations.proof.client import ApiClient

_HANG_MS = 30_000
_BULK = 1000
_SINGLES_A_SECOND = 150
_FAILURES_A_MINUTE = 10_000
_CONNECTIONS = 64
_END_SECONDS, _UNANSWERED_SECONDS = 60.0, 5.0
#: Of the tenant, where its quotas are on: each is below what it does without.
QUOTAS: Mapping[str, int] = {
    "executions_in_flight": 20,
    "executions_per_second": 50,
    "creations_per_second": 50,
    "calls_per_second": 50,
}


@dataclass(frozen=True, slots=True)
class Case:
    """A kind of load, with the tenant's quotas on or off."""

    kind: str
    quotas: bool

    @property
    def name(self) -> str:
        """Return how the case is called in the report."""
        return f"{self.kind}, quotas {'on' if self.quotas else 'off'}"


@dataclass(frozen=True, slots=True)
class Loads:
    """How large the loads are."""

    backlog: int
    call_ms: int
    #: For how long a load has to last.
    seconds: float


class Load:
    """A load that goes on; ``told`` is what became of it, by kind of answer or state."""

    def __init__(self, product: Installation, member: Member) -> None:
        self.product = product
        self.member = member
        self.told: dict[str, int] = {}

    def require_busy(self) -> None:
        """Raise InstallationError where the load ended before its time."""


@contextmanager
def loaded(product: Installation, case: Case, loads: Loads) -> Iterator[Load]:
    """Let a new tenant load the installation during the block; leave nothing of it behind."""
    member = make_member()
    if case.quotas:
        _limit(member)
    with _KINDS[case.kind](product, member, loads) as load:
        yield load
        load.require_busy()
    backlogs.clear(product, member.tenant_id)


def _limit(member: Member) -> None:
    from shared.actor import COMMAND
    from tenants.services import change_quotas

    change_quotas(member.tenant_id, actor=COMMAND, unlimited=False, limits=dict(QUOTAS))


class _Executions(Load):
    """A load of executions; over when none waits any more."""

    def require_busy(self) -> None:
        backlogs.require_waiting(self.product, [self.member])


@contextmanager
def _backlog(product: Installation, member: Member, loads: Loads) -> Iterator[Load]:
    with _due(product, member, f"/slow?ms={loads.call_ms}", loads.backlog) as load:
        yield load


@contextmanager
def _hangs(product: Installation, member: Member, loads: Loads) -> Iterator[Load]:
    with _due(product, member, f"/slow?ms={_HANG_MS}", loads.backlog) as load:
        yield load


@contextmanager
def _due(product: Installation, member: Member, path: str, count: int) -> Iterator[Load]:
    load = _Executions(product, member)
    with installation.receiver() as target:
        due = saturation.fall_due(product, [(member, Backlog(target.url + path, count))])
        saturation.wait(due + saturation.SETTLE_SECONDS - time.time())
        begin = time.time()
        yield load
        load.told["started"] = saturation.started(member, begin, time.time())
        load.told["waiting"] = backlogs.waiting(product, member.tenant_id)


@contextmanager
def _failures(product: Installation, member: Member, loads: Loads) -> Iterator[Load]:
    load = Load(product, member)
    step_ms = 60_000 / _FAILURES_A_MINUTE
    lasting = saturation.SETTLE_SECONDS + loads.seconds
    with installation.receiver() as target:
        backlog = Backlog(f"{target.url}/500", round(lasting * 1000 / step_ms), step_ms=step_ms)
        tasks = backlogs.tasks_of(product, member, backlog)
        asyncio.run(_without_circuit(product, member, target.url))
        due = time.time() + 2.0
        backlogs.fill(product, backlog, tasks, due)
        saturation.wait(due + saturation.SETTLE_SECONDS - time.time())
        begin = time.time()
        yield load
        load.told["failed"] = saturation.started(member, begin, time.time())


async def _without_circuit(product: Installation, member: Member, url: str) -> None:
    """Let the calls go on although all of them fail."""
    async with ApiClient(product.base_url, member.api_key) as client:
        path = f"/v1/destinations/{urlsplit(url).netloc}"
        await client.expect(200, "PATCH", path, {"breaker": False})


@contextmanager
def _bulk(product: Installation, member: Member, loads: Loads) -> Iterator[Load]:
    with _creating(product, member, 1.0, _BULK) as load:
        yield load


@contextmanager
def _singles(product: Installation, member: Member, loads: Loads) -> Iterator[Load]:
    with _creating(product, member, _SINGLES_A_SECOND, 0) as load:
        yield load


@contextmanager
def _creating(product: Installation, member: Member, rate: float, bulk: int) -> Iterator[Load]:
    """Create during the block, by a process of its own."""
    load = Load(product, member)
    # Not forked: this process has an event loop and sessions of its own.
    spawn = multiprocessing.get_context("spawn")
    here, there = spawn.Pipe()
    arguments = (product.base_url, member.api_key, rate, bulk, there)
    process = spawn.Process(target=create_steadily, args=arguments, daemon=True)
    process.start()
    try:
        if not here.poll(_END_SECONDS):
            raise InstallationError("the process that creates tasks did not begin")
        here.recv()
        yield load
        here.send("end")
        if not here.poll(_END_SECONDS):
            raise InstallationError("the process that creates tasks did not end")
        load.told = dict(here.recv())
    finally:
        process.terminate()
        process.join()


def create_steadily(base_url: str, api_key: str, rate: float, bulk: int, told: Connection) -> None:
    """Create tasks until the connection says so; tell it what the answers were."""
    asyncio.run(_create_steadily(base_url, api_key, rate, bulk, told))


async def _create_steadily(
    base_url: str, api_key: str, rate: float, bulk: int, told: Connection
) -> None:
    answers: Counter[str] = Counter()
    under_way: set[asyncio.Task[None]] = set()
    body: Any = {"tasks": [body_of(number) for number in range(bulk)]} if bulk else None
    async with ApiClient(base_url, api_key, concurrency=_CONNECTIONS, tries=1) as client:

        async def create(number: int) -> None:
            path = "/v1/tasks/bulk" if bulk else "/v1/tasks"
            key = secrets.token_hex(16)
            try:
                answer = await client.call("POST", path, body or body_of(number), key=key)
            except (OSError, EOFError):
                answers["no answer"] += 1
            else:
                answers[str(answer.status)] += 1

        told.send("begun")
        begin, number = time.monotonic(), 0
        while not told.poll():
            # Open loop: one that falls behind is sent at once.
            await asyncio.sleep(max(0.0, begin + number / rate - time.monotonic()))
            one = asyncio.create_task(create(number))
            under_way.add(one)
            one.add_done_callback(under_way.discard)
            number += 1
        if under_way:
            # A web process that is behind has many calls left, most of them not sent yet.
            await asyncio.wait(under_way, timeout=_UNANSWERED_SECONDS)
        for one in [one for one in under_way if not one.done()]:
            answers["unanswered"] += one.cancel()
        await asyncio.gather(*under_way, return_exceptions=True)
    told.send(dict(answers))


_KINDS = {
    "backlog": _backlog,
    "hangs": _hangs,
    "bulk": _bulk,
    "singles": _singles,
    "failures": _failures,
}
KINDS = tuple(_KINDS)
