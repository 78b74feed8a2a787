"""Making a backup: one moment of the database, and the keys that open it, in one sealed file.

Runs beside a working installation and blocks nothing but the removal of old days. It waits until a
removal that is under way has ended. Dump, counts and migrations are of one snapshot, without later
commits.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Any

import psycopg
from django.db import connection
from psycopg import sql
from psycopg.conninfo import make_conninfo

from executions.ledger.retention import keep_days
from operations.backup import archive, keys, programs
from operations.backup.manifest import Manifest
from shared.instants import format_instant
from shared.sql import statement

#: Tables whose rows stay out: a session's row alone would open the console, and people can sign in
#: to a restored installation again.
LEFT_OUT = ("django_session",)
# A dump of a large database takes hours, in which the snapshot's session only waits.
_PATIENT = "-c statement_timeout=0 -c idle_in_transaction_session_timeout=0 -c timezone=UTC"


@dataclass(frozen=True, slots=True)
class Made:
    """A backup that is on the disk."""

    path: Path
    bytes: int
    manifest: Manifest
    dump_sha256: str


@dataclass(frozen=True, slots=True)
class _Facts:
    """The facts of the snapshot, beside the rows themselves."""

    snapshot: str
    at: datetime
    server_version: str
    server_major: int
    last_token: int
    migrations: dict[str, list[str]]
    row_counts: dict[str, int]


def make_backup(path: Path, passphrase: str, *, force: bool = False) -> Made:
    """Write a backup of the database that is in use; return its facts.

    Raise Conflict when the file exists or days keep leaving the ledger for an hour, ProgramFailed
    when the dump fails; then nothing is left.
    """
    url = database_address()
    with archive.writing(path, passphrase, force=force) as writer, _snapshot(url) as facts:
        manifest = Manifest(
            database_time=format_instant(facts.at),
            server_version=facts.server_version,
            server_major=facts.server_major,
            migrations=facts.migrations,
            row_counts={**facts.row_counts, **dict.fromkeys(LEFT_OUT, 0)},
            last_token=facts.last_token,
            key_ids=keys.key_ids(),
        )
        writer.begin(manifest, keys.current())
        digest = writer.dump(programs.dump(url, facts.snapshot, LEFT_OUT))
    return Made(path, path.stat().st_size, manifest, digest)


def database_address() -> str:
    """Return the connection string of Django's database for other clients, with the password."""
    found = connection.settings_dict
    parts = {
        "dbname": found["NAME"],
        "user": found["USER"],
        "password": found["PASSWORD"],
        "host": found["HOST"],
        "port": found["PORT"],
    }
    ours = {"options", "pool", "application_name", "prepare_threshold"}
    others = {name: value for name, value in found["OPTIONS"].items() if name not in ours}
    given = {name: value for name, value in {**others, **parts}.items() if value}
    return make_conninfo(application_name="punctual-backup", **given)


@contextmanager
def _snapshot(url: str) -> Iterator[_Facts]:
    """Hold one snapshot open for the block; other sessions can use it by its name."""
    with psycopg.connect(url, options=_PATIENT) as session:
        # The dump locks its tables later than the snapshot sees them; none may be dropped before.
        keep_days(session)
        session.isolation_level = psycopg.IsolationLevel.REPEATABLE_READ
        session.read_only = True
        name = _one(session, "backup/snapshot")[0]
        at, version, number, token = _one(session, "backup/facts")
        migrations: dict[str, list[str]] = {}
        for app, migration in session.execute(statement("backup/migrations")):
            migrations.setdefault(app, []).append(migration)
        counts = count_rows(session)
        yield _Facts(name, at, version, number // 10_000, token, migrations, counts)


def count_rows(session: psycopg.Connection[Any]) -> dict[str, int]:
    """Return how many rows each table has, as the session's transaction sees them.

    A day that is half detached counts with the table that it leaves: a dump has it there.
    """
    tables = session.execute(statement("backup/tables")).fetchall()
    counts = {table: _count(session, table) for (table,) in tables}
    for parent, table in session.execute(statement("backup/half_detached")).fetchall():
        counts[parent] += _count(session, table)
    return counts


def _count(session: psycopg.Connection[Any], table: str) -> int:
    text = sql.SQL(statement("backup/count_rows")).format(table=sql.Identifier(table))
    return int(session.execute(text).fetchall()[0][0])


def _one(session: psycopg.Connection[Any], name: str) -> tuple[Any, ...]:
    found: tuple[Any, ...] = session.execute(statement(name)).fetchall()[0]
    return found
