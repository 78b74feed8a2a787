from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Any

import pytest
from django.db import connection, transaction

from executions import transitions
from executions.housekeeping import stage as housekeeping
from executions.ledger import days, retention
from executions.models import Execution
from shared.conf import conf
from shared.ids import execution_id
from tenants.models import Tenant
from tests.executions.old_days import (
    A_DAY,
    ago,
    days_of,
    forget,
    half_detach,
    make_days,
    mark,
    name_of,
    put,
    tables,
)
from tests.factories import make_execution, release
from tests.support.waiting import until

_WAITING = "SELECT count(*) FROM pg_locks WHERE NOT granted"
_HALF_DETACHED = "SELECT count(*) FROM pg_inherits WHERE inhdetachpending"


@pytest.fixture(autouse=True)
def _ten_days_kept(ground: None, settings: Any) -> Iterator[None]:
    settings.PUNCTUAL = replace(conf(), retention_days=10)
    forget()
    yield
    forget()


def number(query: str) -> int:
    with connection.cursor() as cursor:
        cursor.execute(query)
        return int(cursor.fetchone()[0])


def read_everything() -> None:
    """Take the locks that a report over the whole ledger holds until its transaction ends."""
    list(Execution.objects.order_by("id")[:1])


def test_whoever_dispatches_does_not_wait_behind_a_day_that_leaves(
    alpha: Tenant,
    beside: Callable[[Callable[[], Any]], Any],
    monkeypatch: pytest.MonkeyPatch,
):
    put(alpha, 20)
    due = make_execution(alpha)
    monkeypatch.setattr(retention, "_TRIES", 2)
    monkeypatch.setattr(retention, "_PAUSE_SECONDS", 0.0)

    with transaction.atomic():
        read_everything()
        # The reader outlasts its patience.
        assert beside(housekeeping.drop_old_days).join() == 0
        # Nobody queues for the tables; whoever comes now gets them at once or fails.
        assert beside(lambda: number(_WAITING)).join() == 0
        claimed = beside(_release_without_waiting).join()
    assert name_of(20) in days_of()
    monkeypatch.undo()

    assert [row.id for row in claimed] == [due.id]
    assert housekeeping.drop_old_days() == A_DAY
    assert name_of(20) not in days_of()


def _release_without_waiting() -> Any:
    with transaction.atomic():
        with connection.cursor() as cursor:
            cursor.execute("SET LOCAL lock_timeout = '1ms'")
        return release()


def test_a_detachment_that_was_cut_off_is_ended_by_the_next_run(alpha: Tenant):
    put(alpha, 20)
    # As a version before has left it, which detached with a session of the owner's.
    mark(f"executions_{name_of(20)}", days.LEAVING)
    half_detach("executions", 20)
    assert name_of(20) not in days_of("executions")

    assert housekeeping.drop_old_days() == A_DAY

    assert number(_HALF_DETACHED) == 0
    assert not [table for table in tables() if name_of(20) in table]


def test_a_day_that_is_detached_by_half_can_be_made_again(alpha: Tenant):
    before = put(alpha, 20)
    mark(f"executions_{name_of(20)}", days.LEAVING)
    half_detach("executions", 20)
    assert days.missing_days([ago(20)]) == [ago(20).replace(hour=0)]

    again = put(alpha, 20, "PENDING", held=True)

    assert Execution.objects.get(id=again.id).status == "PENDING"
    # The table on its way out goes, the day that came again stays.
    assert housekeeping.drop_old_days() == 1
    assert Execution.objects.filter(id__in=[before.id, again.id]).count() == 1
    assert name_of(20) in days_of("executions")


def test_work_that_is_written_while_its_day_leaves_ends_in_its_day(
    alpha: Tenant, beside: Callable[[Callable[[], Any]], Any]
):
    make_days(20)
    made = make_execution(alpha)
    late = execution_id(made.task_id, ago(20))

    with transaction.atomic(), connection.cursor() as cursor:
        # Out of sight for the retention, which finds nothing open that old.
        cursor.execute("UPDATE open_executions SET id = %s WHERE id = %s", [late, made.id])
        assert beside(housekeeping.drop_old_days).join() == A_DAY
    with transaction.atomic():
        assert transitions.cancel([(late, None)], "cancelled") == [late]

    assert Execution.objects.get(id=late).status == "CANCELLED"
    assert name_of(20) in days_of("executions")


def test_an_end_that_is_written_while_its_day_leaves_is_waited_for(
    alpha: Tenant,
    beside: Callable[[Callable[[], Any]], Any],
    monkeypatch: pytest.MonkeyPatch,
):
    make_days(20)
    monkeypatch.setattr(retention, "_TRIES", 10_000)
    monkeypatch.setattr(retention, "_PAUSE_SECONDS", 0.0)

    with transaction.atomic():
        late = put(alpha, 20)
        dropping = beside(housekeeping.drop_old_days)
        until(lambda: beside(lambda: number(_WAITING)).join())
    assert dropping.join() == A_DAY

    assert not Execution.objects.filter(id=late.id).exists()
