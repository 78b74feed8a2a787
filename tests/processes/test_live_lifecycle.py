"""Live updates through a real web server: who gets in, how fast news arrive, what restarts do."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest
from websockets.exceptions import ConnectionClosed, InvalidStatus
from websockets.sync.client import ClientConnection, connect

from events.models import EventCursor
from executions.models import DeadLetter
from shared import redis_client
from shared.redis_client import client
from tenants.models import Tenant
from tests.factories import make_client, make_task, make_tenant, once
from tests.support.killable_valkey import KillableValkey
from tests.support.live import log_in, make_member
from tests.support.processes import Process, Processes, processes
from tests.support.waiting import until
from tests.support.web import free_port, get

pytestmark = pytest.mark.slow


class Site:
    """A web process, and sockets as a browser opens them."""

    def __init__(self, run: Processes) -> None:
        self._run = run
        self.port = free_port()
        self.process = self.start()

    def start(self) -> Process:
        """Start a web process on the site's port and wait until it answers."""
        self.process = self._run.start("web", PORT=str(self.port))
        until(lambda: get(self.port, "/healthz"))
        return self.process

    def open(
        self, cookie: str = "", *, origin: str | None = "", path: str = "/ws/live"
    ) -> ClientConnection:
        return connect(
            f"ws://127.0.0.1:{self.port}{path}",
            origin=f"http://127.0.0.1:{self.port}" if origin == "" else origin,  # type: ignore[arg-type]  # a NewType of str
            additional_headers={"Cookie": cookie},
            open_timeout=120,
        )


@pytest.fixture
def alpha(transactional_db: None) -> Tenant:
    return make_tenant("Alpha")


@pytest.fixture
def cookie(alpha: Tenant) -> str:
    return log_in(make_member(alpha))


@pytest.fixture
def valkey(tmp_path: Path, settings: Any) -> Iterator[KillableValkey]:
    server = KillableValkey(tmp_path / "valkey")
    settings.REDIS_URL = server.url
    redis_client.client.cache_clear()
    yield server
    redis_client.client().close()
    redis_client.client.cache_clear()
    server.remove()


def hear(socket: ClientConnection) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(socket.recv(timeout=120))
    return found


def closing_code(socket: ClientConnection) -> int:
    with suppress(ConnectionClosed):
        while socket.recv(timeout=120):
            pass
    assert socket.close_code is not None
    return socket.close_code


def test_a_failure_reaches_the_open_console(run: Processes, alpha: Tenant, cookie: str) -> None:
    site, receiver = Site(run), run.receiver()
    for kind in ("scheduler", "worker", "recorder"):
        run.start(kind)
    until(lambda: (get(site.port, "/readyz") or (0,))[0] == 200)
    with site.open(cookie) as socket:
        assert hear(socket)["topic"] == "hello"

        target = {"url": receiver.url("/status/400")}
        make_task(alpha, once(target=target, retry_policy={"max_attempts": 1}))
        awaited = {"tasks", "executions", "dead_letters"}
        while awaited:
            awaited.discard(hear(socket)["topic"])

    assert DeadLetter.objects.count() == 1


def test_only_own_pages_with_a_session_get_in(run: Processes, alpha: Tenant, cookie: str) -> None:
    site = Site(run)

    for origin in ("http://evil.example", "http://127.0.0.1:1", None):
        with pytest.raises(InvalidStatus) as refused:
            site.open(cookie, origin=origin)
        assert refused.value.response.status_code == 403
    with site.open() as socket:
        assert closing_code(socket) == 4401
    with site.open(cookie) as socket:
        assert hear(socket)["topic"] == "hello"
        socket.send(json.dumps({"type": "ping"}))
        assert hear(socket)["type"] == "pong"
        socket.send("x" * 100_000)
        assert closing_code(socket) == 1009


def test_a_program_gets_in_with_a_ticket_once(run: Processes, alpha: Tenant) -> None:
    site = Site(run)
    ticket = make_client(alpha, ["read"]).post("/v1/ws-tickets").json()["ticket"]
    path = f"/ws/live?ticket={ticket}"

    with site.open(origin=None, path=path) as socket:
        assert hear(socket)["topic"] == "hello"
    with site.open(origin=None, path=path) as socket:
        assert closing_code(socket) == 4401


def test_after_redis_was_away_the_client_begins_anew(
    valkey: KillableValkey, tmp_path: Path, alpha: Tenant, cookie: str
) -> None:
    with processes(tmp_path) as run:
        site = Site(run)
        with site.open(cookie) as socket:
            assert hear(socket)["topic"] == "hello"
            valkey.kill()
            assert closing_code(socket) == 1012
        with site.open(cookie) as socket:
            assert closing_code(socket) == 1013

        valkey.start()
        run.start("recorder")
        with site.open(cookie) as socket:
            assert hear(socket)["topic"] == "hello"
            until(lambda: client().exists("punctual:outcomes"))
            until(lambda: _is_followed())
            make_task(alpha)
            assert hear(socket)["topic"] == "tasks"


def _is_followed() -> bool:
    return EventCursor.objects.filter(consumer="live").exists()


def test_a_restart_of_the_web_process_ends_sockets_so_that_clients_return(
    run: Processes, alpha: Tenant, cookie: str
) -> None:
    site = Site(run)
    with site.open(cookie) as socket:
        assert hear(socket)["topic"] == "hello"
        site.process.ask_to_stop()
        assert closing_code(socket) == 1012
    assert site.process.popen.wait(120) == 0

    site.start()
    with site.open(cookie) as socket:
        assert hear(socket)["topic"] == "hello"
