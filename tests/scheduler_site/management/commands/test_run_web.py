"""The web server's own loop: it wakes seldom, and ends at the first signal."""

from __future__ import annotations

import asyncio
import signal
from typing import Any

import pytest
import uvicorn

from scheduler_site.management.commands import run_web


@pytest.fixture
def server(monkeypatch: pytest.MonkeyPatch) -> Any:
    # No look but the first: what ends the loop is the signal.
    monkeypatch.setattr(run_web, "_TICK_SECONDS", 3600.0)
    return run_web._Server(uvicorn.Config(app=lambda: None))


def test_a_signal_ends_the_loop_without_another_look(server: Any):
    async def serve() -> None:
        asyncio.get_running_loop().call_later(0.01, server.handle_exit, signal.SIGTERM, None)
        await asyncio.wait_for(server.main_loop(), 60)

    asyncio.run(serve())

    assert server.should_exit


def test_a_signal_that_comes_before_the_loop_ends_it(server: Any):
    server.handle_exit(signal.SIGTERM, None)

    asyncio.run(asyncio.wait_for(server.main_loop(), 60))

    assert server.should_exit


def test_each_look_renews_the_date_of_answers(server: Any, monkeypatch: pytest.MonkeyPatch):
    dated = []

    async def look(counter: int) -> bool:
        server.server_state.default_headers = []
        await uvicorn.Server.on_tick(server, counter)
        dated.append([name for name, _ in server.server_state.default_headers])
        return len(dated) == 3

    monkeypatch.setattr(run_web, "_TICK_SECONDS", 0.0)
    monkeypatch.setattr(server, "on_tick", look)

    asyncio.run(server.main_loop())

    assert all(b"date" in names for names in dated)
    assert len(dated) == 3
