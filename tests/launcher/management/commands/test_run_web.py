"""The web server's own loop: it wakes seldom, and ends at the first signal."""

from __future__ import annotations

import asyncio
import signal
from typing import Any

import pytest
import uvicorn

from api.protocol import answer_counts
from launcher.management.commands import run_web
from shared import web_counts


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


def test_what_was_counted_is_flushed_with_a_look(server: Any, monkeypatch: pytest.MonkeyPatch):
    flushed: list[int] = []
    looks: list[int] = []

    async def look(counter: int) -> bool:
        looks.append(counter)
        await asyncio.sleep(0)
        return len(looks) > 3 and len(flushed) > 0

    monkeypatch.setattr(run_web, "_TICK_SECONDS", 0.0)
    monkeypatch.setattr(server, "on_tick", look)
    monkeypatch.setattr(web_counts, "flush", lambda: flushed.append(1))
    monkeypatch.setattr(web_counts, "any_waits", lambda: not flushed)

    asyncio.run(server.main_loop())

    assert flushed == [1]


def test_answers_are_added_when_they_are_due_and_at_the_end(
    server: Any, monkeypatch: pytest.MonkeyPatch
):
    added: list[int] = []
    looks: list[int] = []

    async def look(counter: int) -> bool:
        looks.append(counter)
        await asyncio.sleep(0)
        return len(looks) > 3 and len(added) > 0

    monkeypatch.setattr(run_web, "_TICK_SECONDS", 0.0)
    monkeypatch.setattr(server, "on_tick", look)
    monkeypatch.setattr(answer_counts, "flush", lambda: added.append(1))
    monkeypatch.setattr(answer_counts, "is_due", lambda: not added)

    asyncio.run(server.main_loop())

    assert added == [1]


async def seen_by_the_application(peer: str, *headers: tuple[str, str]) -> tuple[str, str]:
    """Return the caller's address and scheme as they reach the application."""
    found: list[dict[str, Any]] = []

    async def application(scope: dict[str, Any], receive: Any, send: Any) -> None:
        found.append(scope)

    config = run_web._config(application)
    config.load()
    scope = {
        "type": "http",
        "asgi": {"version": "3.0"},
        "client": (peer, 5000),
        "scheme": "http",
        "headers": [(name.lower().encode(), value.encode()) for name, value in headers],
    }
    await config.loaded_app(scope, None, None)
    return found[0]["client"][0], found[0]["scheme"]


FORGED = (("X-Forwarded-For", "198.51.100.1"), ("X-Forwarded-Proto", "https"))


@pytest.mark.parametrize("peer", ["127.0.0.1", "::1", "203.0.113.9"])
async def test_forwarded_headers_count_from_nobody_unless_a_proxy_is_named(
    peer: str, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setenv("FORWARDED_ALLOW_IPS", "*")

    assert await seen_by_the_application(peer, *FORGED) == (peer, "http")


async def test_forwarded_headers_count_from_the_proxies_that_are_named(settings: Any):
    settings.TRUSTED_PROXIES = ("127.0.0.1/32", "10.0.0.0/8")

    assert await seen_by_the_application("127.0.0.1", *FORGED) == ("198.51.100.1", "https")
    assert await seen_by_the_application("10.9.8.7", *FORGED) == ("198.51.100.1", "https")
    assert await seen_by_the_application("127.0.0.2", *FORGED) == ("127.0.0.2", "http")


async def test_what_the_caller_itself_claims_behind_a_proxy_does_not_count(settings: Any):
    settings.TRUSTED_PROXIES = ("127.0.0.1/32", "10.0.0.0/8")
    chain = ("X-Forwarded-For", "6.6.6.6, 203.0.113.9, 10.0.0.5")

    assert await seen_by_the_application("127.0.0.1", chain) == ("203.0.113.9", "http")
