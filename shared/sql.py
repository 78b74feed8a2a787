"""Loads the named SQL statements of ``<app>/sql``; a stage asks for one by name.

A file holds statements, each below a line ``-- name: claim_due``; the comment lines that follow
say what the statement guarantees and which index serves it. Names are ``<file>/<name>``; the
names of files are unique over all apps.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

import orjson
from django.db import connection
from django.db.backends.postgresql.base import ServerBindingCursor
from django.db.backends.utils import CursorWrapper
from psycopg.abc import PQGen
from psycopg.pq.abc import PGconn
from psycopg.waiting import WAIT_W

_ROOT = Path(__file__).resolve().parent.parent
_NAME = re.compile(r"^-- name: ([a-z_]+)$", re.MULTILINE)


@cache
def load(stage: str) -> dict[str, str]:
    """Return the statements of one file by name; raise KeyError when no app has the file."""
    found = sorted(_ROOT.glob(f"*/sql/{stage}.sql"))
    if not found:
        raise KeyError(stage)
    parts = _NAME.split(found[0].read_text(encoding="utf-8"))
    return {name: body.strip() for name, body in zip(parts[1::2], parts[2::2], strict=True)}


@cache
def statement(path: str) -> str:
    """Return the statement ``<file>/<name>``; raise KeyError when there is none."""
    stage, _, name = path.partition("/")
    return load(stage)[name]


def json_value(value: Any) -> Any:
    """Return a jsonb column of a named statement; Django's sessions answer them as text."""
    return orjson.loads(value) if isinstance(value, str | bytes) else value


def rows(path: str, parameters: dict[str, Any] | None = None) -> list[tuple[Any, ...]]:
    """Run a statement on the default connection and return its rows."""
    with _cursor() as cursor:
        cursor.execute(statement(path), parameters)
        found: list[tuple[Any, ...]] = cursor.fetchall()
        return found


class Done(NamedTuple):
    """What came of a statement: its rows, and how many rows it returned or touched."""

    rows: list[tuple[Any, ...]]
    number: int


def together(*asked: tuple[str, dict[str, Any]]) -> list[Done]:
    """Run (path, parameters) in their order, on one way to the database and back.

    Each sees what those before it have done and whom they have waited for, as if it had come
    alone. What one of them raises is raised, and those behind it are not run.
    """
    connection.ensure_connection()
    with ExitStack() as open_cursors:
        cursors = [open_cursors.enter_context(_cursor()) for _ in asked]
        with connection.wrap_database_errors, connection.connection.pipeline():
            for cursor, (path, parameters) in zip(cursors, asked, strict=True):
                cursor.execute(statement(path), parameters)
        return [
            Done(cursor.fetchall() if cursor.description else [], int(cursor.rowcount))
            for cursor in cursors
        ]


@contextmanager
def sent_with_commit() -> Iterator[Callable[[str, dict[str, Any]], None]]:
    """Give what runs a transaction's last statement; it travels with the COMMIT, on one way.

    The transaction ends within the block. What is locked in it is let go sooner by a way to the
    database and back. What the statement raises is raised by the end of the transaction, which
    is undone.
    """
    with ExitStack() as until_committed:

        def run_last(path: str, parameters: dict[str, Any]) -> None:
            until_committed.enter_context(connection.wrap_database_errors)
            until_committed.enter_context(connection.connection.pipeline())
            until_committed.enter_context(_cursor()).execute(statement(path), parameters)
            _send_rest()

        yield run_last


def rows_during(
    path: str, parameters: dict[str, Any], meanwhile: Callable[[], object]
) -> list[tuple[Any, ...]]:
    """Return the rows of a statement on which the database works while ``meanwhile`` runs.

    What that asks of the database waits for the statement, and raises its error.
    """
    connection.ensure_connection()
    with connection.connection.pipeline(), _cursor() as cursor:
        cursor.execute(statement(path), parameters)
        _send_rest()
        meanwhile()
        found: list[tuple[Any, ...]] = cursor.fetchall()
        return found


def _send_rest() -> None:
    """Send what a pipeline has not sent yet of a long statement.

    It sends once what the socket takes, then waits for the answer. Behind a statement of which
    the server has only a part, a COMMIT would wait for ever.
    """
    connection.connection.wait(_rest_sent(connection.connection.pgconn))


def _rest_sent(session: PGconn) -> PQGen[None]:
    while session.flush():
        yield WAIT_W


def run(path: str, parameters: dict[str, Any] | None = None) -> int:
    """Run a statement on the default connection and return the number of rows it touched."""
    with _cursor() as cursor:
        cursor.execute(statement(path), parameters)
        return int(cursor.rowcount)


@contextmanager
def _cursor() -> Iterator[CursorWrapper]:
    """Give a cursor whose parameters go to the server beside the statement.

    Django's own writes them into the text: bytes twice as long, and all of it parsed each time.
    A session parses a statement once; the loops' plan it each time nevertheless.
    """
    connection.ensure_connection()
    # The same wrapper as every other cursor has: of errors, and of what is counted in tests.
    session: Any = connection
    made = session._prepare_cursor(ServerBindingCursor(session.connection))  # type: ignore[call-arg]  # the stubs know no arguments
    with made as cursor:
        yield cursor
