from __future__ import annotations

from collections.abc import Callable
from datetime import timedelta
from typing import Any

import pytest
from django.db import transaction

from executions.changes import changing
from executions.changes.calendar_changes import delete_calendar, update_calendar
from executions.loop.clocks import database_now
from executions.materialize import stage as materialize
from executions.ownership.partitions import Partitions
from shared.exceptions import Conflict, InvalidInput
from tasks.calendar_content import read_content
from tasks.models import Calendar
from tasks.transitions import Pause
from tenants.models import Tenant
from tests.concurrency.pair_barrier import run_both
from tests.factories import ACTOR, every_second, executions_of, make_task, prepare
from tests.support.calendars import make_calendar, under

Beside = Callable[[Callable[[], Any]], Any]
EVERY_SECOND = {"cron_expression": "* * * * * *", "calendars": ["Holidays"]}


@pytest.fixture
def calendar(alpha: Tenant) -> Calendar:
    return make_calendar(alpha)


def delete(calendar: Calendar) -> None:
    delete_calendar(calendar.tenant_id, calendar.id, actor=ACTOR)


def exclude_today(calendar: Calendar) -> None:
    now = database_now()
    dates = [f"{now + timedelta(days=days):%Y-%m-%d}" for days in (-1, 0, 1)]
    update_calendar(
        calendar.tenant_id,
        calendar.id,
        lambda content: read_content({"dates": dates}, content),
        actor=ACTOR,
    )


def test_a_calendar_is_not_deleted_under_a_task_that_is_being_made(
    alpha: Tenant, calendar: Calendar, beside: Beside
):
    with transaction.atomic():
        make_task(alpha, under("Holidays"))
        deleting = beside(lambda: delete(calendar))
        assert deleting.waits_for_a_lock()

    with pytest.raises(Conflict):
        deleting.join()


def test_a_task_is_not_made_with_a_calendar_that_is_being_deleted(
    alpha: Tenant, calendar: Calendar, beside: Beside
):
    with transaction.atomic():
        delete(calendar)
        making = beside(lambda: make_task(alpha, under("Holidays")))
        assert making.waits_for_a_lock()

    with pytest.raises(InvalidInput) as refused:
        making.join()
    assert refused.value.errors[0].code == "calendar_unknown"


@pytest.mark.parametrize("after", range(1, 9))
@pytest.mark.parametrize("change", ["pause_task", "cancel_task", "delete_task"])
def test_a_calendar_that_changes_waits_for_no_change_of_a_task_that_waits_for_it(
    alpha: Tenant, calendar: Calendar, change: str, after: int
):
    task = make_task(alpha, every_second(schedule=EVERY_SECOND))
    prepare()
    of_one = getattr(changing, change)
    more = {"pause": Pause()} if change == "pause_task" else {}

    ahead, behind, _ = run_both(
        lambda: exclude_today(calendar),
        lambda: of_one(alpha.id, task.id, actor=ACTOR, **more),
        after=after,
    )

    assert ahead.stopped
    assert ahead.did
    assert behind.did


def test_what_is_being_prepared_while_a_calendar_changes_is_taken_back(
    alpha: Tenant, calendar: Calendar, beside: Beside
):
    task = make_task(alpha, every_second(schedule=EVERY_SECOND))
    partitions = Partitions()
    partitions.run_once()
    with transaction.atomic():
        assert materialize.run_once(partitions).done
        excluding = beside(lambda: exclude_today(calendar))
        assert excluding.waits_for_a_lock()
    partitions.release_all()

    excluding.join()
    now = database_now()
    prepare()

    ahead = [row for row in executions_of(task) if row.scheduled_for > now]
    assert ahead
    assert {(row.status, row.reason) for row in ahead} == {("SKIPPED", "calendar_excluded")}
