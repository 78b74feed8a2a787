"""The records of the test receiver: a tenant's last requests in memory, all in the ledger.

The ledger is the judge of the load reports: the line of a request is on disk before its answer is
sent. Memory is bounded by count and by bytes; signing secrets and credentials are left out.
"""

from __future__ import annotations

import asyncio
import base64
import hashlib
import json
import os
from collections import deque
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

from receiver.messages import Answer, Request, hide_secrets, whole_number
from receiver.signature import SignatureCheck

#: Of one tenant.
MAX_REQUESTS = 1000
MAX_BYTES = 1024 * 1024
MAX_KEPT_BODY = 64 * 1024
DEFAULT_LISTED = 100
#: Lines are gathered this long for one fsync (about 0.2 ms each, measured 2026-11-20).
FLUSH_SECONDS = 0.002

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


@dataclass(slots=True)
class RecentRequests:
    """The last requests, within a count and a number of bytes."""

    _kept: deque[tuple[Request, Answer, int]] = field(default_factory=deque)
    _bytes: int = 0
    total: int = 0

    def add(self, request: Request, answer: Answer) -> None:
        """Remember a request; forget the oldest ones beyond the bounds."""
        size = 500 + min(len(request.body), MAX_KEPT_BODY)
        size += sum(len(name) + len(value) for name, value in request.headers)
        if len(request.body) > MAX_KEPT_BODY:
            request = Request(
                request.method,
                request.target,
                (*request.headers, ("x-receiver-body-bytes", str(len(request.body)))),
                request.body[:MAX_KEPT_BODY],
                request.wall_ns,
                base=request.base,
            )
        self._kept.append((request, answer, size))
        self._bytes += size
        self.total += 1
        while len(self._kept) > MAX_REQUESTS or self._bytes > MAX_BYTES:
            self._bytes -= self._kept.popleft()[2]

    def clear(self) -> None:
        """Forget every request."""
        self._kept.clear()
        self._bytes = 0

    def listing(self, query: dict[str, str]) -> dict[str, Any]:
        """Return the requests that match the query, newest first; ValueError for a bad limit."""
        limit = whole_number(query, "limit", DEFAULT_LISTED, (1, MAX_REQUESTS))
        path, webhook_id = query.get("path"), query.get("webhook_id")
        found: list[dict[str, Any]] = []
        for request, answer, _ in reversed(self._kept):
            if len(found) == limit:
                break
            if path is not None and request.path != path:
                continue
            if webhook_id is not None and request.header("webhook-id") != webhook_id:
                continue
            found.append(_described(request, answer))
        return {"requests": found, "kept": len(self._kept), "total": self.total}


def _described(request: Request, answer: Answer) -> dict[str, Any]:
    try:
        body, encoding = request.body.decode("utf-8"), "text"
    except UnicodeDecodeError:
        body, encoding = base64.b64encode(request.body).decode(), "base64"
    # Whole milliseconds by integer arithmetic; a float of nanoseconds since 1970 is too coarse.
    received_at = _EPOCH + timedelta(milliseconds=request.wall_ns // 1_000_000)
    return {
        "method": request.method,
        "path": hide_secrets(request.path),
        "query": _shown_query(request),
        "headers": request.shown_headers,
        "body": body,
        "body_encoding": encoding,
        "received_at": received_at.isoformat(timespec="milliseconds").replace("+00:00", "Z"),
        "status": answer.status,
    }


def _shown_query(request: Request) -> dict[str, str]:
    try:
        return request.shown_query
    except ValueError:  # too many fields; the request was refused
        return {}


def ledger_line(request: Request, answer: Answer, check: SignatureCheck | None) -> bytes:
    """Return the ledger's line for a request, newline included."""
    entry = {
        "wall_ns": request.wall_ns,
        "monotonic_ns": request.monotonic_ns,
        "webhook_id": request.header("webhook-id"),
        "task_id": request.header("x-scheduler-task-id"),
        "scheduled_for": request.header("x-scheduler-scheduled-for"),
        "attempt": request.header("x-scheduler-attempt"),
        "fencing_token": request.header("x-scheduler-fencing-token"),
        "method": request.method,
        "path": request.shown_target,
        "body_sha256": hashlib.sha256(request.body).hexdigest(),
        "signature_ok": check.accepts(request) if check else None,
        "status": answer.status,
        "delay_ms": answer.delay_ms,
    }
    return json.dumps(entry, separators=(",", ":")).encode() + b"\n"


class Ledger:
    """An append-only file that calls back when a line is on disk.

    Lines of a few milliseconds share one write and one fsync, made in a thread so that the
    arrival times of other requests are not disturbed.
    """

    def __init__(self, path: Path, fail: Callable[[OSError], None]) -> None:
        flags = os.O_WRONLY | os.O_CREAT | os.O_APPEND
        self._descriptor = os.open(path, flags, 0o600)
        self._fail = fail
        self._waiting: list[tuple[bytes, Callable[[], None]]] = []
        self._writer = ThreadPoolExecutor(1, thread_name_prefix="ledger")
        self._flush: asyncio.Task[None] | None = None

    def append(self, line: bytes, then: Callable[[], None]) -> None:
        """Store the line and call ``then`` once it is on disk; never when the disk fails."""
        self._waiting.append((line, then))
        if self._flush is None:
            self._flush = asyncio.get_running_loop().create_task(self._write_all())

    async def close(self) -> None:
        """Write the waiting lines and close the file."""
        if self._flush is not None:
            await self._flush
        self._writer.shutdown()
        os.close(self._descriptor)

    async def _write_all(self) -> None:
        loop = asyncio.get_running_loop()
        try:
            while self._waiting:
                await asyncio.sleep(FLUSH_SECONDS)
                batch, self._waiting = self._waiting, []
                data = b"".join(line for line, _ in batch)
                await loop.run_in_executor(self._writer, self._write, data)
                for _, then in batch:
                    then()
        except OSError as error:
            self._fail(error)
        finally:
            self._flush = None

    def _write(self, data: bytes) -> None:
        view = memoryview(data)
        while view:
            view = view[os.write(self._descriptor, view) :]
        os.fdatasync(self._descriptor)
