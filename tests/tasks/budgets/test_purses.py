from __future__ import annotations

from datetime import timedelta
from decimal import Decimal

import pytest

from events.models import Event
from executions.loop.clocks import database_now
from shared.exceptions import Conflict
from tasks.budgets import purses
from tasks.models import TaskBudget
from tests.factories import daily, make_task

pytestmark = pytest.mark.django_db


def budgeted(tenant, *entries):
    return make_task(tenant, daily(budget=list(entries)))


def runs(limit, per="day"):
    return {"unit": "runs", "limit": limit, "per": per}


def used(task, unit="runs"):
    return TaskBudget.objects.get(task_id=task.id, unit=unit).used


def names(task):
    found = Event.objects.filter(subject_id=task.id, name__startswith="budget.")
    return list(found.order_by("id").values_list("name", flat=True))


def test_a_task_without_a_budget_has_no_purse(alpha):
    task = make_task(alpha)

    assert purses.lock([task.id]) == purses.read([task.id]) == {}
    assert purses.lock_free([task.id])[task.id].all == []
    purses.begin_run(task.id)


def test_runs_that_are_asked_for_count_and_are_refused_when_none_is_left(alpha):
    task = budgeted(alpha, runs(2))
    purses.begin_run(task.id)
    purses.begin_run(task.id)

    with pytest.raises(Conflict, match="2 of 2 runs in this day") as refused:
        purses.begin_run(task.id)

    assert refused.value.code == "budget_exceeded"
    assert used(task) == 2


def test_the_room_is_that_of_the_strictest(alpha):
    task = budgeted(alpha, runs(5), {"unit": "tokens", "limit": 10, "per": "month"})
    found = purses.lock([task.id])[task.id]
    assert found.room == 5

    found.spend({"tokens": Decimal(10)})

    assert found.room == 0
    assert [one.unit for one in found.used_up()] == ["tokens"]


def test_a_new_period_begins_with_nothing_used(alpha):
    task = budgeted(alpha, runs(1))
    purses.begin_run(task.id)
    over = database_now() - timedelta(seconds=1)
    TaskBudget.objects.update(resets_at=over, near=True, exceeded=True)

    purses.begin_run(task.id)

    row = TaskBudget.objects.get()
    assert (int(row.used), row.exceeded) == (1, False)
    assert row.resets_at > database_now()


def test_an_event_says_once_in_a_period_that_four_fifths_are_used(alpha):
    task = budgeted(alpha, runs(5))
    for _ in range(3):
        purses.begin_run(task.id)
    assert names(task) == []

    purses.begin_run(task.id)
    purses.begin_run(task.id)

    assert names(task) == ["budget.near"]
    [event] = Event.objects.filter(name="budget.near")
    data = event.data or {}
    assert (data["unit"], data["limit"], data["used"]) == ("runs", 5, 4)
    assert event.task_id == task.id


def test_the_first_skipped_instant_of_a_period_has_an_event(alpha):
    task = budgeted(alpha, runs(1))
    purses.begin_run(task.id)
    for _ in range(2):
        found = purses.lock([task.id])[task.id]
        found.has_skipped = True
        purses.store([found])

    assert names(task).count("budget.exceeded") == 1


def test_runs_given_back_never_leave_less_than_nothing(alpha):
    task = budgeted(alpha, runs(3))
    purses.begin_run(task.id)

    purses.give_back({task.id: 1})
    purses.give_back({task.id: 5})
    purses.give_back({})

    assert used(task) == 0


@pytest.mark.parametrize(("value", "shown"), [("3", 3), ("0.500000", 0.5)])
def test_amounts_are_shown_as_json_numbers(value, shown):
    found = purses.plain(Decimal(value))

    assert found == shown
    assert type(found) is type(shown)
