"""Functions with the owner's rights make days and let them go, and do nothing else."""

from __future__ import annotations

from datetime import date, timedelta
from threading import Thread

import psycopg
import pytest
from django.db import connection

from executions.ledger import days as ledger
from executions.loop.clocks import database_now
from shared.ids import first_id_at
from tests.executions.old_days import address, days_of, forget, mark, name_of, tables
from tests.executions.old_days import make_days as make_old_days
from tests.support.loops import as_owner, loops_url
from tests.support.waiting import until

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture(autouse=True)
def _no_old_days(transactional_db):
    forget()
    yield
    forget()


@pytest.fixture
def session():
    """Return a session that has logged in as the loops."""
    with psycopg.connect(loops_url(), autocommit=True) as session:
        yield session


def _day(days):
    return (database_now() - timedelta(days=days)).date()


@pytest.mark.parametrize(
    "kind", ["tasks", "audit_entries", "executions; DROP TABLE tasks", "", None]
)
@pytest.mark.parametrize(
    "call",
    [
        "make_day(%(kind)s::text, %(day)s)",
        "keep_day(%(kind)s::text, %(day)s, %(day)s)",
        "let_day_go(%(kind)s::text, %(day)s)",
        "open_left_day(%(kind)s::text, %(day)s, 1)",
        "drop_left_day(%(kind)s::text, %(day)s, 1)",
        "day_has_old_reader(%(kind)s::text, 1)",
    ],
)
def test_a_kind_that_has_no_days_is_refused(session, call, kind):
    with pytest.raises(psycopg.errors.InvalidParameterValue, match="not a day of the ledger"):
        session.execute(f"SELECT {call}", {"kind": kind, "day": date(2020, 1, 1)})


@pytest.mark.parametrize("day", ["infinity", "-infinity", "1969-12-31", "9999-01-02", None])
@pytest.mark.parametrize("name", ["make_day", "let_day_go"])
def test_a_date_that_no_id_has_is_refused(session, name, day):
    with pytest.raises(psycopg.errors.InvalidParameterValue):
        session.execute(f"SELECT {name}('events', %s::date)", [day])


def test_a_day_has_the_bounds_of_its_ids(session):
    assert session.execute("SELECT make_day('events', '2031-03-01')").fetchone() == (True,)
    assert session.execute("SELECT make_day('events', '2031-03-01')").fetchone() == (False,)

    with connection.cursor() as cursor:
        cursor.execute(
            "SELECT pg_get_expr(relpartbound, oid) FROM pg_class WHERE relname = 'events_20310301'"
        )
        [bounds] = cursor.fetchone()
    with as_owner(), connection.cursor() as cursor:
        cursor.execute("DROP TABLE events_20310301")
    low, high = (first_id_at(ledger.day_of(day)) for day in ("20310301", "20310302"))
    assert bounds == f"FOR VALUES FROM ('{low}') TO ('{high}')"


@pytest.mark.parametrize("days", [0, -1])
def test_a_day_that_has_not_passed_stays(session, days):
    with pytest.raises(psycopg.errors.InvalidParameterValue, match="has not passed"):
        session.execute("SELECT let_day_go('events', %s)", [_day(days)])


def test_a_day_that_is_in_use_stays_and_others_wait_for_a_moment_only(session):
    make_old_days(20)
    with psycopg.connect(**address()) as reader:
        reader.execute("SELECT 1 FROM events LIMIT 1")
        with pytest.raises(psycopg.errors.LockNotAvailable):
            session.execute("SELECT let_day_go('events', %s)", [_day(20)])

    assert name_of(20) in days_of("events")
    # The bound is the function's own; it does not depend on the patience of the session.
    with connection.cursor() as cursor:
        cursor.execute("SELECT proconfig FROM pg_proc WHERE proname = 'let_day_go'")
        assert "lock_timeout=50ms" in cursor.fetchone()[0]


@pytest.fixture
def patient():
    """Let a day wait for its locks until it has them."""
    with as_owner(), connection.cursor() as cursor:
        cursor.execute("ALTER FUNCTION let_day_go(text, date) SET lock_timeout = '60s'")
        yield
        cursor.execute("ALTER FUNCTION let_day_go(text, date) SET lock_timeout = '50ms'")


_LOCKS = """
SELECT relation::regclass::text, granted FROM pg_locks
WHERE pid = %s AND mode = 'AccessExclusiveLock' AND relation IS NOT NULL
"""


def test_nobody_waits_while_a_day_waits_for_its_vacuum(session, patient):
    make_old_days(20)
    table = f"events_{name_of(20)}"
    pid = session.info.backend_pid
    leaving = Thread(target=session.execute, args=("SELECT let_day_go('events', %s)", [_day(20)]))
    with psycopg.connect(**address()) as vacuum:
        vacuum.execute(f"LOCK TABLE {table} IN SHARE UPDATE EXCLUSIVE MODE")
        leaving.start()
        # Nothing else, so that no session of the parent waits.
        until(lambda: vacuum.execute(_LOCKS, [pid]).fetchall() == [(table, False)])
    leaving.join(60)

    assert name_of(20) not in days_of("events")


def test_a_day_leaves_in_one_step_and_its_table_can_be_read_and_dropped(session):
    make_old_days(20)

    assert session.execute("SELECT let_day_go('events', %s)", [_day(20)]).fetchone() == (True,)
    assert session.execute("SELECT let_day_go('events', %s)", [_day(20)]).fetchone() == (False,)

    [table] = [one for one in tables() if one.startswith(f"events_{name_of(20)}")]
    number = int(table.rpartition("_")[2])
    with pytest.raises(psycopg.errors.InsufficientPrivilege):
        session.execute(f"SELECT 1 FROM {table}")
    session.execute("SELECT open_left_day('events', %s, %s)", [_day(20), number])
    session.execute(f"SELECT 1 FROM {table}")
    session.execute("SELECT drop_left_day('events', %s, %s)", [_day(20), number])
    assert table not in tables()


def test_a_table_that_was_not_put_aside_cannot_be_dropped(session):
    make_old_days(20)

    with pytest.raises(psycopg.errors.UndefinedTable):
        session.execute("SELECT drop_left_day('events', %s, 1)", [_day(20)])
    with pytest.raises(psycopg.Error):
        session.execute("SELECT drop_left_day('events', %s, NULL)", [_day(20)])
    assert name_of(20) in days_of("events")


def test_marks_of_days_in_the_ledger_are_taken_back(session):
    make_old_days(20, 21)
    mark(f"events_{name_of(20)}", ledger.LEAVING)
    mark(f"events_{name_of(21)}", "Of an operator.")

    session.execute("SELECT take_day_marks_back()")

    with connection.cursor() as cursor:
        cursor.execute(
            "SELECT obj_description(oid, 'pg_class') FROM pg_class"
            " WHERE relname IN (%s, %s) ORDER BY relname",
            [f"events_{name_of(21)}", f"events_{name_of(20)}"],
        )
        assert cursor.fetchall() == [("Of an operator.",), (None,)]
