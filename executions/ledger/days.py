"""The days of the history, which are tables of their own, and the ids that bound them.

``executions`` has two parts, which PostgreSQL keeps apart by status: ``open_executions``, the
unfinished ones, in one table; ``ended_executions``, the ended ones, written once and by day.
"""

from __future__ import annotations

from collections.abc import Iterable
from datetime import UTC, datetime, timedelta
from uuid import UUID

from django.db import DataError, connection, transaction
from psycopg import sql

from shared.conf import conf
from shared.ids import first_id_at, moment_of
from shared.sql import rows, run, statement
from shared.statistics_kept import ANALYZE_SHARE

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
_STEPS_OF_A_DAY = (
    "prune/create_day",
    "prune/quiet_day",
    "prune/bound_day",
    "prune/attach_day",
    "prune/unbound_day",
)
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
    written after its day had left. Such a day is kept for a week.
    """
    oldest = moment_of(min(ids))
    if datetime.now(UTC) - oldest < _SURELY_THERE:
        return
    moments = [moment_of(one) for one in ids]
    if missing := missing_days(moments):
        make_days(missing)
        keep_until(missing, datetime.now(UTC) + _KEPT_FOR_LATE_ENDS)


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
            for parent in DAILY_TABLES:
                if _table(parent, day) not in present:
                    _clear_name(_table(parent, day))
                    _create_day(parent, day)
                    made += 1
    return made


def ensure_days_ahead(now: datetime) -> int:
    """Make the tables of yesterday, today and the coming days."""
    return make_days(
        missing_days(now + ahead * DAY for ahead in range(-1, conf().partition_days_ahead + 1))
    )


def put_aside(table: str) -> None:
    """Rename the table of a day that leaves the ledger, so that its day can be made again.

    Detaches a half detached table first. Does nothing to a table that does not leave.
    """
    with transaction.atomic():
        run("prune/lock_days")
        _clear_name(table)


def parent_of(table: str) -> str:
    """Return the partitioned table that the days of one of DAILY_TABLES belong to."""
    return _PARENTS.get(table, table)


def keep_until(days: Iterable[datetime], until: datetime) -> None:
    """Spare the tables of these days from the retention until after a date."""
    with connection.cursor() as cursor:
        for day in days:
            for parent in DAILY_TABLES:
                names = {
                    "table": sql.Identifier(_table(parent, day)),
                    "text": sql.Literal(f"kept until {until:%Y-%m-%d}"),
                }
                cursor.execute(sql.SQL(statement("retention/describe")).format(**names))


def day_of(name: str) -> datetime:
    """Return the midnight that a day given as YYYYMMDD begins with."""
    return datetime.strptime(name, "%Y%m%d").replace(tzinfo=UTC)


def day_end_id(day: str) -> UUID:
    """Return the upper bound of the ids of a day given as YYYYMMDD."""
    return first_id_at(day_of(day) + DAY)


def day_names(parent: str, day: datetime, table: str = "") -> dict[str, sql.Composable]:
    """Return names and bounds for the statements of a day's table; ``table`` is another name."""
    table = table or _table(parent, day)
    return {
        "table": sql.Identifier(table),
        "parent": sql.Identifier(parent_of(parent)),
        "low": sql.Literal(first_id_at(day)),
        "high": sql.Literal(first_id_at(day + DAY)),
        "table_bounds": sql.Identifier(f"{_table(parent, day)}_bounds"),
        "share": sql.Literal(ANALYZE_SHARE),
    }


def _create_day(parent: str, day: datetime) -> None:
    names = day_names(parent, day)
    depths = rows("prune/quiet_columns", {"parent": parent_of(parent)})
    names["depths"] = _altered(depths)
    with connection.cursor() as cursor:
        for name in _STEPS_OF_A_DAY:
            if name != "prune/quiet_day" or depths:
                cursor.execute(sql.SQL(statement(name)).format(**names))


def _altered(depths: Iterable[tuple[str, int]]) -> sql.Composable:
    column = sql.SQL("ALTER COLUMN {} SET STATISTICS {}")
    return sql.SQL(", ").join(
        column.format(sql.Identifier(name), sql.Literal(depth)) for name, depth in depths
    )


def _clear_name(table: str) -> None:
    for number, parent in rows("retention/in_the_way", {"table": table, "mark": LEAVING}):
        names = {
            "parent": sql.Identifier(parent or ""),
            "table": sql.Identifier(table),
            "aside": sql.Identifier(f"{table}_leaving_{number}"),
        }
        with connection.cursor() as cursor:
            if parent:
                text = sql.SQL(statement("retention/finish_detaching"))
                cursor.execute(text.format(**names))
            cursor.execute(sql.SQL(statement("retention/put_aside")).format(**names))


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
