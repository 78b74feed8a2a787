from __future__ import annotations

from datetime import UTC, datetime, timedelta
from uuid import uuid4

import pytest

from executions.engine import ledger
from executions.engine.clocks import database_now
from executions.models import Execution, LedgerFloor
from shared.ids import execution_id, first_id_at, moment_of
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


def set_floor(moment: datetime) -> None:
    LedgerFloor.objects.update(floor_id=first_id_at(moment))


def midnight(moment: datetime) -> datetime:
    return moment.replace(hour=0, minute=0, second=0, microsecond=0)


def put(tenant: Tenant, at: datetime, status: str = "PENDING", held: bool = False) -> Execution:
    """Move an execution to another day of the ledger."""
    made = make_execution(tenant, status)
    Execution.objects.filter(id=made.id).update(
        id=execution_id(made.task_id, at), scheduled_for=at, held=held
    )
    return Execution.objects.get(task_id=made.task_id)


def test_the_floor_rises_to_yesterday_when_nothing_is_unfinished():
    set_floor(NOON - 10 * DAY)

    raised = ledger.raise_floor(NOON)

    assert moment_of(raised) == midnight(NOON - DAY)
    assert ledger.floor_id() == raised


def test_the_floor_waits_an_hour_after_midnight():
    set_floor(NOON - 10 * DAY)
    just_after_midnight = midnight(NOON) + timedelta(minutes=30)

    # A transaction of before midnight may still write into what was yesterday then.
    assert moment_of(ledger.raise_floor(just_after_midnight)) == midnight(NOON - 2 * DAY)
    assert not ledger.needs_lower_floor(
        first_id_at(midnight(NOON - DAY)), just_after_midnight - timedelta(hours=1)
    )


@pytest.mark.parametrize("status", ["PENDING", "QUEUED", "RUNNING", "RETRYING"])
def test_the_floor_never_passes_unfinished_work(alpha: Tenant, status: str):
    execution = put(alpha, NOON - 5 * DAY, status)
    set_floor(NOON - 10 * DAY)

    raised = ledger.raise_floor(NOON)

    assert raised <= execution.id
    assert moment_of(raised) == midnight(NOON - 5 * DAY)


def test_the_floor_does_not_pass_held_work_either(alpha: Tenant):
    execution = put(alpha, NOON - 5 * DAY, "RETRYING", held=True)
    set_floor(NOON - 10 * DAY)

    assert ledger.raise_floor(NOON) <= execution.id


def test_finished_work_does_not_hold_the_floor(alpha: Tenant):
    put(alpha, NOON - 5 * DAY, "SUCCEEDED")
    set_floor(NOON - 10 * DAY)

    assert moment_of(ledger.raise_floor(NOON)) == midnight(NOON - DAY)


def test_the_floor_does_not_sink_by_being_raised():
    set_floor(NOON + DAY)

    assert ledger.raise_floor(NOON) == first_id_at(NOON + DAY)


def test_an_older_instant_lowers_the_floor_to_the_start_of_its_day():
    set_floor(NOON)

    ledger.lower_floor(first_id_at(NOON - 3 * DAY))

    assert ledger.floor_id() == first_id_at(midnight(NOON - 3 * DAY))


def test_a_newer_instant_does_not_move_the_floor():
    set_floor(NOON)

    ledger.lower_floor(first_id_at(NOON + DAY))

    assert ledger.floor_id() == first_id_at(NOON)


def test_only_instants_before_today_need_the_floor_lowered():
    assert not ledger.needs_lower_floor(first_id_at(midnight(NOON)), NOON)
    assert ledger.needs_lower_floor(first_id_at(midnight(NOON) - timedelta(milliseconds=1)), NOON)


def test_the_upper_bound_lies_above_everything_that_may_be_due():
    assert ledger.high_id(NOON) > execution_id(uuid4(), NOON)
    assert ledger.high_id(NOON) > first_id_at(NOON + timedelta(hours=23))


def tables(parent: str) -> set[str]:
    return {row[0] for row in rows("prune/existing_days", {"parent": parent})}


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

    put(alpha, day)
    put(alpha, day + DAY - timedelta(milliseconds=1))

    with pytest.raises(Exception, match="no partition"):
        put(alpha, day + DAY)


def test_the_days_ahead_are_there():
    now = database_now()
    ledger.ensure_days_ahead(now)

    for ahead in range(-1, 4):
        assert f"executions_{now + ahead * DAY:%Y%m%d}" in tables("executions")
    assert ledger.ensure_days_ahead(now) == 0


def test_a_day_ends_where_the_next_one_begins():
    assert ledger.day_end_id("20261231") == first_id_at(datetime(2027, 1, 1, tzinfo=UTC))
