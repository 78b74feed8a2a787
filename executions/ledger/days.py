"""The days of the history, which are tables of their own, and the ids that bound them.

``executions`` has two parts, which PostgreSQL keeps apart by status: ``open_executions``, the
unfinished ones, in one table; ``ended_executions``, the ended ones, written once and by day.

Processes own no tables: functions of the database with its owner's rights make days and let them go
(migration 0033 of this app, decision 0078).
"""

from __future__ import annotations

from collections.abc import Iterable
from datetime import UTC, datetime, timedelta
from uuid import UUID

from django.db import DataError, transaction
from django.dispatch import Signal

from shared import database_clock, tenant_scope
from shared.conf import conf
from shared.exceptions import Unavailable
from shared.ids import first_id_at, moment_of
from shared.sql import rows, run

#: Sent with ``days`` whose tables are missing, where the role of this process may make none.
days_wanted = Signal()
DAILY_TABLES = ("executions", "attempts", "events", "runs", "steps")
DAY = timedelta(days=1)
#: The parents of day tables that are called otherwise; the other tables are their own parents.
_PARENTS = {
    "executions": "ended_executions",
    "runs": "ended_workflow_runs",
    "steps": "workflow_steps",
}
#: Ids younger than this lie in a day that housekeeping has made and that no retention drops.
_SURELY_THERE = timedelta(hours=20)
#: executions_late_ends_idx finds executions that ended within an hour and began longer ago.
_LAST_HOURS = timedelta(hours=2, minutes=2)
#: How long a day stays that was made again for executions that ended after the day had left.
_KEPT_FOR_LATE_ENDS = timedelta(days=7)
#: The comment of a day's table from the moment on that it leaves. A table that an operator detached
#: by hand does not have it and stays.
LEAVING = "Leaves the ledger."


def oldest_open() -> UUID | None:
    """Return the smallest id of an unfinished execution or run; None when all have ended."""
    oldest: UUID | None = rows("materialize/oldest_open")[0][0]
    return oldest


def oldest_of_last_hour(now: datetime) -> UUID:
    """Return an id at or below that of every execution that ended since an hour ago."""
    found: list[UUID] = [row[0] for row in rows("materialize/oldest_of_last_hour")]
    return min([first_id_at(now - _LAST_HOURS), *found])


def is_old(oldest: UUID, now: datetime) -> bool:
    """Return whether an id is so old that its day may be missing."""
    return oldest < first_id_at(_midnight(now))


def ensure_days_of(ids: Iterable[UUID]) -> None:
    """Make the days that are missing for executions about to end; part of that transaction.

    No day leaves while an execution of it is open, so one is missing only where the execution was
    written after its day had left. Such a day is kept for a week. The web's role may make no
    tables: it asks the system worker for them, and raises Unavailable.
    """
    oldest = moment_of(min(ids))
    if database_clock.now() - oldest < _SURELY_THERE:
        return
    moments = [moment_of(one) for one in ids]
    if missing := missing_days(moments):
        if tenant_scope.is_held_back():
            days_wanted.send(sender=None, days=missing)
            raise Unavailable("The place for a day long past is being made. Try again.")
        make_kept_days(missing)


def make_kept_days(days: Iterable[datetime]) -> None:
    """Make the tables of days that have left, and keep them for a week."""
    wanted = list(days)
    make_days(wanted)
    keep_until(wanted, database_clock.now() + _KEPT_FOR_LATE_ENDS)


def blames_a_value(error: Exception) -> bool:
    """Return whether the database refused a value, and not for instance a day without a table."""
    if isinstance(error, DataError):
        return True
    said = getattr(error.__cause__, "diag", None)
    return bool(said and (said.column_name or said.constraint_name))


def missing_days(moments: Iterable[datetime]) -> list[datetime]:
    """Return the days of these moments that lack a table."""
    present = _present()
    return [
        day
        for day in sorted({_midnight(moment) for moment in moments})
        if any(_table(parent, day) not in present for parent in DAILY_TABLES)
    ]


def make_days(days: Iterable[datetime]) -> int:
    """Make the day tables that are missing, each day by itself; return how many tables."""
    made = 0
    for day in sorted({_midnight(day) for day in days}):
        with transaction.atomic():
            run("prune/lock_days")
            present = _present()
            for kind in DAILY_TABLES:
                if _table(kind, day) not in present:
                    made += rows("prune/make_day", {"kind": kind, "day": day.date()})[0][0]
    return made


def ensure_days_ahead(now: datetime) -> int:
    """Make the tables of yesterday, today and the coming days."""
    return make_days(
        missing_days(now + ahead * DAY for ahead in range(-1, conf().partition_days_ahead + 1))
    )


def parent_of(table: str) -> str:
    """Return the partitioned table that the days of one of DAILY_TABLES belong to."""
    return _PARENTS.get(table, table)


def keep_until(days: Iterable[datetime], until: datetime) -> None:
    """Spare the tables of these days from the retention until after a date."""
    for day in days:
        for kind in DAILY_TABLES:
            kept = {"kind": kind, "day": _midnight(day).date(), "until": until.date()}
            rows("prune/keep_day", kept)


def day_of(name: str) -> datetime:
    """Return the midnight that a day given as YYYYMMDD begins with."""
    return datetime.strptime(name, "%Y%m%d").replace(tzinfo=UTC)


def day_end_id(day: str) -> UUID:
    """Return the upper bound of the ids of a day given as YYYYMMDD."""
    return first_id_at(day_of(day) + DAY)


def _present() -> set[str]:
    return {
        row[0]
        for table in DAILY_TABLES
        for row in rows("prune/existing_days", {"parent": parent_of(table)})
    }


def _table(parent: str, day: datetime) -> str:
    return f"{parent}_{day:%Y%m%d}"


def _midnight(moment: datetime) -> datetime:
    return moment.astimezone(UTC).replace(hour=0, minute=0, second=0, microsecond=0)
