"""Loads the named SQL statements of ``<app>/sql``; a stage asks for one by name.

A file holds statements, each below a line ``-- name: claim_due``; the comment lines that follow
state what the statement guarantees and which index serves it. Names are ``<file>/<name>``; the
names of files are unique over all apps. What a long statement selects first, or what two of them
do alike, stands apart, below a line ``-- part: due``; ``WITH -- parts: due, waiting`` puts the
common table expressions of such parts, which say what they promise as statements do, in its place.
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
_HEAD = re.compile(r"^-- (name|part): ([a-z_]+)$", re.MULTILINE)
_PARTS = re.compile(r"-- parts: ([a-z_]+(?:, [a-z_]+)*)$", re.MULTILINE)


@cache
def load(stage: str) -> dict[str, str]:
    """Return the statements of one file by name; raise KeyError when no app has the file."""
    found = sorted(_ROOT.glob(f"*/sql/{stage}.sql"))
    if not found:
        raise KeyError(stage)
    return composed(found[0].read_text(encoding="utf-8"))


def composed(text: str) -> dict[str, str]:
    """Return the statements of a file's text by name, with their parts in place.

    A part belongs to its file; raises KeyError when a statement names one that is not there.
    """
    pieces: dict[str, dict[str, str]] = {"name": {}, "part": {}}
    split = _HEAD.split(text)
    for kind, name, body in zip(split[1::3], split[2::3], split[3::3], strict=True):
        pieces[kind][name] = body.strip()

    def in_place(named: re.Match[str]) -> str:
        last = named.string[named.end() :].lstrip().startswith("SELECT")
        found = ",\n".join(pieces["part"][name] for name in named[1].split(", "))
        return found if last else f"{found},"

    return {name: _PARTS.sub(in_place, body) for name, body in pieces["name"].items()}


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
    """The result of a statement: its rows, and how many rows it returned or touched."""

    rows: list[tuple[Any, ...]]
    number: int


_Held = tuple[Sequence[Asked], Callable[[list[Done]], object]]
#: Statements that this context holds back for a COMMIT; None outside of :func:`sent_with_commit`.
_held_back: ContextVar[list[_Held] | None] = ContextVar("held_back", default=None)


def together(*asked: Asked, meanwhile: Callable[[], object] | None = None) -> list[Done]:
    """Run statements in their order, in one round trip to the database.

    Each statement sees the effects of the earlier ones, and of the transactions that they waited
    for, as if it were sent alone. The first error is raised, and later statements do not run.
    ``meanwhile`` runs while the database works; its own queries wait for the statements, and
    raise their error.
    """
    session: Any = connection
    session.ensure_connection()
    if session.get_autocommit():
        # Within a transaction the first statement sends the binding in the same round trip.
        session.bind()
    with ExitStack() as open_cursors:
        with connection.wrap_database_errors, connection.connection.pipeline():
            cursors = _sent(asked, open_cursors)
            if meanwhile is not None:
                meanwhile()
        return [_done(cursor) for cursor in cursors]


def at_last(*asked: Asked, then: Callable[[list[Done]], object]) -> None:
    """Run statements as late in a transaction as possible; pass their results to ``then``.

    Within :func:`sent_with_commit` they run with the COMMIT, otherwise at once. While a savepoint
    is open they run at once, too: a rollback to it must undo them.
    """
    held = _held_back.get()
    if held is None or any(connection.savepoint_ids):
        then(together(*asked))
    else:
        held.append((asked, then))


@contextmanager
def sent_with_commit() -> Iterator[Callable[[str, dict[str, Any]], None]]:
    """Open a durable transaction whose last statements share a round trip with its COMMIT.

    Yields a function that adds such a statement. Statements of :func:`at_last` run after it, so
    that they hold their locks as briefly as possible. The end of the transaction raises their
    error and rolls back. A transaction that rolls back anyway does not run them.
    """
    session: Any = connection
    with ExitStack() as until_committed:
        with session.binding_late(), transaction.atomic(durable=True):
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
    """Ignore the results."""


def _sent(asked: Sequence[Asked], open_cursors: ExitStack) -> list[CursorWrapper]:
    """Send statements into the session's pipeline; their cursors are open as long as the stack."""
    cursors = [open_cursors.enter_context(_cursor()) for _ in asked]
    for cursor, (path, parameters) in zip(cursors, asked, strict=True):
        cursor.execute(statement(path), parameters)
    _send_rest()
    return cursors


def _done(cursor: CursorWrapper) -> Done:
    # Reading the cursor's description would make an object per column.
    result = cursor.pgresult
    return Done(cursor.fetchall() if result and result.nfields else [], int(cursor.rowcount))


def _send_rest() -> None:
    """Send the rest of a long statement that the pipeline has not sent yet.

    The pipeline sends once what the socket takes, then waits for the answer. While the server has
    only a part of a statement, a COMMIT after it would wait forever.
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
    """Yield a cursor that sends parameters apart from the statement.

    Django's own cursor writes them into the text: bytes get twice as long, and the server parses
    all of it each time. A session parses a statement once; the loops' sessions still plan it each
    time.
    """
    connection.ensure_connection()
    # The wrapper that every other cursor has: it translates errors, and tests count queries by it.
    session: Any = connection
    made = session._prepare_cursor(ServerBindingCursor(session.connection))  # type: ignore[call-arg]  # the stubs know no arguments
    with made as cursor:
        yield cursor
