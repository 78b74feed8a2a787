"""Priorities 0 to 9 within their bands: claims for workers of ours, and of parked work."""

from __future__ import annotations

from datetime import timedelta

import pytest
from django.db import connection

from executions.dispatch import destination_capacity
from executions.models import Destination, Execution
from tenants.models import Tenant
from tests.executions.changes.changes import patch
from tests.factories import make_task, once
from tests.support.beats import beat
from tests.support.dispatching import Scheduler, Time, finish_all

pytestmark = pytest.mark.django_db

HOST = "slow.example.com"


@pytest.fixture(autouse=True)
def clock(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let every pass look at parked work."""
    monkeypatch.setattr(destination_capacity, "time", Time())


@pytest.fixture
def scheduler() -> Scheduler:
    return Scheduler()


def waiting(
    scheduler: Scheduler, tenant: Tenant, priority: int, *ages: float, parked: bool = False
) -> None:
    """Let an execution of the priority be due since each number of seconds, at one host."""
    with connection.cursor() as cursor:
        # The claim's clock, which stands still in a test's transaction.
        cursor.execute("SELECT now()")
        [(now,)] = cursor.fetchall()
    for age in ages:
        task = make_task(tenant, once(priority=priority, target={"url": f"https://{HOST}/"}))
        scheduler.prepare()
        due_at = now - timedelta(seconds=age)
        Execution.objects.filter(task_id=task.id).update(due_at=due_at, parked=parked)


def claimed(scheduler: Scheduler) -> list[int]:
    """Return the priorities of what one pass claims, while nothing else is with workers."""
    finish_all()
    before = len(scheduler.sent)
    scheduler.dispatcher.run_once()
    return sorted(entry["priority"] for entry in scheduler.sent[before:])


def test_the_lower_number_is_claimed_first_however_long_others_have_waited(alpha, scheduler):
    beat("w1", slots=4, hold=0)
    for priority in (3, 4, 5, 6):
        waiting(scheduler, alpha, priority, 60 * priority, 60 * priority)

    assert claimed(scheduler) == [3, 3, 4, 4]
    assert claimed(scheduler) == [5, 5, 6, 6]


def test_one_place_in_ten_goes_to_the_oldest_of_the_band(alpha, scheduler):
    beat("w1", slots=10, hold=0)
    waiting(scheduler, alpha, 3, *range(1, 31))
    waiting(scheduler, alpha, 6, 900)
    waiting(scheduler, alpha, 5, 600)
    waiting(scheduler, alpha, 4, 10)

    assert claimed(scheduler) == [3] * 9 + [6]
    assert claimed(scheduler) == [3] * 9 + [5]
    assert claimed(scheduler) == [3] * 10


def test_places_for_the_oldest_add_up_in_small_claims(alpha, scheduler):
    beat("w1", slots=1, hold=0)
    waiting(scheduler, alpha, 0, *range(1, 13))
    waiting(scheduler, alpha, 2, 900)

    got = [claimed(scheduler) for _ in range(11)]

    assert got == [*[[0]] * 9, [2], [0]]


def test_what_is_due_soon_takes_no_place_of_what_is_due_before_it(alpha, scheduler):
    beat("w1", slots=3, hold=0)
    waiting(scheduler, alpha, 3, -2.5, -2.6)
    waiting(scheduler, alpha, 6, 1, -0.2)
    waiting(scheduler, alpha, 5, -1)

    assert claimed(scheduler) == [5, 6, 6]
    assert claimed(scheduler) == [3, 3]


def test_everything_due_within_the_window_is_claimed_once_where_there_is_room(alpha, scheduler):
    beat("w1", slots=40, hold=0)
    for priority in range(10):
        waiting(scheduler, alpha, priority, 5, -1, -2.9)
    waiting(scheduler, alpha, 5, -3.1)

    assert claimed(scheduler) == sorted([*range(10)] * 3)
    assert Execution.objects.filter(status="PENDING").count() == 1


def test_parked_work_comes_back_by_priority_and_one_in_ten_by_age(alpha, scheduler):
    beat("w1", slots=50, hold=50)
    Destination.objects.create(tenant=alpha, host=HOST, max_in_flight=1)
    waiting(scheduler, alpha, 3, *range(1, 26), parked=True)
    waiting(scheduler, alpha, 6, 900, 800, parked=True)

    assert claimed(scheduler) == [3] * 7
    assert claimed(scheduler) == [3] * 6 + [6]
    assert claimed(scheduler) == [3] * 6 + [6]


def test_urgent_work_that_has_just_come_goes_before_parked_work(alpha, scheduler):
    beat("w1", slots=50, hold=50)
    Destination.objects.create(tenant=alpha, host=HOST, max_in_flight=1)
    waiting(scheduler, alpha, 5, *[60] * 8, parked=True)
    waiting(scheduler, alpha, 3, 1, 1)

    assert claimed(scheduler) == [3, 3, 5, 5, 5, 5, 5]


def test_parked_work_of_a_low_priority_is_claimed_beside_urgent_work_of_others(alpha, scheduler):
    beat("w1", slots=10, hold=0)
    waiting(scheduler, alpha, 6, 900, parked=True)
    Execution.objects.update(destination="parked.example.com")
    waiting(scheduler, alpha, 3, *range(1, 40))

    got = claimed(scheduler)

    assert got == [3] * 9 + [6]


def test_an_edit_of_the_priority_reaches_prepared_work(alpha, scheduler):
    beat("w1", slots=1, hold=0)
    waiting(scheduler, alpha, 5, 60)
    waiting(scheduler, alpha, 4, 30)
    late = Execution.objects.get(priority=5)

    patch(late.task, {"priority": 3})

    assert claimed(scheduler) == [3]
