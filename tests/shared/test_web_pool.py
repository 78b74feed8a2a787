from __future__ import annotations

import contextlib
import socket
import threading
from collections.abc import Callable, Iterator

import psycopg
import pytest
from django.conf import settings

from shared import web_pool
from shared.web_pool import POOL, PooledConnection, Pulse


class _Relay:
    """Stands between a client and PostgreSQL; once it hangs, it passes nothing on."""

    def __init__(self, target: str) -> None:
        self._target = target
        self._listener = socket.create_server(("127.0.0.1", 0))
        self.port = self._listener.getsockname()[1]
        self.hangs = threading.Event()
        self._sockets = [self._listener]
        self._threads: list[threading.Thread] = []
        self._run(self._accept)

    def close(self) -> None:
        for one in self._sockets:
            with contextlib.suppress(OSError):  # its other end may be gone
                one.shutdown(socket.SHUT_RDWR)
        for thread in self._threads:
            thread.join()
        for one in self._sockets:
            one.close()

    def _run(self, job: Callable[..., None], *arguments: socket.socket) -> None:
        thread = threading.Thread(target=job, args=arguments, daemon=True)
        self._threads.append(thread)
        thread.start()

    def _accept(self) -> None:
        with contextlib.suppress(OSError):
            while True:
                near, _ = self._listener.accept()
                far = socket.socket(socket.AF_UNIX)
                self._sockets += [near, far]
                far.connect(self._target)
                self._run(self._pump, near, far)
                self._run(self._pump, far, near)

    def _pump(self, one: socket.socket, other: socket.socket) -> None:
        with contextlib.suppress(OSError):
            while data := one.recv(65536):
                if not self.hangs.is_set():
                    other.sendall(data)
            other.shutdown(socket.SHUT_WR)


@pytest.fixture
def relay(db: None) -> Iterator[_Relay]:
    database = settings.DATABASES["default"]
    made = _Relay(f"{database['HOST']}/.s.PGSQL.{database['PORT'] or 5432}")
    yield made
    made.close()


def _connect(relay: _Relay) -> PooledConnection:
    database = settings.DATABASES["default"]
    return PooledConnection.connect(
        host="127.0.0.1",
        port=relay.port,
        dbname="postgres",
        user=database["USER"],
        password=database["PASSWORD"],
        autocommit=True,
    )


def test_a_statement_that_a_hanging_server_never_answers_ends_with_an_error(
    relay: _Relay, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr(web_pool, "_pulse", Pulse())
    connection = _connect(relay)
    relay.hangs.set()

    with pytest.raises(psycopg.OperationalError, match="does not answer"):
        connection.execute("SELECT 1")

    assert connection.closed


def test_a_long_statement_of_a_server_that_answers_others_runs_to_its_end(
    relay: _Relay, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr(web_pool, "_ASK_AFTER_SECONDS", 0.05)
    monkeypatch.setattr(web_pool, "_ANSWER_SECONDS", 60)
    monkeypatch.setattr(web_pool, "_pulse", Pulse())

    with _connect(relay) as connection:
        assert connection.execute("SELECT 1 FROM pg_sleep(0.5)").fetchall() == [(1,)]


def test_a_connection_that_has_just_answered_is_not_looked_at(
    relay: _Relay, monkeypatch: pytest.MonkeyPatch
):
    with _connect(relay) as connection:
        connection.execute("SELECT 1")
        assert connection.execute("") is None

        monkeypatch.setattr(web_pool, "_KNOWN_SECONDS", 0.0)
        assert connection.execute("") is not None


def test_a_look_at_a_connection_that_was_silent_finds_its_end(
    relay: _Relay, monkeypatch: pytest.MonkeyPatch
):
    connection = _connect(relay)
    relay.close()
    monkeypatch.setattr(web_pool, "_KNOWN_SECONDS", 0.0)

    with pytest.raises(psycopg.OperationalError):
        connection.execute("")


def test_many_that_wait_ask_once(monkeypatch: pytest.MonkeyPatch):
    asked: list[str] = []

    def answers(address: str, password: str) -> bool:
        asked.append(address)
        return False

    monkeypatch.setattr(web_pool, "_answers", answers)
    pulse = Pulse()

    assert [pulse.beats("here", "") for _ in range(3)] == [False] * 3
    assert asked == ["here"]


def test_a_server_that_refuses_is_there(relay: _Relay, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(web_pool, "_ANSWER_SECONDS", 60)
    address = f"host=127.0.0.1 port={relay.port} user=nobody-at-all dbname=postgres"

    assert web_pool._answers(address, "wrong")


def test_the_pool_of_the_web_server_gives_up_sooner_than_its_callers():
    assert POOL["connection_class"] is PooledConnection
    assert POOL["timeout"] < 2
    assert POOL["reconnect_timeout"] < POOL["timeout"]
