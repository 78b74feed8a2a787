"""Poison: work that ends the process that runs it, and receivers whose answers are broken."""

from __future__ import annotations

import asyncio
import secrets
import socket
import struct
from collections.abc import AsyncIterator, Iterator, Mapping
from contextlib import asynccontextmanager, contextmanager
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from bench import installation
from bench.chaos.experiment import Experiment
from bench.chaos.processes import until_true
from bench.chaos.site import Site, fault, into
from operations.proof.campaign import Outcome
from operations.proof.client import ApiClient
from operations.proof.matcher import Fault
from operations.proof.workload import Window

_BEGIN = 3.0
_HANDLERS = "bench.chaos.poison_handlers"


class End(NamedTuple):
    """How an execution has to end: state, reason, and the error code of its last attempt."""

    status: str
    reason: str | None
    error_code: str | None
    attempts: int


_POISONED = End("FAILED", "poisoned", "worker_lost", 3)
_FAILED_TWICE = End("FAILED", "attempts_exhausted", "handler_error", 2)
_KILLER = "poison_kills_its_worker"
#: Handler -> how often it may be tried, and how it has to end.
POISON: Mapping[str, tuple[int, End]] = {
    "poison_fine": (5, End("SUCCEEDED", None, None, 1)),
    "poison_exits": (5, _POISONED),
    "poison_segfaults": (5, _POISONED),
    "poison_is_killed_for_memory": (5, _POISONED),
    "poison_runs_out_of_memory": (2, _FAILED_TWICE),
    "poison_recurses": (2, _FAILED_TWICE),
    _KILLER: (5, _POISONED),
}

_INVALID = End("FAILED", "attempts_exhausted", "response_invalid", 2)
_RESET = End("FAILED", "attempts_exhausted", "connection_reset", 2)
_HEAD = b"HTTP/1.1 200 OK\r\n"
#: Path -> what is sent before the connection ends, and how the execution has to end.
CORRUPT: Mapping[str, tuple[bytes, End]] = {
    "/garbage": (secrets.token_bytes(256), _INVALID),
    "/cut-short": (_HEAD + b"Content-Length: 100\r\n\r\nnot so much", _INVALID),
    "/two-lengths": (_HEAD + b"Content-Length: 2\r\nContent-Length: 3\r\n\r\nok", _INVALID),
    "/broken-chunks": (_HEAD + b"Transfer-Encoding: chunked\r\n\r\nzz\r\nok\r\n", _INVALID),
    "/no-status": (b"HTTP/1.1 abc OK\r\n\r\n", _INVALID),
    "/nothing": (b"", _RESET),
}


@dataclass(slots=True)
class Sent:
    """One-time tasks that an experiment creates beside the load, and how each has to end."""

    expected: dict[str, tuple[str, End]] = field(default_factory=dict)

    async def create(
        self, site: Site, name: str, target: Mapping[str, Any], allowed: int, end: End
    ) -> None:
        """Create a task that is due in a second, with ``allowed`` attempts."""
        definition = {
            "name": f"poison: {name}",
            "type": "ONE_TIME",
            "schedule": {"delay_seconds": 1},
            "target": dict(target),
            "retry_policy": {
                "max_attempts": allowed,
                "initial_delay_seconds": 0.5,
                "max_delay_seconds": 1,
            },
        }
        async with ApiClient(site.product.base_url, site.product.api_key) as client:
            key = secrets.token_hex(16)
            answer = await client.expect(201, "POST", "/v1/tasks", definition, key=key)
        self.expected[answer.json()["id"]] = (name, end)

    def all_ended(self, site: Site) -> bool:
        """Return whether each has succeeded or failed."""
        ended = site.rows(
            "SELECT count(*) FROM executions"
            " WHERE task_id = ANY(%s::uuid[]) AND status IN ('SUCCEEDED', 'FAILED')",
            (list(self.expected),),
        )
        return bool(ended[0][0] == len(self.expected))

    def problems(self, site: Site) -> list[str]:
        """Return those that ended otherwise, or whose dead letter is missing."""
        found = []
        for task, (name, end) in self.expected.items():
            rows = site.rows(
                "SELECT status, nullif(reason, ''), nullif(error_code, ''), attempt,"
                " (SELECT count(*) FROM dead_letters d WHERE d.execution_id = e.id)"
                " FROM executions e WHERE task_id = %s",
                (task,),
            )
            wanted = [(*end, int(end.status == "FAILED"))]
            if rows != wanted:
                found.append(f"{name}: {rows}, not {wanted}")
        return found


@contextmanager
def with_handlers() -> Iterator[Site]:
    """Start a pair with a worker of the poisonous handlers beside."""
    with installation.started(
        SCHEDULERS="2", WORKERS="2", RECORDERS="2", HANDLER_MODULES=_HANDLERS
    ) as product:
        yield Site(product)


class Poison:
    """Every poisonous handler, run while other work goes on."""

    def __init__(self) -> None:
        self.sent = Sent()

    async def inject(self, site: Site, window: Window) -> tuple[Fault, ...]:
        """Create a task of each handler."""
        self.sent = Sent()
        await into(window, _BEGIN)
        for handler, (allowed, end) in POISON.items():
            if handler == _KILLER:
                # By itself: what runs beside it is lost with its worker, and that would count.
                await until_true("the others end", lambda: self.sent.all_ended(site))
            target = {"kind": "handler", "handler": handler}
            await self.sent.create(site, handler, target, allowed, end)
        await until_true("the last one ends", lambda: self.sent.all_ended(site))
        # None of the load runs where the handlers run: nothing of it may be doubled.
        return ()

    def check(self, site: Site, outcome: Outcome) -> list[str]:
        """Ask that each ended as the documents say."""
        return self.sent.problems(site)


class Corrupt:
    """A receiver that answers with what is no answer."""

    def __init__(self) -> None:
        self.sent = Sent()

    async def inject(self, site: Site, window: Window) -> tuple[Fault, ...]:
        """Create a task for each of its answers and serve them until shortly before the end."""
        self.sent = Sent()
        async with _corrupting() as port:
            await into(window, _BEGIN)
            for path, (_, end) in CORRUPT.items():
                target = {"kind": "webhook", "url": f"http://127.0.0.1:{port}{path}"}
                await self.sent.create(site, path, target, end.attempts, end)
            await into(window, window.length_ms / 1000)
        return (fault("corrupt answers"),)

    def check(self, site: Site, outcome: Outcome) -> list[str]:
        """Ask that each attempt failed and said why."""
        return self.sent.problems(site)


@asynccontextmanager
async def _corrupting() -> AsyncIterator[int]:
    """Serve the corrupt answers; yield the port."""

    async def answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            head = await reader.readuntil(b"\r\n\r\n")
            path = head.split(b" ", 2)[1].decode()
            data = CORRUPT[path][0]
            writer.write(data)
            await writer.drain()
            if not data:
                _reset_at_close(writer)
        finally:
            writer.close()

    server = await asyncio.start_server(answer, "127.0.0.1", 0)
    async with server:
        yield server.sockets[0].getsockname()[1]


def _reset_at_close(writer: asyncio.StreamWriter) -> None:
    linger = struct.pack("ii", 1, 0)
    writer.get_extra_info("socket").setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, linger)


_POISON = Poison()
_CORRUPT = Corrupt()

EXPERIMENTS = (
    Experiment(
        id="corrupt-answers",
        fault="a receiver answers with what is no answer",
        how="random bytes, a body cut short, two lengths, broken chunks, no status, a reset",
        invariant="each attempt fails, says why, and is tried again; the others go on",
        inject=_CORRUPT.inject,
        check=_CORRUPT.check,
        seconds=15.0,
        latest_start_seconds=5.0,
    ),
    Experiment(
        id="poison",
        fault="payloads end the processes that run them",
        how="handlers that exit, crash, are killed for memory, kill their worker, exhaust memory "
        "and recurse without end",
        invariant="after three losses each is a dead letter that says so; the others go on",
        inject=_POISON.inject,
        check=_POISON.check,
        stand=with_handlers,
        seconds=20.0,
        latest_start_seconds=5.0,
    ),
)
