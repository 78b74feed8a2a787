"""Coming runs one by one."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

import pytest

from insight.month import runs as module
from insight.month.runs import Runs, runs_of_days
from tests.factories import daily, make_task, once
from tests.insight.month.march import DAYS, NOW, on
from tests.support.calendars import make_calendar, under
from tests.support.cursors import change_task

pytestmark = pytest.mark.django_db


def look(tenant: Any, *days: int, most: int = 100) -> Runs:
    wanted = [DAYS[day - 1] for day in days]
    return runs_of_days(tenant.id, wanted, NOW, lambda tasks: tasks, most)


def lines(found: Runs) -> list[tuple[int, str, str]]:
    return [(run.day.day, f"{run.at.astimezone(UTC):%H:%M}", run.task_name) for run in found.runs]


def recurring(name: str, **schedule: Any) -> dict[str, Any]:
    return daily(name=name, schedule=schedule)


def test_runs_are_listed_by_day_and_time(alpha, beta):
    make_task(alpha, recurring("B", cron_expression="0 10,20 * * *"))
    make_task(alpha, once(datetime(2027, 3, 21, 11, tzinfo=UTC), name="A"))
    make_task(beta, daily())

    found = look(alpha, 20, 21)

    assert lines(found) == [(20, "20:00", "B"), (21, "10:00", "B"), (21, "11:00", "A"),
                            (21, "20:00", "B")]  # fmt: skip
    assert found.complete


def test_a_task_that_runs_often_is_one_line_of_a_day(alpha):
    make_task(alpha, recurring("Often", every="PT1M", start_at="2027-01-01T00:00:00Z"))
    make_task(alpha, recurring("Hourly", cron_expression="30 * * * *"))

    found = look(alpha, 21)

    often = [run for run in found.runs if run.more]
    assert [(run.task_name, run.at) for run in often] == [("Often", DAYS[20].start)]
    assert len(found.runs) == 25


def test_what_calendars_exclude_and_max_occurrences_ends_is_not_listed(alpha):
    make_calendar(alpha)
    make_task(alpha, under("Holidays"))
    start = "2027-03-26T05:00:00Z"
    limited = recurring("Limited", every="PT1H", start_at=start, max_occurrences=3)
    change_task(make_task(alpha, limited).pk, occurrence_count=1)
    make_task(alpha, recurring("Far", cron_expression="* * * * *", max_occurrences=10**6))

    found = look(alpha, 26)

    assert lines(found) == [(26, "05:00", "Limited"), (26, "06:00", "Limited")]
    # Where the last one ends cannot be told in few steps.
    assert not found.complete


def test_more_lines_than_asked_for_are_cut_and_told(alpha):
    make_task(alpha, recurring("A", cron_expression="0 * * * *"))

    found = look(alpha, 21, 22, most=30)

    assert (len(found.runs), found.complete, found.runs[-1].day) == (30, False, on(22))


def test_more_tasks_than_are_read_are_told(alpha, monkeypatch):
    monkeypatch.setattr(module, "MOST_TASKS", 1)
    for _ in range(2):
        make_task(alpha, daily())

    found = look(alpha, 21)

    assert (len(found.runs), found.complete) == (1, False)


def test_an_unreadable_schedule_hides_no_other_task(alpha):
    make_task(alpha, daily())
    broken = make_task(alpha, recurring("Broken", cron_expression="0 1 * * *"))
    change_task(broken.pk, schedule={**broken.schedule, "cron_expression": "oops"})

    found = look(alpha, 21)

    assert (len(found.runs), found.complete) == (1, False)
