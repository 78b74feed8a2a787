"""Retention: remove old days from the history without making other sessions wait.

1. A day gets no further rows once no execution up to its end is open. Its table is detached from
   its parent, marked, and given a name of its own, in one transaction. That waits 50 ms for the
   parent's users, and sessions that come meanwhile wait for it; then it ends and tries again later.
2. Where an archive is kept, the table is written to it and read back.
3. The table is dropped, which locks nothing but itself.

Each step shows in the catalogue, so that the next run continues there after a crash. An end that is
recorded between the check for open executions and the detachment leaves with its day. The
housekeeping stage calls this. Functions with the owner's rights take the steps: detaching without
any lock that others wait for (CONCURRENTLY) needs a session of the owner's, and no process has one
(decision 0078).
"""

from __future__ import annotations

import logging
import threading
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
#: A detachment is tried so often, and after so long: together longer than most statements, which
#: may take half a minute.
_TRIES, _PAUSE_SECONDS = 40, 1.0
#: Longest waits in milliseconds, for locks and for the statement.
_DETACHING = (1_000, 30_000)
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
    def kind(self) -> str:
        """Return which of DAILY_TABLES it is."""
        return self.table.rpartition("_")[0]

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
                    log.info("day.dropped", extra={"table": table})
                    dropped += 1
    except (DatabaseError, psycopg.Error, Damaged, OSError) as error:
        log.warning("day.not_dropped", extra={"reason": str(error).strip()})
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
    # A day that an operator detaches by hand must have no mark.
    session.execute(statement("retention/take_marks_back"))
    yield from _drop_leaving(session)
    for day in _days_before(session, before):
        if time.monotonic() > until or not (day.half_detached or _may_go(day)):
            return
        _detach(session, day.table)
        yield from _drop_leaving(session)


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
    seconds = {"kind": day.kind, "seconds": _OLD_READER_SECONDS}
    if rows("retention/has_old_reader", seconds)[0][0]:
        log.info("day.kept", extra={"table": day.table, "reason": "a long transaction reads"})
        return False
    oldest = days.oldest_open()
    if oldest is not None and oldest < days.day_end_id(day.name):
        log.info("day.kept", extra={"table": day.table, "reason": f"execution {oldest} is open"})
        return False
    return True


def _detach(session: Session, table: str) -> None:
    """Take a day's table out of the ledger and put it aside.

    Raise psycopg.errors.LockNotAvailable when other sessions have used its parent all the time.
    """
    kind, _, day = table.rpartition("_")
    wait_at_most(session, _DETACHING)
    pause = threading.Event()
    for left in reversed(range(_TRIES)):
        try:
            session.execute(statement("retention/let_day_go"), _named(kind, day))
            return
        except psycopg.errors.LockNotAvailable:
            if not left:
                raise
        pause.wait(_PAUSE_SECONDS)


def _drop_leaving(session: Session) -> Iterator[str]:
    for (table,) in session.execute(statement("retention/detached"), _MARK).fetchall():
        _detach(session, table)
    for (table,) in session.execute(statement("retention/leaving")).fetchall():
        kind, day, _, number = table.split("_")
        named = _named(kind, day) | {"number": int(number)}
        if conf().archive_dir:
            session.execute(statement("retention/open_left_day"), named)
            _archive(session, Source(table, kind, f"{days.day_of(day):%Y-%m-%d}"))
        wait_at_most(session, _DROPPING)
        session.execute(statement("retention/drop_left_day"), named)
        yield table


def _named(kind: str, day: str) -> dict[str, Any]:
    return {"kind": kind, "day": days.day_of(day).date()}


def _archive(session: Session, source: Source) -> None:
    wait_for_copying(session)
    part = write_table(session, Path(conf().archive_dir), source, final=True)
    log.info("day.archived", extra={"table": source.table, "rows": part.rows})
