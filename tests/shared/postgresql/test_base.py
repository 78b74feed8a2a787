"""A thread whose database went away reaches it again, wherever the end met it."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import psycopg
import pytest
from django.db import OperationalError, connections, transaction
from django.db.backends.base.base import BaseDatabaseWrapper

pytestmark = pytest.mark.django_db(transaction=True)

ALIAS = "another_thread"


class _Server:
    """Stands for PostgreSQL where a session is made: there, away, or ending what it gives."""

    def __init__(self) -> None:
        self._connect = psycopg.connect
        self.is_away = False
        self.ends_at_once = False

    def connect(self, **parameters: Any) -> psycopg.Connection:
        if self.is_away:
            raise psycopg.OperationalError("connection refused")
        made = self._connect(**parameters)
        if self.ends_at_once:
            made.close()
        return made


@pytest.fixture
def wrapper() -> Iterator[BaseDatabaseWrapper]:
    made = connections.create_connection("default")
    connections[ALIAS] = made
    yield made
    made.close()
    del connections[ALIAS]


@pytest.fixture
def server(monkeypatch: pytest.MonkeyPatch) -> _Server:
    made = _Server()
    monkeypatch.setattr(psycopg, "connect", made.connect)
    return made


def _ask(wrapper: BaseDatabaseWrapper) -> tuple[Any, ...]:
    with transaction.atomic(using=ALIAS, durable=True), wrapper.cursor() as cursor:
        cursor.execute("SELECT current_setting('TimeZone'), 1")
        found: tuple[Any, ...] = cursor.fetchone()
        return found


def _lose_in_transaction(wrapper: BaseDatabaseWrapper) -> None:
    with transaction.atomic(using=ALIAS):
        wrapper.connection.close()
        with wrapper.cursor() as cursor:
            cursor.execute("SELECT 1")


@pytest.mark.parametrize("tries", [0, 1, 2])
@pytest.mark.parametrize("request_ends", [False, True])
@pytest.mark.parametrize("how", ["is_away", "ends_at_once"])
def test_a_session_lost_in_a_transaction_is_followed_by_a_new_one(
    wrapper: BaseDatabaseWrapper, server: _Server, tries: int, request_ends: bool, how: str
):
    _ask(wrapper)
    setattr(server, how, True)
    with pytest.raises(OperationalError):
        _lose_in_transaction(wrapper)
    for _ in range(tries):
        with pytest.raises(OperationalError):
            _ask(wrapper)
        if request_ends:
            wrapper.close_if_unusable_or_obsolete()

    setattr(server, how, False)

    assert _ask(wrapper) == ("UTC", 1)
    assert wrapper.get_autocommit()
    assert not wrapper.in_atomic_block


def test_a_session_that_ends_while_it_is_set_up_is_not_kept(
    wrapper: BaseDatabaseWrapper, server: _Server, monkeypatch: pytest.MonkeyPatch
):
    def refuse() -> None:
        raise OperationalError("terminating connection due to administrator command")

    with monkeypatch.context() as patched:
        patched.setattr(wrapper, "init_connection_state", refuse)
        with pytest.raises(OperationalError):
            wrapper.ensure_connection()

    assert wrapper.connection is None
    assert _ask(wrapper) == ("UTC", 1)


def test_a_transaction_begins_in_a_new_session_where_the_server_has_left_the_old_one(
    wrapper: BaseDatabaseWrapper,
):
    _ask(wrapper)
    wrapper.connection.close()

    assert _ask(wrapper) == ("UTC", 1)


def test_a_transaction_begins_in_a_new_session_where_the_old_one_was_cut_off_in_a_statement(
    wrapper: BaseDatabaseWrapper,
):
    _ask(wrapper)
    old = wrapper.connection
    old.pgconn.enter_pipeline_mode()
    old.pgconn.send_query_params(b"SELECT 1", None)

    assert _ask(wrapper) == ("UTC", 1)
    assert wrapper.connection is not old
    assert old.closed


def test_a_transaction_that_cannot_begin_leaves_no_session(
    wrapper: BaseDatabaseWrapper, server: _Server
):
    _ask(wrapper)
    wrapper.connection.close()
    server.ends_at_once = True

    with pytest.raises(OperationalError):
        _ask(wrapper)

    assert wrapper.connection is None
