from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import pytest
from websockets.asyncio.server import ServerConnection, serve

from bench import listener as module
from bench.listener import listening


@asynccontextmanager
async def live_server(opened: list[ServerConnection]) -> AsyncIterator[str]:
    async def answer(connection: ServerConnection) -> None:
        opened.append(connection)
        await connection.send('{"topic": "hello", "version": 1}')
        await connection.wait_closed()

    async with serve(answer, "127.0.0.1", 0) as server:
        yield f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}"


def test_a_listener_shows_its_session_and_its_origin():
    async def scene() -> None:
        opened: list[ServerConnection] = []
        async with live_server(opened) as url, listening(url, "abc"):
            (connection,) = opened
            assert connection.request is not None
            assert connection.request.path == "/ws/live"
            assert connection.request.headers["Cookie"] == "sessionid=abc"
            assert connection.request.headers["Origin"] == url

    asyncio.run(scene())


def test_a_listener_whose_socket_ends_notes_why_and_opens_another(
    monkeypatch: pytest.MonkeyPatch,
):
    monkeypatch.setattr(module, "_FIRST_WAIT", 0.01)

    async def scene() -> None:
        opened: list[ServerConnection] = []
        async with live_server(opened) as url, listening(url, "abc") as listener:
            since = listener.heard[-1].at_ns + 1
            await opened[0].close(1012)

            again = await listener.wait_for(lambda one: one.topic == "hello", since, 10)

            assert again is not None
            assert [how for _, how in listener.ends] == ["closed 1012"]
            assert len(opened) == 2

    asyncio.run(scene())


def test_news_that_does_not_come_in_time_is_none():
    async def scene() -> None:
        async with live_server([]) as url, listening(url, "abc") as listener:
            assert await listener.wait_for(lambda one: one.topic == "tasks", 0, 0.01) is None

    asyncio.run(scene())
