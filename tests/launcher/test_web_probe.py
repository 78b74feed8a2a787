from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import pytest

from launcher.web_probe import answers_ok, has_started, spelled

READY = dict.fromkeys(("database", "migrations", "scheduler", "fence", "redis"), "ok")


@pytest.fixture(autouse=True)
def _patience(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("launcher.web_probe._SECONDS", 60.0)


@asynccontextmanager
async def answering(answer: bytes) -> AsyncIterator[int]:
    """Give the port of a server that answers every request so."""

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.readuntil(b"\r\n\r\n")
        writer.write(answer)
        writer.close()

    async with await asyncio.start_server(serve, "127.0.0.1", 0) as server:
        yield server.sockets[0].getsockname()[1]


def unready(**wrong: str) -> bytes:
    body = json.dumps({"status": "unready", "checks": {**READY, **wrong}}).encode()
    return b"HTTP/1.1 503 Service Unavailable\r\n\r\n" + body


@pytest.mark.parametrize(
    ("answer", "expected"),
    [
        (b"HTTP/1.1 200 OK\r\n\r\n", True),
        (b"HTTP/1.1 503 Service Unavailable\r\n\r\n", False),
        (b"", False),
        (b"nonsense\r\n\r\n", False),
        (b"x" * 200_000, False),
    ],
)
async def test_only_an_answer_of_200_counts_as_ready(answer, expected):
    async with answering(answer) as port:
        assert await answers_ok("127.0.0.1", port, "/healthz") is expected


async def test_port_that_nobody_listens_on_is_not_ready():
    assert await answers_ok("127.0.0.1", 1, "/healthz") is False
    assert await has_started("127.0.0.1", 1) is False


@pytest.mark.parametrize(
    ("answer", "expected"),
    [
        (b"HTTP/1.1 200 OK\r\n\r\n{}", True),
        (unready(fence="nothing runs"), True),
        (unready(fence="nothing runs", redis="no live worker takes work"), False),
        (unready(scheduler="0 of 256 partitions have a live scheduler"), False),
        (b"HTTP/1.1 503 Service Unavailable\r\n\r\n<html>", False),
        (b"HTTP/1.1 503 Service Unavailable\r\n\r\n{}", False),
        (b"HTTP/1.1 500 Internal Server Error\r\n\r\n{}", False),
    ],
)
async def test_a_start_is_over_when_only_the_fence_holds_work_back(answer, expected):
    async with answering(answer) as port:
        assert await has_started("127.0.0.1", port) is expected


def test_an_address_of_version_6_is_spelled_in_brackets():
    assert (spelled("::1"), spelled("127.0.0.1")) == ("[::1]", "127.0.0.1")
