from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tasks.schedules.base import MICROSECOND, Spec
from tasks.schedules.jitter import jitter_ms
from tasks.schedules.minutes import MINUTE, Spread, Stretch, count_minutes
from tasks.schedules.spec import parse

START = datetime(2026, 11, 20, 8, 0, tzinfo=UTC)


def make(schedule: Any) -> Spec:
    return parse("RECURRING", schedule, anchor=START)


def count(
    schedule: dict[str, Any], minutes: int = 60, spread: Spread | None = None, most=1_000_000
):
    found = count_minutes(make, schedule, "", spread or Spread(), Stretch(START, minutes, most))
    return None if found is None else dict(found.starts)


def walked(schedule: dict[str, Any], minutes: int) -> dict[int, int]:
    """Count by walking every instant: slow and plain."""
    found: dict[int, int] = {}
    for occurrence in make(schedule).walk(START - MICROSECOND):
        if occurrence.at >= START + minutes * MINUTE:
            break
        number = (occurrence.at - START) // MINUTE
        found[number] = found.get(number, 0) + 1
    return found


@pytest.mark.parametrize(
    "schedule",
    [
        {"cron_expression": "*/5 * * * *"},
        {"cron_expression": "* * * * * *"},
        {"cron_expression": "*/7 */2 * * * *"},
        {"cron_expression": "5,10 30 8 * * *"},
        {"cron_expression": "0 8 * * *", "timezone": "Europe/Berlin"},
        {"every": "PT1S"},
        {"every": "PT7S"},
        {"every": "PT90S"},
        {"every": "PT1H", "start_at": "2026-11-20T08:17:03Z"},
        {"every": "PT10S", "end_at": "2026-11-20T08:01:10Z"},
    ],
)
def test_the_starts_of_every_minute_are_those_of_walking(schedule):
    assert count(schedule, 180) == walked(schedule, 180)


def test_what_fires_every_second_is_counted_without_walking():
    found = count_minutes(
        make, {"every": "PT1S"}, "", Spread(), Stretch(START, 7 * 24 * 60, most_walked=0)
    )

    assert found is not None
    assert sum(found.starts.values()) == 7 * 24 * 3600


def test_more_walking_than_allowed_is_refused():
    assert count({"cron_expression": "* * * * *"}, most=59) is None
    assert count({"cron_expression": "* * * * *"}, most=60) is not None


def test_equal_tasks_count_as_often_as_there_are():
    assert count({"cron_expression": "30 * * * *"}, spread=Spread(tasks={0: 412})) == {30: 412}
    assert count({"every": "PT30S"}, 1, Spread(tasks={0: 3})) == {0: 6}


def test_jitter_moves_starts_to_later_minutes():
    spread = Spread(300.0, 5, {0: 1, 2: 10, 4: 100})

    assert count({"cron_expression": "0 * * * *"}, 60, spread) == {0: 1, 2: 10, 4: 100}


def test_jitter_ends_before_the_next_occurrence():
    spread = Spread(3600.0, 60, {59: 1})

    assert count({"cron_expression": "*/2 * * * *"}, 4, spread) == {1: 1, 3: 1}


def test_what_began_before_and_starts_within_is_counted():
    spread = Spread(600.0, 10, {9: 1})

    found = count({"cron_expression": "55 7 * * *"}, 60, spread)

    assert found == {4: 1}


@settings(max_examples=50)
@given(st.uuids(), st.integers(61, 86_400))
def test_a_task_is_counted_in_the_minute_that_it_is_due(task_id, jitter):
    steps = min(1440, -(-jitter // 60))
    share = jitter_ms(str(task_id), 65_536, None) // 1000
    spread = Spread(jitter, steps, {share * steps // 65_536: 1})
    due = START + timedelta(milliseconds=jitter_ms(str(task_id), jitter, None))

    found = count({"cron_expression": "0 8 20 11 *"}, 1440, spread)

    assert found is not None
    [number] = found
    assert abs(number - (due - START) // MINUTE) <= 1
