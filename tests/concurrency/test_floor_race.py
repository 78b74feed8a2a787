from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from django.db import transaction

from executions.engine import housekeeping, ledger
from executions.engine.clocks import database_now
from executions.models import Execution, LedgerFloor
from shared.ids import execution_id, first_id_at
from tenants.models import Tenant
from tests.factories import make_execution

NOON = datetime(2027, 5, 20, 12, tzinfo=UTC)
DAY = timedelta(days=1)


@pytest.fixture(autouse=True)
def _days(ground: None) -> None:
    ledger.make_days([NOON + offset * DAY for offset in range(-6, 2)])
    LedgerFloor.objects.update(floor_id=first_id_at(NOON - 6 * DAY))


def move_to(execution: Execution, at: datetime) -> None:
    Execution.objects.filter(id=execution.id).update(id=execution_id(execution.task_id, at))


def test_the_floor_is_not_raised_past_a_row_that_is_being_written(
    alpha: Tenant, beside: Callable[[Callable[[], Any]], Any]
):
    execution = make_execution(alpha)
    LedgerFloor.objects.update(floor_id=first_id_at(NOON - DAY))
    old = NOON - 4 * DAY

    with transaction.atomic():
        # As materialize does: first the floor, then the row, which nobody else can see yet.
        ledger.lower_floor(execution_id(execution.task_id, old))
        move_to(execution, old)
        raising = beside(lambda: ledger.raise_floor(NOON))
        assert raising.waits_for_a_lock()

    assert raising.join() <= execution_id(execution.task_id, old)
    assert ledger.floor_id() <= execution_id(execution.task_id, old)


def test_whoever_writes_an_old_row_waits_for_the_floor_to_be_raised(
    alpha: Tenant, beside: Callable[[Callable[[], Any]], Any]
):
    execution = make_execution(alpha)
    old = NOON - 4 * DAY

    def write() -> None:
        with transaction.atomic():
            ledger.lower_floor(execution_id(execution.task_id, old))
            move_to(execution, old)

    with transaction.atomic():
        ledger.raise_floor(NOON)
        writing = beside(write)
        assert writing.waits_for_a_lock()
    writing.join()

    assert ledger.floor_id() <= execution_id(execution.task_id, old)


def test_a_day_is_not_dropped_while_an_old_row_is_written_into_it(
    alpha: Tenant, beside: Callable[[Callable[[], Any]], Any]
):
    execution = make_execution(alpha)
    old = database_now() - 200 * DAY
    ledger.make_days([old])
    LedgerFloor.objects.update(floor_id=first_id_at(database_now() - DAY))

    with transaction.atomic():
        ledger.lower_floor(execution_id(execution.task_id, old))
        move_to(execution, old)
        dropping = beside(housekeeping.drop_old_days)
        assert dropping.waits_for_a_lock()

    dropping.join()

    # It waited in vain or saw the lowered floor; the row is there either way.
    assert Execution.objects.filter(id=execution_id(execution.task_id, old)).exists()
