"""Fill a part of the archive from a table, by COPY: the server makes the text, block by block.

The caller has the turn of ``executions.ledger.retention``, in a session of its own.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any, NamedTuple

import psycopg
from psycopg import sql

from executions.ledger.archive import parts
from executions.ledger.archive.parts import Facts, Part
from executions.loop.clocks import database_now
from shared.instants import format_instant
from shared.sql import statement

_APPS = ("events", "executions")


class Source(NamedTuple):
    """A table with the rows of a day (YYYY-MM-DD), and the archive's name for such rows."""

    table: str
    parent: str
    day: str


def write_table(
    session: psycopg.Connection[Any], root: Path, source: Source, *, final: bool
) -> Part:
    """Write a table to the archive and return its part, read back and whole.

    Raise OSError when the disk refuses it, Damaged when it cannot be read back.
    """
    session.execute(statement("archive/plain_forms"))
    columns = columns_of(session, source.table)
    text = sql.SQL(statement("archive/write")).format(
        columns=sql.SQL(", ").join(map(sql.Identifier, columns)),
        table=sql.Identifier(source.table),
    )
    schema = dict(session.execute(statement("archive/schema"), {"apps": list(_APPS)}).fetchall())
    facts = Facts(columns, schema, final, format_instant(database_now()))
    with parts.writing(root, source.parent, source.day) as writer, session.cursor() as cursor:
        with cursor.copy(text) as copy:
            for block in copy:
                writer.write(block)
        return writer.finish(cursor.rowcount, facts)


def columns_of(session: psycopg.Connection[Any], table: str) -> dict[str, str]:
    """Return the columns of a table with their types, in order."""
    return dict(session.execute(statement("archive/columns"), {"table": table}).fetchall())
