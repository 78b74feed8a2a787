from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

import pytest

from executions.choices import Trigger
from executions.loop.clocks import database_now
from insight.explain.evidence import Situation
from insight.explain.schedule_checks import calendar, due, in_schedule
from tasks.models import Calendar, Task
from tenants.models import Tenant
from tests.factories import daily, make_task, reload
from tests.insight.explain.cast import MINUTE, SECOND, minutely, row, this_minute

pytestmark = pytest.mark.django_db


def at(task: Task, moment: datetime) -> Situation:
    return Situation(reload(task), moment, database_now(), None)


def calendared(tenant: Tenant, **schedule: Any) -> Task:
    Calendar.objects.create(tenant=tenant, name="days", dates=[{"date": "2031-12-26", "name": ""}])
    task = make_task(tenant, daily(schedule={"cron_expression": "0 8 * * *"}))
    changed = {**task.schedule, "calendars": ["days"], **schedule}
    Task.objects.filter(pk=task.pk).update(schedule=changed)
    return task


@pytest.mark.parametrize("trigger", [one for one in Trigger if one != Trigger.SCHEDULE])
def test_what_was_made_beside_the_schedule_is_not_judged_by_it(alpha: Tenant, trigger: Trigger):
    task = minutely(alpha)
    made = row(task, this_minute(-MINUTE), trigger=trigger)
    found = Situation(task, made.scheduled_for, database_now(), made)

    assert in_schedule(found).ok is None
    assert calendar(found).ok is None


def test_a_local_time_that_is_jumped_over_is_told(alpha: Tenant):
    body = daily(schedule={"cron_expression": "30 2 * * *", "timezone": "Europe/Paris"})

    check = in_schedule(at(make_task(alpha, body), datetime(2031, 3, 30, 1, tzinfo=UTC)))

    assert check.ok is True
    assert "the clocks jump over (dst_gap next_valid)" in check.evidence


def test_a_local_time_that_comes_twice_is_told(alpha: Tenant):
    body = daily(schedule={"cron_expression": "30 2 * * *", "timezone": "Europe/Paris"})

    check = in_schedule(at(make_task(alpha, body), datetime(2031, 10, 26, 0, 30, tzinfo=UTC)))

    assert "occurs twice that day (dst_overlap first)" in check.evidence


def test_an_instant_that_no_calendar_excludes_passes(alpha: Tenant):
    check = calendar(at(calendared(alpha), datetime(2031, 12, 23, 8, tzinfo=UTC)))

    assert check.ok is True
    assert "days" in check.evidence


def test_an_instant_that_was_moved_back_says_to_when(alpha: Tenant):
    task = calendared(alpha, calendar_policy="previous_business_day")

    check = calendar(at(task, datetime(2031, 12, 26, 8, tzinfo=UTC)))

    assert check.ok is False
    assert "It was moved to 2031-12-25 08:00:00 UTC." in check.evidence


def test_an_instant_that_a_calendar_moved_here_says_so(alpha: Tenant):
    task = calendared(alpha, calendar_policy="previous_business_day", cron_expression="0 8 26 12 *")

    check = calendar(at(task, datetime(2031, 12, 25, 8, tzinfo=UTC)))

    assert check.ok is True
    assert "moved it here" in check.evidence


def test_a_run_that_waited_its_turn_names_its_own_time(alpha: Tenant):
    task = minutely(alpha)
    made = row(task, this_minute(-9 * MINUTE), due_at=database_now() - SECOND)

    check = due(Situation(task, made.scheduled_for, database_now(), made))

    assert check.ok is True
    assert "Its own time was" in check.evidence


@pytest.mark.parametrize(("late", "words"), [(0, "on time"), (5, "5 s late")])
def test_a_started_run_says_whether_it_was_on_time(alpha: Tenant, late: int, words: str):
    task, moment = minutely(alpha), this_minute(-MINUTE)
    made = row(task, moment, "RUNNING", started_at=moment + late * SECOND)

    assert due(Situation(task, moment, database_now(), made)).evidence.endswith(f"{words}.")
