from __future__ import annotations

from datetime import UTC, date, datetime, timedelta

from tasks.schedules.clock_days import days_of_changes
from tasks.schedules.zones import find_zone

YEAR = datetime(2027, 1, 1, tzinfo=UTC), datetime(2028, 1, 1, tzinfo=UTC)


def test_the_changes_of_a_year_have_their_day_and_length():
    assert days_of_changes(find_zone("Europe/Berlin"), *YEAR) == {
        date(2027, 3, 28): "the clocks go forward 60 minutes",
        date(2027, 10, 31): "the clocks go back 60 minutes",
    }
    back, forward = days_of_changes(find_zone("Australia/Lord_Howe"), *YEAR).values()
    assert (back, forward) == (
        "the clocks go back 30 minutes",
        "the clocks go forward 30 minutes",
    )


def test_a_stretch_has_the_change_at_its_end_and_not_the_one_at_its_begin():
    zone, at = find_zone("Europe/Berlin"), datetime(2027, 3, 28, 1, tzinfo=UTC)

    assert list(days_of_changes(zone, at - timedelta(days=1), at)) == [date(2027, 3, 28)]
    assert days_of_changes(zone, at, at + timedelta(days=1)) == {}


def test_a_zone_without_changes_has_none():
    assert days_of_changes(find_zone("UTC"), *YEAR) == {}
