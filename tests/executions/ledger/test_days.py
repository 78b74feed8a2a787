from __future__ import annotations

from datetime import UTC, datetime, timedelta
from uuid import uuid4

import pytest
from django.db import connection

from executions.ledger import days as ledger
from executions.loop.clocks import database_now
from executions.models import Execution
from shared.ids import execution_id, first_id_at
from shared.sql import rows
from tenants.models import Tenant
from tests.factories import make_execution

pytestmark = pytest.mark.django_db

#: The middle of a day, far from every midnight.
NOON = datetime(2027, 5, 20, 12, tzinfo=UTC)
DAY = timedelta(days=1)


@pytest.fixture(autouse=True)
def days() -> None:
    ledger.make_days([NOON + offset * DAY for offset in range(-12, 2)])


def midnight(moment: datetime) -> datetime:
    return moment.replace(hour=0, minute=0, second=0, microsecond=0)


def put(tenant: Tenant, at: datetime, status: str = "PENDING", held: bool = False) -> Execution:
    """Move an execution to another day of the ledger."""
    made = make_execution(tenant, status)
    Execution.objects.filter(id=made.id).update(
        id=execution_id(made.task_id, at), scheduled_for=at, held=held
    )
    return Execution.objects.get(task_id=made.task_id)


@pytest.mark.parametrize("status", ["PENDING", "QUEUED", "RUNNING", "RETRYING"])
@pytest.mark.parametrize("held", [False, True])
def test_the_oldest_open_execution_is_found_whatever_it_waits_for(
    alpha: Tenant, status: str, held: bool
):
    put(alpha, NOON - 6 * DAY, "SUCCEEDED")
    execution = put(alpha, NOON - 5 * DAY, status, held=held)
    put(alpha, NOON - 4 * DAY, status)

    assert ledger.oldest_open() == execution.id


def test_where_all_has_ended_nothing_is_open(alpha: Tenant):
    put(alpha, NOON - 5 * DAY, "SUCCEEDED")

    assert ledger.oldest_open() is None


def test_what_ended_lately_is_no_older_than_its_bound(alpha: Tenant):
    now = database_now()
    ledger.make_days([now - 9 * DAY])
    old = put(alpha, now - 9 * DAY, "SUCCEEDED")
    Execution.objects.filter(id=old.id).update(finished_at=now - timedelta(minutes=59))

    assert ledger.oldest_of_last_hour(now) <= old.id


def test_what_ended_before_the_last_hour_does_not_count(alpha: Tenant):
    now = database_now()
    ledger.make_days([now - 9 * DAY])
    old = put(alpha, now - 9 * DAY, "SUCCEEDED")
    Execution.objects.filter(id=old.id).update(finished_at=now - timedelta(hours=2))

    assert ledger.oldest_of_last_hour(now) > old.id


def test_only_instants_before_today_are_so_old_that_their_day_may_be_missing():
    assert not ledger.is_old(first_id_at(midnight(NOON)), NOON)
    assert ledger.is_old(first_id_at(midnight(NOON) - timedelta(milliseconds=1)), NOON)


def test_the_day_of_a_late_end_is_made_again_and_kept_for_a_week():
    old = database_now() - 400 * DAY
    assert ledger.missing_days([old])

    ledger.ensure_days_of([execution_id(uuid4(), old)])

    assert ledger.missing_days([old]) == []
    found = rows(
        "retention/days_before",
        {"parents": ["ended_executions"], "before": "99991231", "mark": ledger.LEAVING},
    )
    assert f"executions_{old:%Y%m%d}" not in {row[1] for row in found}


def tables(parent: str) -> set[str]:
    return {row[0] for row in rows("prune/existing_days", {"parent": ledger.parent_of(parent)})}


def test_missing_days_are_named_once_each():
    first = datetime(2031, 3, 1, 23, 59, tzinfo=UTC)

    missing = ledger.missing_days([first, first + timedelta(minutes=2), first, NOON])

    assert missing == [midnight(first), midnight(first + DAY)]


def test_a_day_gets_a_table_of_each_kind_once():
    day = datetime(2031, 3, 1, tzinfo=UTC)

    assert ledger.make_days([day]) == len(ledger.DAILY_TABLES)
    assert ledger.make_days([day]) == 0

    for parent in ledger.DAILY_TABLES:
        assert f"{parent}_20310301" in tables(parent)
    assert ledger.missing_days([day]) == []


def test_a_days_table_takes_the_whole_day_and_nothing_else(alpha: Tenant):
    day = datetime(2031, 3, 1, tzinfo=UTC)
    ledger.make_days([day])

    put(alpha, day, "SUCCEEDED")
    put(alpha, day + DAY - timedelta(milliseconds=1), "SUCCEEDED")

    with pytest.raises(Exception, match="no partition"):
        put(alpha, day + DAY, "SUCCEEDED")


def _depths(table: str) -> list[tuple[str, int]]:
    with connection.cursor() as cursor:
        cursor.execute(
            "SELECT attname, attstattarget FROM pg_attribute WHERE attrelid = %s::regclass"
            " AND attnum > 0 AND NOT attisdropped AND attstattarget IS NOT NULL ORDER BY attnum",
            [table],
        )
        return [(name, depth) for name, depth in cursor.fetchall()]


@pytest.mark.parametrize("table", ["executions", "attempts", "events"])
def test_a_new_day_keeps_the_statistics_that_its_whole_keeps(table: str):
    ledger.make_days([datetime(2031, 3, 1, tzinfo=UTC)])

    depths = _depths(f"{table}_20310301")

    assert depths
    assert depths == _depths(ledger.parent_of(table))
    with connection.cursor() as cursor:
        cursor.execute("SELECT reloptions FROM pg_class WHERE relname = %s", [f"{table}_20310301"])
        assert cursor.fetchall() == [(["autovacuum_analyze_scale_factor=0.5"],)]


def test_the_days_ahead_are_there():
    now = database_now()
    ledger.ensure_days_ahead(now)

    for ahead in range(-1, 4):
        assert f"executions_{now + ahead * DAY:%Y%m%d}" in tables("executions")
    assert ledger.ensure_days_ahead(now) == 0


def test_a_day_ends_where_the_next_one_begins():
    assert ledger.day_end_id("20261231") == first_id_at(datetime(2027, 1, 1, tzinfo=UTC))
