"""Instants of a pass are written once, whichever part of the ledger has them already."""

from __future__ import annotations

from datetime import datetime, timedelta

import pytest

from executions.choices import Status
from executions.ledger import totals
from executions.loop.clocks import database_now
from executions.materialize import instants
from executions.materialize.planning import Row
from executions.models import ObjectiveCount
from executions.ownership.partitions import Partitions
from shared.ids import execution_id
from tasks.models import Task
from tenants.models import Tenant
from tests.factories import executions_of, finish, make_task, once, release

pytestmark = pytest.mark.django_db


@pytest.fixture
def scheduler() -> Partitions:
    found = Partitions()
    found.run_once()
    return found


@pytest.fixture
def task(alpha: Tenant) -> Task:
    return make_task(alpha, once(database_now() + timedelta(hours=1)))


def row(task: Task, at: datetime, status: str = Status.PENDING) -> Row:
    return Row(task.id, at, at, status, "" if status == Status.PENDING else "misfire_skipped")


def insert(scheduler: Partitions, *rows: Row) -> int:
    return instants.insert(list(rows), scheduler.parameters(), database_now(), set())


def test_what_runs_is_open_and_what_does_not_has_ended(task: Task, scheduler: Partitions):
    now = database_now()

    made = insert(scheduler, row(task, now), row(task, now - timedelta(seconds=1), Status.SKIPPED))

    assert made == 2
    assert [one.status for one in executions_of(task)] == ["SKIPPED", "PENDING"]


@pytest.mark.parametrize("status", [Status.PENDING, Status.SKIPPED])
@pytest.mark.parametrize("again", [Status.PENDING, Status.SKIPPED])
def test_an_instant_that_is_there_stays_as_it_is(
    task: Task, scheduler: Partitions, status: str, again: str
):
    now = database_now()
    insert(scheduler, row(task, now, status))

    if (status, again) == (Status.SKIPPED, Status.PENDING):
        # Its row is in the way only for the next statement: the pass is undone.
        with pytest.raises(instants.AlreadyEnded) as met:
            insert(scheduler, row(task, now, again))
        assert met.value.ids == {execution_id(task.id, now)}
    else:
        assert insert(scheduler, row(task, now, again)) == 0
        assert [one.status for one in executions_of(task)] == [status]


def test_those_that_are_known_to_have_ended_are_left_out(task: Task, scheduler: Partitions):
    now = database_now()
    insert(scheduler, row(task, now))
    (claimed,) = release()
    finish(claimed)

    made = instants.insert(
        [row(task, now), row(task, now + timedelta(seconds=1))],
        scheduler.parameters(),
        database_now(),
        {claimed.id},
    )

    assert made == 1
    assert [one.status for one in executions_of(task)] == ["SUCCEEDED", "PENDING"]


@pytest.mark.parametrize("status", [Status.PENDING, Status.SKIPPED])
def test_a_stale_epoch_writes_neither(task: Task, scheduler: Partitions, status: str):
    stale = scheduler.parameters({number: epoch - 1 for number, epoch in scheduler.held.items()})

    made = instants.insert([row(task, database_now(), status)], stale, database_now(), set())

    assert made == 0
    assert executions_of(task) == []


def test_instants_of_days_that_are_missing_name_the_days(task: Task, scheduler: Partitions):
    long_ago = database_now() - timedelta(days=700)

    with pytest.raises(instants.DaysMissing) as found:
        insert(scheduler, row(task, long_ago, Status.SKIPPED))

    assert [day.date() for day in found.value.days] == [long_ago.date()]


def test_instants_are_counted_as_scheduled_or_missed_once(task: Task, scheduler: Partitions):
    now = database_now()
    at = [now - timedelta(seconds=second) for second in range(6)]
    span = Row(task.id, at[5], at[5], Status.SKIPPED, "misfire_skipped", at[4], 7)
    late = Row(task.id, at[2], at[2], Status.PENDING, "misfire_replayed")
    excluded = Row(task.id, at[3], at[3], Status.SKIPPED, "calendar_excluded")
    found = (row(task, at[0]), row(task, at[1], Status.SKIPPED), late, excluded, span)

    insert(scheduler, *found)
    insert(scheduler, *found)

    counted = totals.read()
    assert counted["scheduled/schedule"] == 2
    assert {name: value for name, value in counted.items() if name.startswith("missed/")} == {
        "missed/skipped": 1 + 7,
        "missed/replayed": 1,
    }
    missed = ObjectiveCount.objects.get()
    assert (missed.objective, missed.cause, missed.band) == ("success", "misfire_skipped", 1)
    assert (missed.counted, missed.bad, missed.tenant_id) == (8, 8, task.tenant_id)
    assert missed.execution_id in {one.id for one in executions_of(task)}
