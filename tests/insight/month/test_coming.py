"""Coming runs by day."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from insight.month import coming as module
from insight.month.coming import Coming, coming_runs, end_of_limited
from tasks.schedules.interval import IntervalSpec
from tenants.models import Tenant
from tests.factories import daily, make_task, once
from tests.insight.month.march import BERLIN, DAYS, NOW, on
from tests.support.calendars import make_calendar, under
from tests.support.cursors import change_task
from tests.support.recounting import recounts

pytestmark = pytest.mark.django_db
_MOMENTS = 24 * 3600


def look(tenant: Tenant, named: str = "") -> Coming:
    return coming_runs(tenant.id, DAYS, NOW, lambda tasks: tasks, named)


def recurring(**schedule: Any) -> dict[str, Any]:
    return daily(schedule=schedule)


@recounts("month.coming", "month.tasks")
def test_runs_count_from_now_on_by_day_of_the_zone(alpha):
    # At 00:30 in Berlin, which is the day before in UTC.
    for _ in range(2):
        make_task(alpha, recurring(cron_expression="30 0 * * *", timezone="Europe/Berlin"))
    make_task(alpha, recurring(cron_expression="0 15 * * *", timezone="Europe/Berlin"))
    make_task(alpha, once(datetime(2027, 3, 25, 23, 30, tzinfo=UTC)))

    found = look(alpha)

    assert {day.day: count for day, count in found.counts.items()} == {
        20: 1,
        **dict.fromkeys(range(21, 32), 3),
        26: 4,
    }
    assert (found.tasks, found.counted, found.complete) == (4, 4, True)


def test_a_day_of_seconds_is_counted_without_walking(alpha, monkeypatch):
    monkeypatch.setattr(module, "MOST_WALKED", 0)
    make_task(alpha, recurring(every="PT1S"))

    found = look(alpha)

    assert found.counts[on(29)] == _MOMENTS
    # The clocks go forward.
    assert found.counts[on(28)] == _MOMENTS - 3600
    assert found.counts[on(20)] == 10 * 3600


def test_several_seconds_of_a_minute_all_count(alpha, monkeypatch):
    make_task(alpha, recurring(cron_expression="0,20,40 30 8 * * *"))

    assert look(alpha).counts[on(22)] == 3


def test_what_a_calendar_excludes_does_not_count(alpha):
    make_calendar(alpha)
    make_task(alpha, under("Holidays"))

    counts = look(alpha).counts

    assert (on(26) in counts, counts[on(25)], counts[on(27)]) == (False, 1, 1)


def test_it_ends_with_max_occurrences(alpha):
    first = "2027-03-22T08:00:00Z"
    limited = recurring(cron_expression="0 8 * * *", start_at=first, max_occurrences=10)
    change_task(make_task(alpha, limited).pk, occurrence_count=8)
    spent = recurring(every="PT1H", start_at=first, max_occurrences=10)
    change_task(make_task(alpha, spent).pk, occurrence_count=10)

    assert look(alpha).counts == {on(22): 1, on(23): 1}


def test_many_occurrences_of_a_fixed_rate_are_counted(alpha, monkeypatch):
    monkeypatch.setattr(module, "MOST_WALKED", 0)
    start = "2027-03-22T00:00:00Z"
    make_task(alpha, recurring(every="PT1S", start_at=start, max_occurrences=10**5))

    assert sum(look(alpha).counts.values()) == 10**5


def test_what_takes_too_many_steps_is_left_out_and_told(alpha, monkeypatch):
    monkeypatch.setattr(module, "MOST_WALKED", 20)
    make_task(alpha, recurring(cron_expression="0 0 * * *"))
    make_task(alpha, recurring(cron_expression="* * * * *"))

    found = look(alpha)

    assert set(found.counts.values()) == {1}
    assert (found.tasks, found.counted, found.complete) == (2, 1, False)


def test_more_tasks_than_are_read_are_told(alpha, monkeypatch):
    monkeypatch.setattr(module, "MOST_TASKS", 1)
    for hour in (1, 2):
        make_task(alpha, recurring(cron_expression=f"0 {hour} * * *"))

    found = look(alpha)

    assert (found.counts[on(22)], found.tasks, found.complete) == (1, 1, False)


def test_an_unreadable_schedule_hides_no_other_task(alpha):
    make_task(alpha, daily())
    broken = make_task(alpha, recurring(cron_expression="0 1 * * *"))
    change_task(broken.pk, schedule={**broken.schedule, "cron_expression": "oops"})

    found = look(alpha)

    assert found.counts[on(22)] == 1
    assert not found.complete


def test_a_month_that_is_over_has_none(alpha):
    later = DAYS[-1].end

    assert coming_runs(alpha.id, DAYS, later, lambda tasks: tasks, "").counts == {}


def test_a_count_is_kept_for_each_filter(alpha):
    make_task(alpha, daily())
    first = look(alpha)
    make_task(alpha, daily())

    assert look(alpha) == first
    assert look(alpha, "label:team").counts[on(22)] == 2


def test_the_end_of_few_occurrences_is_found_or_unknown():
    start = datetime(2027, 3, 1, tzinfo=UTC)
    hourly = IntervalSpec(timedelta(hours=1), BERLIN, start=start)
    end = start + timedelta(days=1)

    assert end_of_limited(hourly, start, 0, end, 5) == start
    assert end_of_limited(hourly, start, 100, end, 5) == end
    last = end_of_limited(hourly, start, 3, end, 5)
    assert last is not None
    assert last - start == timedelta(hours=2, microseconds=1)
