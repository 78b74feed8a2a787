"""The operator's actions on the archive: export a day to it, restore a day from it.

Both take turns with the retention, so that no day leaves or returns meanwhile.
"""

from __future__ import annotations

import gzip
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, date, datetime, timedelta
from pathlib import Path

import psycopg
from psycopg import sql

from executions.ledger import days as ledger
from executions.ledger.archive.parts import Part, check_writable, parts_of
from executions.ledger.archive.reading import verified_parts
from executions.ledger.archive.writing import Source, columns_of, write_table
from executions.ledger.retention import Session, change, turn, wait_for_copying
from executions.loop.clocks import database_now
from shared.exceptions import Conflict, NotFound
from shared.ids import first_id_at
from shared.sql import statement

_CHUNK = 1024 * 1024
#: Tables that days of an earlier version do not have in the archive.
_LATER_TABLES = ("runs", "steps")


@dataclass(frozen=True, slots=True)
class Exported:
    """An exported day; ``unfinished`` executions may still change."""

    parts: list[Part]
    unfinished: int


@dataclass(frozen=True, slots=True)
class Restored:
    """A day that is in the ledger again, until after ``kept_until``.

    ``left_out`` counts the rows of tenants that were removed since.
    """

    rows: dict[str, int]
    left_out: int
    kept_until: date


def export_day(root: Path, day: date) -> Exported:
    """Write a day of the ledger to the archive as it is now; return its parts.

    The day stays. When it leaves, it is written again unless it is unchanged. Raise NotFound when
    the ledger does not have it, Conflict while another process has its turn, OSError when the disk
    refuses it.
    """
    with _own_turn() as session:
        check_writable(root)
        tables = {parent: f"{parent}_{day:%Y%m%d}" for parent in ledger.DAILY_TABLES}
        if sorted(tables.values()) != _tables_of_day(session, day):
            raise NotFound(f"The ledger does not have {day}, or not all of it any more.")
        wait_for_copying(session)
        first, end = (first_id_at(_midnight(day) + days * ledger.DAY) for days in (0, 1))
        count = statement("archive/open_of_day")
        unfinished = session.execute(count, {"low": first, "high": end}).fetchall()[0][0]
        parts = [
            write_table(session, root, Source(table, parent, f"{day}"), final=False)
            for parent, table in tables.items()
        ]
        return Exported(parts, unfinished)


def restore_day(root: Path, day: date, *, keep_days: int) -> Restored:
    """Bring a day back into the ledger, where the retention spares it for ``keep_days`` days.

    Steps: 1. verify every file; 2. load tables of their own; 3. attach them in one transaction.
    If it ends early, none of the day is in the ledger. Raise NotFound when the archive does not
    have the day, Damaged for a file that has changed, Conflict when the ledger has the day, when an
    execution of it was unfinished, or when the files are of another version.
    """
    kept_until = (database_now() + timedelta(days=keep_days)).astimezone(UTC).date()
    with _own_turn() as session:
        if present := _tables_of_day(session, day):
            raise Conflict(f"The ledger has {day} already: {', '.join(present)}.")
        found = {parent: _parts(root, parent, day) for parent in ledger.DAILY_TABLES}
        wait_for_copying(session)
        _drop_returning(session)
        try:
            left_out = sum(_load(session, root, day, parent, found[parent]) for parent in found)
            rows = {parent: _count(session, parent, day) for parent in found}
            _attach(session, day, kept_until)
        finally:
            _drop_returning(session)
    return Restored(rows, left_out, kept_until)


@contextmanager
def _own_turn() -> Iterator[Session]:
    with turn() as session:
        if session is None:
            raise Conflict(
                "Another process is archiving, dropping or backing up days. Try again later."
            )
        yield session


def _parts(root: Path, parent: str, day: date) -> list[Part]:
    """Return the verified files of a table's day; none of a table that the archive's time lacked.

    Raise NotFound where the archive does not have the day.
    """
    try:
        return verified_parts(root, parent, f"{day}")
    except NotFound:
        if parent in _LATER_TABLES and parts_of(root, "executions", f"{day}"):
            return []
        raise


def _tables_of_day(session: Session, day: date) -> list[str]:
    found = session.execute(statement("archive/tables_of_day"), {"day": f"{day:%Y%m%d}"})
    return sorted(row[0] for row in found)


def _load(session: Session, root: Path, day: date, parent: str, parts: list[Part]) -> int:
    """Fill a table outside of the ledger; return how many rows of removed tenants it leaves out."""
    called = _returning(parent, day)
    table = sql.Identifier(called)
    new = {"kind": parent, "day": day, "called": called}
    session.execute(statement("prune/new_day_table"), new)
    known = columns_of(session, called)
    for part in parts:
        if strange := sorted(set(part.facts.columns) - set(known)):
            raise Conflict(
                f"{part.path(root)} has columns that {parent} does not have here: "
                f"{', '.join(strange)}. `archive read` shows them."
            )
    if parts:
        first, *later = parts
        _copy(session, root, first, table)
        for part in later:
            _replace(session, root, part, table)
    if parent == "executions":
        _refuse_unfinished(session, day, table)
    strangers = sql.SQL(statement("archive/leave_out_strangers")).format(table=table)
    left_out = session.execute(strangers).rowcount
    change(session, statement("archive/analyze"), table=table)
    return left_out


def _copy(session: Session, root: Path, part: Part, table: sql.Composable) -> None:
    text = sql.SQL(statement("archive/load")).format(
        table=table, columns=sql.SQL(", ").join(map(sql.Identifier, part.facts.columns))
    )
    try:
        with (
            gzip.open(part.path(root), "rb") as stream,
            session.cursor() as cursor,
            cursor.copy(text) as copy,
        ):
            while block := stream.read(_CHUNK):
                copy.write(block)
    except (psycopg.DataError, psycopg.IntegrityError) as error:
        raise Conflict(
            f"{part.path(root)} does not fit this version: {error.diag.message_primary}. "
            "`archive read` shows it."
        ) from error


def _replace(session: Session, root: Path, part: Part, table: sql.Composable) -> None:
    both = {"table": table, "staged": sql.Identifier("staged_part")}
    with session.transaction():
        change(session, statement("archive/stage"), **both)
        _copy(session, root, part, both["staged"])
        change(session, statement("archive/remove_replaced"), **both)
        change(session, statement("archive/add_staged"), **both)


def _refuse_unfinished(session: Session, day: date, table: sql.Composable) -> None:
    count = sql.SQL(statement("archive/unfinished_of_day")).format(table=table)
    if unfinished := session.execute(count).fetchall()[0][0]:
        raise Conflict(
            f"{unfinished} executions of {day} were unfinished when it was exported; they would "
            "run again. `archive read` shows them."
        )


def _count(session: Session, parent: str, day: date) -> int:
    name = sql.Identifier(_returning(parent, day))
    found = session.execute(sql.SQL(statement("archive/count")).format(table=name))
    return int(found.fetchall()[0][0])


def _attach(session: Session, day: date, kept_until: date) -> None:
    said = sql.Literal(f"Back from the archive; kept until {kept_until}.")
    with session.transaction():
        session.execute(statement("prune/lock_days"))
        if _tables_of_day(session, day):
            # Work that was due on that day was written while the rows were loaded.
            raise Conflict(f"The ledger has {day} again; nothing was restored.")
        for parent in ledger.DAILY_TABLES:
            loaded = sql.Identifier(_returning(parent, day))
            table = sql.Identifier(f"{parent}_{day:%Y%m%d}")
            change(session, statement("retention/put_aside"), table=loaded, aside=table)
            session.execute(statement("prune/attach_day_table"), {"kind": parent, "day": day})
            change(session, statement("retention/describe"), table=table, text=said)


def _drop_returning(session: Session) -> None:
    for (table,) in session.execute(statement("archive/returning")).fetchall():
        change(session, statement("prune/drop_day"), table=sql.Identifier(table))


def _returning(parent: str, day: date) -> str:
    return f"{parent}_{day:%Y%m%d}_returning"


def _midnight(day: date) -> datetime:
    return datetime(day.year, day.month, day.day, tzinfo=UTC)
