from __future__ import annotations

from datetime import date

import pytest

from tasks.schedules.days_off import CalendarDays, DaysOff, Stretches, day_number, days_off
from tasks.schedules.zones import find_zone
from tests.tasks.schedules.instants import utc

FRIDAY = day_number(date(2026, 11, 20))


def test_windows_that_touch_or_overlap_are_one():
    found = Stretches(
        [
            (utc("2026-11-20 12:00"), utc("2026-11-20 13:00")),
            (utc("2026-11-20 08:00"), utc("2026-11-20 12:00")),
            (utc("2026-11-20 09:00"), utc("2026-11-20 10:00")),
        ]
    )

    assert found.end_of(utc("2026-11-20 07:59")) is None
    assert found.end_of(utc("2026-11-20 08:00")) == utc("2026-11-20 13:00")
    assert found.end_of(utc("2026-11-20 13:00")) is None
    assert found.touch(utc("2026-11-20 00:00"), utc("2026-11-20 08:01"))
    assert found.touch(utc("2026-11-20 12:59"), utc("2026-11-21 00:00"))
    assert not found.touch(utc("2026-11-20 13:00"), utc("2026-11-21 00:00"))
    assert not found.touch(utc("2026-11-20 00:00"), utc("2026-11-20 08:00"))


def test_without_calendars_saturday_and_sunday_are_off():
    found = DaysOff(())

    assert [found.working(FRIDAY + passed) for passed in range(4)] == [True, False, False, True]


def test_the_days_off_of_several_calendars_are_those_of_any():
    found = DaysOff(
        (
            CalendarDays("A", weekend=frozenset({5})),
            CalendarDays("B", weekend=frozenset(), dates=frozenset({date(2026, 11, 22)})),
        )
    )

    assert [found.working(FRIDAY + passed) for passed in range(4)] == [False, True, False, True]


def test_the_first_calendar_that_excludes_is_the_one_that_is_named():
    both = [
        CalendarDays("A", windows=((utc("2026-11-20 08:00"), utc("2026-11-20 09:00")),)),
        CalendarDays("B", dates=frozenset({date(2026, 11, 20)})),
    ]
    found = DaysOff(both)

    assert found.excluder(utc("2026-11-20 08:00"), FRIDAY) == "A"
    assert found.excluder(utc("2026-11-20 09:00"), FRIDAY) == "B"
    assert found.excluder(utc("2026-11-21 09:00"), FRIDAY + 1) == ""


@pytest.mark.parametrize(
    ("day", "free"),
    [
        ("2026-11-20", True),
        ("2026-11-21", False),  # a Saturday
        ("2026-11-23", False),  # a window in the night before, in local time
        ("2026-11-24", False),  # a date
        ("2026-03-30", False),  # the clocks changed the day before
        ("2026-03-31", True),
    ],
)
def test_a_day_is_free_when_every_time_of_it_can_take_a_moved_run(day, free):
    off = CalendarDays(
        "A",
        dates=frozenset({date(2026, 11, 24)}),
        windows=((utc("2026-11-22 22:59"), utc("2026-11-22 23:01")),),
    )

    number = day_number(date.fromisoformat(day))
    assert days_off((off,)).free(number, find_zone("Europe/Berlin")) is free


def test_the_same_calendars_are_the_same_object():
    off = CalendarDays("A")

    assert days_off((off,)) is days_off((off,))
