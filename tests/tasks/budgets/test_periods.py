from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest

from tasks.budgets.periods import end_of

HOUR = timedelta(hours=1)


def at(*parts: int) -> datetime:
    return datetime(*parts, tzinfo=UTC)  # type: ignore[misc, arg-type]  # a row of numbers


@pytest.mark.parametrize(
    ("per", "zone", "now", "end"),
    [
        ("day", "UTC", at(2026, 11, 30, 9), at(2026, 12, 1)),
        ("day", "Europe/Berlin", at(2026, 11, 30, 22, 59), at(2026, 11, 30, 23)),
        ("day", "Europe/Berlin", at(2026, 11, 30, 23), at(2026, 12, 1, 23)),
        ("month", "UTC", at(2026, 11, 30, 9), at(2026, 12, 1)),
        ("month", "UTC", at(2026, 12, 31, 23), at(2027, 1, 1)),
        ("month", "Pacific/Auckland", at(2026, 11, 30, 9), at(2026, 11, 30, 11)),
        ("day", "No/Such", at(2026, 11, 30, 9), at(2026, 12, 1)),
    ],
)
def test_a_period_ends_by_the_calendar_of_its_zone(per, zone, now, end):
    assert end_of(per, zone, now) == end


@pytest.mark.parametrize(("day", "hours"), [(at(2026, 3, 28, 23), 23), (at(2026, 10, 24, 22), 25)])
def test_a_day_whose_clocks_change_is_shorter_or_longer(day, hours):
    assert end_of("day", "Europe/Berlin", day) - day == hours * HOUR


def test_where_midnight_is_left_out_the_day_begins_with_its_first_moment():
    # In Beirut the clocks go from 00:00 to 01:00.
    assert end_of("day", "Asia/Beirut", at(2026, 3, 28, 12)) == at(2026, 3, 28, 22)


def test_a_midnight_that_comes_twice_begins_its_day_once():
    # On the Azores 01:00 is 00:00 again.
    first = at(2026, 10, 25)

    assert end_of("day", "Atlantic/Azores", first - HOUR) == first
    assert end_of("day", "Atlantic/Azores", first + HOUR) == at(2026, 10, 26, 1)


def test_an_end_is_always_ahead():
    moment = at(2026, 1, 1)
    while moment < at(2027, 1, 2):
        for zone in ("Asia/Beirut", "Atlantic/Azores", "Europe/Berlin", "Africa/Cairo"):
            assert moment < end_of("day", zone, moment) <= moment + 25 * HOUR
        moment += 7 * HOUR
