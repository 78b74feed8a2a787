"""Times of day as fields of a cron expression, and the sets that one expression cannot hold."""

from __future__ import annotations

import pytest

from tasks.plain_times.times_of_day import TimesOfDay
from tasks.plain_times.vocabulary import Clock, PlainTimeError


@pytest.mark.parametrize(
    ("times", "cron"),
    [
        (TimesOfDay({Clock(9, 0)}), "0 9"),
        (TimesOfDay({Clock(17, 30), Clock(8, 30)}), "30 8,17"),
        (TimesOfDay({Clock(9, 0), Clock(9, 30)}), "0,30 9"),
        (TimesOfDay({Clock(9, 0, 15)}), "15 0 9"),
        (TimesOfDay(set(), [15, 45]), "15,45 *"),
        (TimesOfDay({Clock(9, 0)}, [15]), "15 9"),
    ],
)
def test_times_become_the_first_fields(times, cron):
    assert times.cron() == cron


def test_minutes_past_the_hour_keep_to_a_rate_of_hours():
    assert TimesOfDay(set(), [15]).cron(every_hours=2) == "15 */2"
    assert TimesOfDay({Clock(9, 0)}, [15]).cron() == "15 9"


@pytest.mark.parametrize(
    ("times", "problem"),
    [
        (TimesOfDay({Clock(9, 0), Clock(17, 30)}), "cannot hold 09:00 and 17:30"),
        (TimesOfDay({Clock(9, 30)}, [15]), "not both"),
    ],
)
def test_times_that_one_expression_cannot_hold_are_refused(times, problem):
    with pytest.raises(PlainTimeError, match=problem):
        times.cron()
