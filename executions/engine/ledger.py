"""The ledger's bounds and days: which ids hot statements look at, and the day tables.

No unfinished execution has an id below the floor, a row in the database. Materialize lowers it
when it writes an older instant; :func:`raise_floor` moves it up day by day.
"""

from __future__ import annotations

from collections.abc import Iterable
from datetime import UTC, datetime, timedelta
from uuid import UUID

from django.db import connection, transaction
from psycopg import sql

from shared.conf import conf
from shared.ids import first_id_at, moment_of
from shared.sql import rows, run, statement, together

DAILY_TABLES = ("executions", "attempts", "events")
DAY = timedelta(days=1)
#: Above every id: nominal times lie at most a horizon ahead, clocks may differ by less.
_HIGH_AHEAD = timedelta(days=1)
#: Longer than any transaction: from midnight on the floor waits so long before it follows, since
#: a transaction that began the day before may still write, without the floor's lock, a row that
#: cannot be seen yet.
_FLOOR_WAITS = timedelta(hours=1)
_STEPS_OF_A_DAY = ("prune/create_day", "prune/bound_day", "prune/attach_day", "prune/unbound_day")
#: The comment of a day's table from the moment on that it leaves; one that somebody detached by
#: hand does not have it and stays.
LEAVING = "Leaves the ledger."


def floor_id() -> UUID:
    """Return the smallest id that may belong to an unfinished execution."""
    found: UUID = rows("materialize/read_floor")[0][0]
    return found


def floor_of_last_hour() -> UUID:
    """Return the smallest id that may belong to an execution which ended within the last hour."""
    found: UUID = rows("materialize/read_floor_of_last_hour")[0][0]
    return found


def bounds() -> dict[str, UUID]:
    """Return ``low`` and ``high``, between which lie all executions that may be due now."""
    floor, clock = together(("materialize/read_floor", {}), ("leases/database_time", {}))
    return {"low": floor.rows[0][0], "high": high_id(clock.rows[0][0])}


def high_id(now: datetime) -> UUID:
    """Return an id above every execution that may be due."""
    return first_id_at(now + _HIGH_AHEAD)


def lock_floor() -> UUID:
    """Return the floor, which stays as it is until this transaction ends."""
    found: UUID = rows("materialize/lock_floor")[0][0]
    return found


def lower_floor(oldest: UUID) -> None:
    """Move the floor below an id that is about to be written; part of that transaction.

    Holding the row until commit closes the race with :func:`raise_floor`, which would otherwise
    not see the new row and move the floor past it.
    """
    if lock_floor() > oldest:
        run("materialize/set_floor", {"floor": _day_start(oldest)})


def raise_floor(now: datetime) -> UUID:
    """Move the floor up to the oldest day that has unfinished work, at most to yesterday."""
    limit = first_id_at(_midnight(now - _FLOOR_WAITS) - DAY)
    with transaction.atomic():
        floor = lock_floor()
        while floor < limit:
            following = first_id_at(_midnight(moment_of(floor)) + DAY)
            if rows("materialize/has_open", {"low": floor, "high": following})[0][0]:
                break
            floor = following
        run("materialize/raise_floor", {"floor": floor})
    return floor


def needs_lower_floor(oldest: UUID, now: datetime) -> bool:
    """Return whether an id is so old that the floor may have passed it.

    A new installation's floor is the day that it began on, later ones stay a day behind.
    """
    return oldest < first_id_at(_midnight(now))


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
    """Give a day's table that leaves the ledger a name of its own, so that its day can come again.

    One that is detached by half is detached first. Does nothing to a table that does not leave.
    """
    with transaction.atomic():
        run("prune/lock_days")
        _clear_name(table)


def day_of(name: str) -> datetime:
    """Return the midnight that a day given as YYYYMMDD begins with."""
    return datetime.strptime(name, "%Y%m%d").replace(tzinfo=UTC)


def day_end_id(day: str) -> UUID:
    """Return the upper bound of the ids of a day given as YYYYMMDD."""
    return first_id_at(day_of(day) + DAY)


def day_names(parent: str, day: datetime, table: str = "") -> dict[str, sql.Composable]:
    """Return what the statements of a day's table are to be told; ``table`` is another name."""
    table = table or _table(parent, day)
    return {
        "table": sql.Identifier(table),
        "name": sql.Literal(table),
        "parent": sql.Identifier(parent),
        "low": sql.Literal(first_id_at(day)),
        "high": sql.Literal(first_id_at(day + DAY)),
        "table_bounds": sql.Identifier(f"{_table(parent, day)}_bounds"),
    }


def _create_day(parent: str, day: datetime) -> None:
    names = day_names(parent, day)
    # Events are read by transaction: there a range of ids must not seem to be most of a day.
    steps = (*_STEPS_OF_A_DAY, "prune/weigh_day") if parent == "executions" else _STEPS_OF_A_DAY
    with connection.cursor() as cursor:
        for name in steps:
            cursor.execute(sql.SQL(statement(name)).format(**names))


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
        row[0] for parent in DAILY_TABLES for row in rows("prune/existing_days", {"parent": parent})
    }


def _table(parent: str, day: datetime) -> str:
    return f"{parent}_{day:%Y%m%d}"


def _midnight(moment: datetime) -> datetime:
    return moment.astimezone(UTC).replace(hour=0, minute=0, second=0, microsecond=0)


def _day_start(value: UUID) -> UUID:
    return first_id_at(_midnight(moment_of(value)))
