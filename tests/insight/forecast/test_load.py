from __future__ import annotations

from datetime import datetime, timedelta
from typing import Any

import pytest

from insight.forecast import load as module
from insight.forecast.load import Forecast, forecast, present_forecast
from tasks.models import Task
from tests.factories import TARGET, daily, make_task, next_minute, once
from tests.support.cursors import change_task
from tests.support.recounting import recounts


@pytest.fixture
def now(db: None) -> datetime:
    return next_minute()


def look(tenant: Any, now: datetime, **parts: Any) -> Forecast:
    return forecast(tenant.id, now=now, **parts)


def recurring(**schedule: Any) -> dict[str, Any]:
    return {"schedule": schedule, "target": TARGET}


@recounts("forecast.starts")
def test_each_start_stands_in_its_minute(alpha, now):
    tasks = [make_task(alpha) for _ in range(3)]
    first = tasks[0].next_run_at

    found = look(alpha, now)

    assert found.complete
    assert (found.tasks, found.counted) == (3, 3)
    assert first is not None
    assert found.at(first) == 3
    assert sum(found.starts.values()) == 21
    assert found.destinations == {tasks[0].destination: 21}
    assert found.at(now - timedelta(days=1)) == 0


def test_one_time_tasks_count_too(alpha, now):
    at = now + timedelta(hours=3)
    for _ in range(6):
        make_task(alpha, once(at))

    found = look(alpha, now)

    assert (found.at(at), found.tasks) == (6, 6)
    assert [spot.count for spot in found.hot_spots] == [6]


@pytest.mark.parametrize("when", [None, timedelta(hours=1)])
def test_what_calls_no_host_counts_without_a_destination(alpha, now, when):
    target = {"kind": "handler", "handler": "reports"}
    body = once(now + when, target=target) if when else daily(target=target)
    task = make_task(alpha, body)

    found = look(alpha, now)

    assert task.next_run_at is not None
    assert found.at(task.next_run_at) == 1
    assert found.destinations == {}
    assert present_forecast(found, "hour")["destinations"] == []


def test_it_ends_with_max_occurrences_and_end_at(alpha, now):
    make_task(alpha, recurring(cron_expression="0 0 * * *", max_occurrences=3))
    task = make_task(alpha, recurring(cron_expression="30 0 * * *", max_occurrences=10**6))
    change_task(task.pk, occurrence_count=10**6 - 1)

    assert sum(look(alpha, now).starts.values()) == 4


def test_a_million_seconds_are_counted_without_walking(alpha, now, monkeypatch):
    monkeypatch.setattr(module, "MOST_WALKED", 0)
    make_task(alpha, recurring(every="PT1S"))

    found = look(alpha, now)

    assert found.complete
    assert sum(found.starts.values()) == 7 * 86_400


def test_what_exceeds_the_bound_is_left_out_and_said(alpha, now, monkeypatch):
    monkeypatch.setattr(module, "MOST_WALKED", 8)
    for _ in range(2):
        make_task(alpha)
    make_task(alpha, recurring(cron_expression="0 * * * *"))

    found = look(alpha, now)

    assert not found.complete
    assert (found.tasks, found.counted) == (3, 2)
    assert sum(found.starts.values()) == 14


def test_a_schedule_that_cannot_be_read_keeps_no_other_from_being_seen(alpha, now):
    broken = make_task(alpha)
    make_task(alpha)
    schedule = {**broken.schedule, "timezone": "Gone/Town"}
    Task.objects.filter(pk=broken.pk).update(schedule=schedule)

    found = look(alpha, now)

    assert (found.tasks, found.counted) == (2, 1)


def test_it_is_kept_for_a_moment(alpha, now):
    before = look(alpha, now)
    make_task(alpha)

    assert look(alpha, now) == before
    assert look(alpha, now, days=1) != before


def test_a_jitter_spreads_what_would_meet(alpha, now):
    for _ in range(30):
        make_task(alpha, recurring(cron_expression="0 8 * * *", jitter_seconds=3600))

    minutes = look(alpha, now, days=1).starts

    assert sum(minutes.values()) == 30
    assert len(minutes) > 10


def test_buckets_of_hours_and_minutes_have_the_same_sum(alpha, now):
    make_task(alpha, recurring(cron_expression="*/7 * * * *"))
    found = look(alpha, now)

    minutes, hours = (present_forecast(found, name) for name in ("minute", "hour"))

    for shown in (minutes, hours):
        assert sum(bucket["count"] for bucket in shown["buckets"]) == shown["starts"]
    assert len(hours["buckets"]) == 7 * 24


@recounts("forecast.tasks")
def test_hot_spots_name_tasks_and_destinations(alpha, now):
    tasks = [make_task(alpha, daily(name=f"Report {number}")) for number in range(6)]

    [spot] = present_forecast(look(alpha, now), "hour")["hot_spots"]

    assert (spot["count"], spot["tasks"], spot["repeats"]) == (6, 6, 6)
    assert spot["destinations"] == [{"destination": tasks[0].destination, "count": 6}]
    assert {one["name"] for one in spot["sample"]} <= {task.name for task in tasks}
