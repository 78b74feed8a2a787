"""A tiny product in the test's own loop: stores one-time tasks, calls their URL, tells of them."""

from __future__ import annotations

import asyncio
import json
import time
import uuid
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import urlsplit

from operations.proof.oracle import to_ms, to_text


@dataclass
class FakeProduct:
    """Answers as api.md says, as far as the reports ask; knows how to lose and double work."""

    #: Answers given before any real one: (status, headers).
    refusals: list[tuple[int, str]] = field(default_factory=list)
    lose_every: int = 0
    double_every: int = 0
    port: int = 0
    calls: list[tuple[str, str, dict[str, str]]] = field(default_factory=list)
    executions: list[dict[str, Any]] = field(default_factory=list)
    running: set[asyncio.Task[None]] = field(default_factory=set)
    served: dict[asyncio.Task[Any], asyncio.StreamWriter] = field(default_factory=dict)

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.current_task()
        assert task is not None
        self.served[task] = writer
        try:
            while True:
                head = (await reader.readuntil(b"\r\n\r\n")).decode().split("\r\n")
                method, path, _ = head[0].split()
                headers = dict(line.lower().split(": ", 1) for line in head[1:] if line)
                body = await reader.readexactly(int(headers.get("content-length", 0)))
                self.calls.append((method, path, headers))
                if self.refusals:
                    status, extra = self.refusals.pop(0)
                    answer: Any = {}
                else:
                    status, answer, extra = *self.answer(method, path, body), ""
                data = json.dumps(answer).encode()
                writer.write(
                    f"HTTP/1.1 {status} X\r\n{extra}content-length: {len(data)}\r\n\r\n".encode()
                    + data
                )
        except (asyncio.IncompleteReadError, ConnectionError):
            writer.close()

    def answer(self, method: str, path: str, body: bytes) -> tuple[int, Any]:
        path, _, query = path.partition("?")
        if (method, path) == ("POST", "/v1/tasks"):
            return 201, self.create(json.loads(body))
        if path == "/v1/executions" and "status=PENDING" in query:
            return 200, {"executions": [{} for task in self.running if not task.done()]}
        if path == "/v1/executions":
            return 200, {"executions": self.executions, "pagination": {"next_cursor": None}}
        if path == "/v1/dlq":
            return 200, {"dead_letters": [], "pagination": {}}
        return 404, {"code": "not_found"}

    def create(self, definition: dict[str, Any]) -> dict[str, Any]:
        task_id = str(uuid.uuid4())
        if "target" in definition:
            fields, url = definition["schedule"], definition["target"]["url"]
        else:
            fields, url = definition, definition["payload"]["webhook_url"]
        number = len(self.running) + 1
        times = 2 if self.double_every and number % self.double_every == 0 else 1
        if self.lose_every and number % self.lose_every == 0:
            times = 0
        call = self.fire(task_id, to_ms(fields["run_at"]), url, times)
        self.running.add(asyncio.get_running_loop().create_task(call))
        return {"id": task_id}

    async def fire(self, task_id: str, at_ms: int, url: str, times: int) -> None:
        parts = urlsplit(url)
        moment = asyncio.get_running_loop().create_future()
        delay = at_ms / 1000 - time.time() + 0.001
        asyncio.get_running_loop().call_later(max(0.0, delay), moment.set_result, None)
        await moment
        execution_id = str(uuid.uuid4())
        for attempt in range(1, times + 1):
            reader, writer = await asyncio.open_connection(parts.hostname, parts.port)
            writer.write(
                f"POST {parts.path}?{parts.query} HTTP/1.1\r\nhost: 127.0.0.1\r\n".replace(
                    "? ", " "
                ).encode()
                + f"webhook-id: {execution_id}\r\nx-scheduler-task-id: {task_id}\r\n"
                f"x-scheduler-scheduled-for: {to_text(at_ms)}\r\nx-scheduler-attempt: {attempt}\r\n"
                f"x-scheduler-fencing-token: {attempt}\r\nconnection: close\r\n\r\n".encode()
            )
            await reader.read()
            writer.close()
        if times:
            self.executions.append(
                {
                    "id": execution_id,
                    "task_id": task_id,
                    "scheduled_for": to_text(at_ms),
                    "status": "SUCCEEDED",
                }
            )


@asynccontextmanager
async def fake_product(**settings: Any) -> AsyncIterator[FakeProduct]:
    product = FakeProduct(**settings)
    server = await asyncio.start_server(product.serve, "127.0.0.1", 0)
    product.port = server.sockets[0].getsockname()[1]
    try:
        yield product
    finally:
        server.close()
        for writer in product.served.values():
            writer.close()
        await asyncio.gather(*product.running, *product.served)
