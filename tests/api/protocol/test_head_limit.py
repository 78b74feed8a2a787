"""Connections to a real server whose heads are slow, endless, or as they should be."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import suppress
from typing import Any
from unittest.mock import MagicMock

import pytest
import pytest_asyncio
import uvicorn

from api.protocol import head_limit
from api.protocol.head_limit import HeadLimit
from launcher.management.commands import run_web

HEAD = b"GET / HTTP/1.1\r\nHost: here\r\n"


async def _answer(scope: Any, receive: Any, send: Any) -> None:
    while (await receive()).get("more_body"):
        continue
    await send({"type": "http.response.start", "status": 204, "headers": []})
    await send({"type": "http.response.body", "body": b""})


#: What the server answers by; a test may take another one.
_APPLICATION = {"answer": _answer}


async def _serve(scope: Any, receive: Any, send: Any) -> None:
    await _APPLICATION["answer"](scope, receive, send)


@pytest_asyncio.fixture
async def port() -> AsyncIterator[int]:
    config = uvicorn.Config(_serve, http=HeadLimit, lifespan="off", log_config=None)
    config.load()
    state = uvicorn.server.ServerState()
    loop = asyncio.get_running_loop()
    server = await loop.create_server(
        lambda: HeadLimit(config=config, server_state=state, app_state={}), "127.0.0.1", 0
    )
    try:
        yield server.sockets[0].getsockname()[1]
    finally:
        server.close()


async def _sent(port: int, *parts: bytes) -> bytes:
    """Return what comes back until the server closes, or has answered once."""
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    try:
        for part in parts:
            writer.write(part)
            await writer.drain()
        async with asyncio.timeout(30):
            return await reader.readuntil(b"\r\n\r\n")
    except (asyncio.IncompleteReadError, ConnectionError) as ended:
        return getattr(ended, "partial", b"")
    finally:
        writer.close()


async def test_a_whole_head_is_answered(port: int):
    assert b"204" in await _sent(port, HEAD, b"X-A: 1\r\n\r\n")


@pytest.mark.parametrize("begun", [b"", b"G", HEAD, HEAD + b"X-Slow: "])
async def test_a_head_that_never_ends_is_cut_off(
    port: int, begun: bytes, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr(head_limit, "HEAD_SECONDS", 0.05)

    assert await _sent(port, begun) == b""


async def test_a_second_head_on_the_connection_is_bounded_too(
    port: int, monkeypatch: pytest.MonkeyPatch
):
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    writer.write(HEAD + b"\r\n")
    assert b"204" in await reader.readuntil(b"\r\n\r\n")
    monkeypatch.setattr(head_limit, "HEAD_SECONDS", 0.05)

    writer.write(HEAD)

    async with asyncio.timeout(30):
        with suppress(ConnectionError):
            assert await reader.read() == b""
    writer.close()


async def test_a_head_that_is_too_large_is_cut_off(port: int):
    line = b"X-Large: " + b"x" * 8000 + b"\r\n"

    assert await _sent(port, HEAD, *[line] * 100) == b""


async def test_blank_lines_between_requests_keep_no_connection(
    port: int, monkeypatch: pytest.MonkeyPatch
):
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    writer.write(HEAD + b"\r\n")
    assert b"204" in await reader.readuntil(b"\r\n\r\n")
    monkeypatch.setattr(head_limit, "HEAD_SECONDS", 0.05)

    writer.write(b"\r\n")

    async with asyncio.timeout(30):
        with suppress(ConnectionError):
            assert await reader.read() == b""
    writer.close()


@pytest.mark.parametrize("behind", [HEAD, b"\r\n"], ids=["half a head", "a blank line"])
async def test_a_request_that_is_being_answered_is_not_cut_off(
    port: int, behind: bytes, monkeypatch: pytest.MonkeyPatch
):
    given_up, asked, may_answer = asyncio.Event(), asyncio.Event(), asyncio.Event()
    give_up = HeadLimit._give_up

    def note(self: HeadLimit) -> None:
        give_up(self)
        given_up.set()

    async def answer_late(scope: Any, receive: Any, send: Any) -> None:
        asked.set()
        await may_answer.wait()
        await _answer(scope, receive, send)

    monkeypatch.setattr(HeadLimit, "_give_up", note)
    monkeypatch.setattr(head_limit, "HEAD_SECONDS", 0.05)
    monkeypatch.setitem(_APPLICATION, "answer", answer_late)
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    async with asyncio.timeout(30):
        writer.write(HEAD + b"\r\n")
        await asked.wait()
        writer.write(behind)
        await given_up.wait()
        may_answer.set()

        assert b"204" in await reader.readuntil(b"\r\n\r\n")
    writer.close()


async def test_the_request_before_does_not_count_for_a_head():
    config = uvicorn.Config(_answer, http=HeadLimit, lifespan="off", log_config=None)
    config.load()
    connection = HeadLimit(config=config, server_state=uvicorn.server.ServerState(), app_state={})
    transport = MagicMock(spec=asyncio.Transport)
    transport.get_extra_info.return_value = None
    connection.connection_made(transport)
    body = b"x" * (head_limit.MAX_HEAD_BYTES + 1)

    connection.data_received(
        HEAD + b"Content-Length: %d\r\n\r\n" % len(body) + body + HEAD,
    )

    transport.abort.assert_not_called()
    connection.connection_lost(None)


def test_the_web_process_serves_by_it():
    assert run_web._config(_answer).http is HeadLimit
