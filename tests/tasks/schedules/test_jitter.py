from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any
from uuid import UUID

import pytest
from hypothesis import given
from hypothesis import strategies as st

from shared.ids import new_id
from tasks.schedules.jitter import due_at, due_until, gaps_from, in_words, jitter_ms
from tasks.schedules.spec import parse


def test_no_jitter_unless_asked_for():
    assert jitter_ms("task", 0, 60) == 0
    assert jitter_ms("task", 0.0004, None) == 0


def test_a_task_keeps_its_place_and_tasks_spread_evenly():
    ids = [str(UUID(int=n)) for n in range(2000)]
    drawn = [jitter_ms(one, 60, 3600) for one in ids]

    assert drawn == [jitter_ms(one, 60, None) for one in ids]
    for tenth in range(10):
        assert 140 < sum(tenth * 6000 <= value < (tenth + 1) * 6000 for value in drawn) < 260


@given(st.text(max_size=40), st.floats(0, 86_400), st.none() | st.floats(0.001, 86_400))
def test_it_stays_below_the_jitter_and_before_the_next_occurrence(task_id, jitter, gap):
    drawn = jitter_ms(task_id, jitter, gap)

    assert drawn >= 0
    assert drawn == 0 or drawn < jitter * 1000
    assert gap is None or drawn == 0 or drawn < gap * 1000


def test_tasks_made_one_right_after_the_other_spread_evenly():
    drawn = sorted(jitter_ms(str(new_id()), 60, None) for _ in range(2000))

    assert 0 <= drawn[0] < 1000
    assert 59_000 < drawn[-1] < 60_000
    # The largest distance from an even spread (Kolmogorov–Smirnov), once in ten million draws.
    assert max(abs(value / 60_000 - place / 2000) for place, value in enumerate(drawn)) < 0.065


def test_a_jitter_larger_than_the_interval_fills_the_interval():
    drawn = [jitter_ms(str(UUID(int=n)), 3600, 10) for n in range(2000)]

    assert min(drawn) < 100
    assert 9900 < max(drawn) < 10_000


DAILY = parse("RECURRING", {"cron_expression": "0 8 * * *"})
EIGHT = datetime(2026, 11, 20, 8, tzinfo=UTC)
TASK = str(UUID(int=7))


def test_an_occurrence_is_due_at_its_time_and_the_tasks_share():
    share = jitter_ms(TASK, 300, 86_400)
    assert 0 < share < 300_000

    assert due_at(DAILY, EIGHT, TASK, 300) == EIGHT + timedelta(milliseconds=share)
    assert due_at(DAILY, EIGHT, TASK, 0) == EIGHT


@pytest.mark.parametrize(
    ("schedule", "jitter", "seconds"),
    [
        ({"cron_expression": "0 8 * * *"}, 300, 300),
        ({"every": "PT10S", "start_at": "2026-11-20T08:00:00Z"}, 300, 10),
        ({"cron_expression": "0 8 * * *", "end_at": "2026-11-20T09:00:00Z"}, 300, 300),
        ({"cron_expression": "0 8 * * *"}, 0, 0),
    ],
)
def test_every_task_is_due_before_the_end_of_the_range(
    schedule: dict[str, Any], jitter: float, seconds: float
):
    spec = parse("RECURRING", schedule)

    until = due_until(spec, EIGHT, jitter)

    assert until == EIGHT + timedelta(seconds=seconds)
    due = [due_at(spec, EIGHT, str(UUID(int=n)), jitter) for n in range(200)]
    assert all(EIGHT <= one < until for one in due) or jitter == 0


def test_the_words_say_the_range_and_the_share_of_a_task():
    gaps = gaps_from(DAILY, EIGHT)
    share = jitter_ms(TASK, 300, None) / 1000

    assert in_words(0, gaps, task_id=TASK) == ""
    assert in_words(300, gaps, task_id="") == ", spread over up to 300 s"
    said = in_words(300, gaps, task_id=TASK)
    assert said.startswith(", spread over up to 300 s: this task ")
    assert f"{share:.1f}".removesuffix(".0") in said


def test_the_words_name_no_share_where_it_differs_from_instant_to_instant():
    uneven = parse("RECURRING", {"cron_expression": "0,1 * * * *"})

    said = in_words(600, gaps_from(uneven, EIGHT), task_id=TASK)

    assert said == ", spread over up to 600 s"


@given(st.integers(0, 2**32), st.sampled_from([1, 30, 300, 90_000]))
def test_the_words_say_what_happens(number: int, jitter: float):
    every = parse("RECURRING", {"every": "PT1M", "start_at": "2026-11-20T08:00:00Z"})
    task = str(UUID(int=number))

    said = in_words(jitter, gaps_from(every, EIGHT), task_id=task)
    real = (due_at(every, EIGHT, task, jitter) - EIGHT).total_seconds()

    assert f"this task {real:.1f} s later".replace(".0 s", " s") in said
