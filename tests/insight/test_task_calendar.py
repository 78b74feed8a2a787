from __future__ import annotations

from datetime import UTC, date, datetime, timedelta

import pytest

from executions.changes import changing
from insight.task_calendar import MOST_A_DAY, TaskDay, calendar_of
from tasks.models import Task
from tasks.transitions import Pause
from tenants.models import Tenant
from tests.factories import ACTOR, daily, make_task, reload
from tests.support.calendars import make_calendar, under
from tests.support.ended_rows import ended
from tests.support.recounting import recounts

pytestmark = pytest.mark.django_db

#: A Saturday in Berlin, 14:00; on 03-28 the clocks go forward.
NOW = datetime(2027, 3, 20, 13, tzinfo=UTC)


def _aged(task: Task, days: int = 10) -> Task:
    """Return the task as if it had been made some days before now."""
    Task.objects.filter(pk=task.pk).update(created_at=NOW - timedelta(days=days))
    return reload(task)


def _days(task: Task) -> dict[date, TaskDay]:
    return {one.day: one for one in calendar_of(task, NOW).days}


@recounts("task.day", "task.day_coming")
def test_days_have_what_ended_on_them_and_what_is_to_come(alpha: Tenant):
    task = _aged(make_task(alpha, daily()))
    for hours, status in ((48, "SUCCEEDED"), (47, "FAILED"), (46, "CANCELLED"), (45, "SKIPPED")):
        ended(task, NOW - timedelta(hours=hours), status)
    ended(task, NOW - timedelta(hours=1))

    found = calendar_of(task, NOW)

    days = {one.day: one for one in found.days}
    assert (found.zone, found.today) == ("Europe/Berlin", date(2027, 3, 20))
    assert (min(days), max(days)) == (date(2027, 3, 10), date(2027, 4, 19))
    busy = days[date(2027, 3, 18)]
    assert (busy.succeeded, busy.failed, busy.cancelled, busy.skipped) == (1, 1, 1, 1)
    assert (days[found.today].succeeded, days[found.today].coming) == (1, 0)
    assert {one.coming for day, one in days.items() if day > found.today} == {1}
    assert not any(one.at_least or one.paused or one.excluded for one in found.days)


def test_the_day_of_a_change_of_the_clocks_is_marked_and_is_an_hour_shorter(alpha: Tenant):
    days = _days(_aged(make_task(alpha, daily())))

    marked = [day for day, one in days.items() if one.change]
    assert marked == [date(2027, 3, 28)]
    one = days[marked[0]]
    assert one.end.astimezone(UTC) - one.start.astimezone(UTC) == timedelta(hours=23)


def test_a_pause_marks_the_days_that_it_leaves_out(alpha: Tenant):
    task = make_task(alpha, daily())
    changing.pause_task(alpha.id, task.id, Pause(NOW + timedelta(days=2)), actor=ACTOR)
    task = _aged(task)
    ended(task, NOW - timedelta(days=5), "SKIPPED", reason="paused", span_count=2,
          span_last=NOW - timedelta(days=4))  # fmt: skip

    days = _days(task)

    paused = [day.day for day, one in days.items() if one.paused]
    assert paused == [15, 16, 21, 22]
    assert [days[date(2027, 3, day)].coming for day in (21, 22, 23)] == [0, 0, 1]


def test_a_day_that_a_calendar_excludes_is_marked(alpha: Tenant):
    make_calendar(alpha)
    days = _days(_aged(make_task(alpha, under("Holidays"))))

    excluded = {day: one.coming for day, one in days.items() if one.excluded}
    assert excluded == {date(2027, 3, 26): 0, date(2027, 3, 29): 0}


def test_of_a_full_day_a_bounded_number_is_counted(alpha: Tenant):
    task = _aged(make_task(alpha, daily(schedule={"every": "PT1S"})), days=1)

    days = _days(task)

    assert {one.coming for day, one in days.items() if day.month == 4} == {MOST_A_DAY}
    assert all(one.at_least for day, one in days.items() if day.month == 4)


def test_no_more_is_to_come_than_max_occurrences_allows(alpha: Tenant):
    body = daily(schedule={"cron_expression": "0 8 * * *", "max_occurrences": 3})
    days = _days(_aged(make_task(alpha, body)))

    assert sum(one.coming or 0 for one in days.values()) == 3


def test_what_a_full_day_leaves_of_max_occurrences_is_not_known(alpha: Tenant):
    body = daily(schedule={"every": "PT1S", "max_occurrences": 10**6})
    found = calendar_of(_aged(make_task(alpha, body), days=1), NOW)

    assert [one.coming for one in found.days if one.day > found.today] == [None] * 30


def test_a_cancelled_task_has_nothing_to_come(alpha: Tenant):
    task = make_task(alpha, daily())
    changing.cancel_task(alpha.id, task.id, actor=ACTOR)

    assert not any(one.coming for one in calendar_of(_aged(task), NOW).days)
