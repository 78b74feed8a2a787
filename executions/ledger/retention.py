"""Retention: remove old days from the history without making other sessions wait.

1. A day gets no further rows once no execution up to its end is open. Its table is marked and
   detached from its parent concurrently: that waits for the parent's users, and no session waits
   for it.
2. The table, which no statement can write to now, gets a name of its own.
3. Where an archive is kept, the table is written to it and read back.
4. The table is dropped, which locks nothing but itself.

Each step shows in the catalogue, so that the next run continues there after a crash. An end that is
recorded between the check for open executions and the detachment leaves with its day. The
housekeeping stage calls this.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any, NamedTuple

import psycopg
from django.db import DatabaseError, connection
from psycopg import sql

from executions.ledger import days
from executions.ledger.archive.parts import Damaged, check_writable
from executions.ledger.archive.writing import Source, write_table
from shared.conf import conf
from shared.exceptions import Conflict
from shared.sql import rows, statement

log = logging.getLogger("executions.engine.retention")

Session = psycopg.Connection[tuple[Any, ...]]

#: A run begins no further day after this long; the next run continues.
_LONGEST_SECONDS = 300.0
#: A transaction older than this is a dump or a report; no detachment begins beside it.
_OLD_READER_SECONDS = 10.0
#: Longest waits in milliseconds, for locks and for the statement. No session waits for a
#: detachment, and it outwaits every statement of the product, which may take half a minute.
_DETACHING = (40_000, 120_000)
_DROPPING = (1_000, 30_000)
_WITHOUT_END = (10_000, 0)
#: A running round may have a day to archive, which takes minutes.
_FOR_A_ROUND = (3_600_000, 0)
_FOR_EVER = (0, 0)
_MARK = {"mark": days.LEAVING}


class _Day(NamedTuple):
    """A day's table in the ledger."""

    parent: str
    table: str
    half_detached: bool

    @property
    def name(self) -> str:
        """Return the day as YYYYMMDD."""
        return self.table.rpartition("_")[2]


def drop_days(before: str) -> int:
    """Drop the days before one (YYYYMMDD); return how many tables were dropped.

    An obstacle (unfinished work, a long reader, a full disk of the archive) ends the round and is
    logged; the next round continues. Does nothing while another process has its turn.
    """
    dropped = 0
    try:
        with turn() as session:
            if session is not None:
                for table in _letting_go(session, before):
                    log.info("day_dropped", extra={"table": table})
                    dropped += 1
    except (DatabaseError, psycopg.Error, Damaged, OSError) as error:
        log.warning("day_not_dropped", extra={"reason": str(error).strip()})
    return dropped


@contextmanager
def turn() -> Iterator[Session | None]:
    """Yield a session of its own outside of every transaction; None while another has its turn.

    Processes that drop, archive or restore days take turns. Settings of the session end with it.
    """
    parameters = connection.get_connection_params()
    parameters.pop("cursor_factory", None)
    parameters.pop("context", None)
    with psycopg.connect(**parameters, autocommit=True) as session:
        taken = session.execute(statement("retention/take_turn")).fetchall()[0][0]
        try:
            yield session if taken else None
        finally:
            # An error here does no harm: the turn ends with the session.
            with suppress(psycopg.Error):
                session.execute(statement("retention/give_turn_back"))


def keep_days(session: Session) -> None:
    """Keep every day in the ledger until the session ends, for a reader of the whole ledger.

    Several readers may do so at the same time. Wait for a running round; raise Conflict after an
    hour. Commits the session's transaction.
    """
    wait_at_most(session, _FOR_A_ROUND)
    try:
        session.execute(statement("retention/share_turn"))
    except psycopg.errors.LockNotAvailable as error:
        raise Conflict(
            "Another archive, restore or backup is still using the history. Try again later; "
            "see the system worker's log."
        ) from error
    wait_at_most(session, _FOR_EVER)
    session.commit()


def wait_at_most(session: Session, milliseconds: tuple[int, int]) -> None:
    """Bound how long the session waits, for a lock and for a statement; 0 is without end."""
    lock, whole = milliseconds
    session.execute(statement("retention/be_patient"), {"lock": lock, "statement": whole})


def wait_for_copying(session: Session) -> None:
    """Allow the session to copy without a time limit."""
    wait_at_most(session, _WITHOUT_END)


def change(session: Session, query: str, /, **names: sql.Composable) -> None:
    """Run a statement that names tables."""
    session.execute(sql.SQL(query).format(**names))


def _letting_go(session: Session, before: str) -> Iterator[str]:
    """Drop days and yield their tables, first the ones of an interrupted round."""
    until = time.monotonic() + _LONGEST_SECONDS
    if conf().archive_dir:
        # Check before any day leaves the ledger.
        check_writable(Path(conf().archive_dir))
    _take_marks_back(session)
    yield from _drop_leaving(session)
    for day in _days_before(session, before):
        if time.monotonic() > until or not (day.half_detached or _may_go(day)):
            return
        _detach(session, day)
        yield from _drop_leaving(session)


def _take_marks_back(session: Session) -> None:
    """Unmark tables in the ledger: a day that an operator detaches by hand must have no mark."""
    for (table,) in session.execute(statement("retention/marked_in_ledger"), _MARK).fetchall():
        names = {"table": sql.Identifier(table), "text": sql.Literal("")}
        change(session, statement("retention/describe"), **names)


def _days_before(session: Session, before: str) -> list[_Day]:
    parents = [days.parent_of(table) for table in days.DAILY_TABLES]
    wanted = {"parents": parents, "before": before, **_MARK}
    found = session.execute(statement("retention/days_before"), wanted)
    # A half detached one keeps the others of its parent from leaving.
    return sorted(
        (_Day(*row) for row in found),
        key=lambda day: (not day.half_detached, day.name, parents.index(day.parent)),
    )


def _may_go(day: _Day) -> bool:
    seconds = {"parent": day.parent, "seconds": _OLD_READER_SECONDS}
    if rows("retention/has_old_reader", seconds)[0][0]:
        log.info("day_waits", extra={"table": day.table, "reason": "a long transaction reads"})
        return False
    oldest = days.oldest_open()
    if oldest is not None and oldest < days.day_end_id(day.name):
        log.info("day_waits", extra={"table": day.table, "reason": f"execution {oldest} is open"})
        return False
    return True


def _detach(session: Session, day: _Day) -> None:
    names = {"parent": sql.Identifier(day.parent), "table": sql.Identifier(day.table)}
    wait_at_most(session, _DETACHING)
    if day.half_detached:
        change(session, statement("retention/finish_detaching"), **names)
    else:
        mark = sql.Literal(days.LEAVING)
        change(session, statement("retention/describe"), text=mark, table=names["table"])
        change(session, statement("retention/detach_day"), **names)
    days.put_aside(day.table)


def _drop_leaving(session: Session) -> Iterator[str]:
    for (table,) in session.execute(statement("retention/detached"), _MARK).fetchall():
        days.put_aside(table)
    for (table,) in session.execute(statement("retention/leaving")).fetchall():
        parent, day, *_ = table.split("_")
        if conf().archive_dir:
            _archive(session, Source(table, parent, f"{days.day_of(day):%Y-%m-%d}"))
        wait_at_most(session, _DROPPING)
        change(session, statement("prune/drop_day"), table=sql.Identifier(table))
        yield table


def _archive(session: Session, source: Source) -> None:
    wait_for_copying(session)
    part = write_table(session, Path(conf().archive_dir), source, final=True)
    log.info("day_archived", extra={"table": source.table, "rows": part.rows})
