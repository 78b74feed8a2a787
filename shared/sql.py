"""Loads the named SQL statements of ``<app>/sql``; a stage asks for one by name.

A file holds statements, each below a line ``-- name: claim_due``; the comment lines that follow
say what the statement guarantees and which index serves it. Names are ``<file>/<name>``; the
names of files are unique over all apps.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from contextvars import ContextVar
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

import orjson
from django.db import connection, transaction
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


#: The path of a statement, and its parameters.
Asked = tuple[str, dict[str, Any]]


class Done(NamedTuple):
    """What came of a statement: its rows, and how many rows it returned or touched."""

    rows: list[tuple[Any, ...]]
    number: int


_Held = tuple[Sequence[Asked], Callable[[list[Done]], object]]
#: What the transaction of this context runs with its COMMIT, where it holds that back.
_held_back: ContextVar[list[_Held] | None] = ContextVar("held_back", default=None)


def together(*asked: Asked, meanwhile: Callable[[], object] | None = None) -> list[Done]:
    """Run statements in their order, on one way to the database and back.

    Each sees what those before it have done and whom they have waited for, as if it had come
    alone. What one of them raises is raised, and those behind it are not run. ``meanwhile`` runs
    while the database works; what it asks of the database waits for the statements, and raises
    their error.
    """
    connection.ensure_connection()
    with ExitStack() as open_cursors:
        with connection.wrap_database_errors, connection.connection.pipeline():
            cursors = _sent(asked, open_cursors)
            if meanwhile is not None:
                meanwhile()
        return [_done(cursor) for cursor in cursors]


def at_last(*asked: Asked, then: Callable[[list[Done]], object]) -> None:
    """Run statements as late in a transaction as can be; tell ``then`` what came of them.

    That is with the COMMIT of a transaction of :func:`sent_with_commit`, and else at once. So it is
    where a savepoint is open: what is undone with that must not be run behind it.
    """
    held = _held_back.get()
    if held is None or any(connection.savepoint_ids):
        then(together(*asked))
    else:
        held.append((asked, then))


@contextmanager
def sent_with_commit() -> Iterator[Callable[[str, dict[str, Any]], None]]:
    """Open a durable transaction whose last statements travel with its COMMIT, on one way.

    Gives what takes one of them; those of :func:`at_last` come behind it, so that what they lock
    is let go as soon as can be. What they raise is raised by the end of the transaction, which is
    undone. They are not run where it is undone anyway.
    """
    with ExitStack() as until_committed:
        with transaction.atomic(durable=True):
            with _holding_back() as held:
                yield lambda path, parameters: held.insert(0, ([(path, parameters)], _nothing))
            cursors: list[CursorWrapper] = []
            if held and not transaction.get_rollback():
                until_committed.enter_context(connection.wrap_database_errors)
                until_committed.enter_context(connection.connection.pipeline())
                cursors = _sent([one for asked, _ in held for one in asked], until_committed)
        done = iter([_done(cursor) for cursor in cursors])
        for asked, then in held if cursors else ():
            then([next(done) for _ in asked])


@contextmanager
def _holding_back() -> Iterator[list[_Held]]:
    held: list[_Held] = []
    token = _held_back.set(held)
    try:
        yield held
    finally:
        _held_back.reset(token)


def _nothing(done: list[Done]) -> None:
    """Want to know nothing."""


def _sent(asked: Sequence[Asked], open_cursors: ExitStack) -> list[CursorWrapper]:
    """Send statements into the session's pipeline; their cursors are open as long as the stack."""
    cursors = [open_cursors.enter_context(_cursor()) for _ in asked]
    for cursor, (path, parameters) in zip(cursors, asked, strict=True):
        cursor.execute(statement(path), parameters)
    _send_rest()
    return cursors


def _done(cursor: CursorWrapper) -> Done:
    # Asking for the description would make an object of each column.
    result = cursor.pgresult
    return Done(cursor.fetchall() if result and result.nfields else [], int(cursor.rowcount))


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
