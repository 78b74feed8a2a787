from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor

import psycopg
import pytest
from django.core.management import call_command
from django.db import connection

from shared.sql import rows as rows_of_statement
from shared.sql import statement

COMMAND = "operations.management.commands.migrate"

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture
def another() -> Iterator[psycopg.Connection[tuple[object, ...]]]:
    """Return a session of another machine."""
    connection.ensure_connection()
    info = connection.connection.info
    with psycopg.connect(info.dsn, password=info.password, autocommit=True) as session:
        yield session


@pytest.fixture
def in_thread() -> Iterator[Callable[[], Future[None]]]:
    """Run the command in a thread with a connection of its own."""

    def run() -> None:
        try:
            call_command("migrate", "events", verbosity=0)
        finally:
            connection.close()

    with ThreadPoolExecutor(1) as pool:
        yield lambda: pool.submit(run)


def test_it_waits_while_another_machine_migrates(
    another: psycopg.Connection[tuple[object, ...]],
    in_thread: Callable[[], Future[None]],
    monkeypatch: pytest.MonkeyPatch,
):
    looked = threading.Event()
    real = rows_of_statement

    def rows(path: str) -> list[tuple[object, ...]]:
        looked.set()
        return real(path)

    monkeypatch.setattr(f"{COMMAND}.rows", rows)
    monkeypatch.setattr(f"{COMMAND}._LOOK_SECONDS", 0.01)
    another.execute(statement("migrating/try_to_lock").encode())
    running = in_thread()
    assert looked.wait(10)
    looked.clear()
    assert looked.wait(10), "it looks again and again"
    assert not running.done()

    another.execute(statement("migrating/let_go").encode())

    running.result(30)


def test_it_lets_the_next_one_in(another: psycopg.Connection[tuple[object, ...]]):
    call_command("migrate", "events", verbosity=0)

    free = another.execute(statement("migrating/try_to_lock").encode()).fetchall()

    assert free == [(True,)]
