"""Days and months on the clock of a zone."""

from __future__ import annotations

from datetime import UTC, date, datetime, timedelta

import pytest

from insight.month.local_days import (
    chosen_month,
    days_of_month,
    moved,
    place_of,
    read_month,
)
from shared.exceptions import InvalidInput
from tasks.schedules.zones import find_zone

BERLIN = find_zone("Europe/Berlin")
#: In Berlin it is March already.
NOW = datetime(2027, 2, 28, 23, 30, tzinfo=UTC)


def test_a_month_has_its_days_and_the_one_of_a_change_is_shorter():
    days = days_of_month(date(2027, 3, 1), BERLIN)

    assert [one.day.day for one in days] == list(range(1, 32))
    lengths = [one.end.astimezone(UTC) - one.start.astimezone(UTC) for one in days]
    assert [place for place, length in enumerate(lengths, 1) if length != timedelta(days=1)] == [28]
    assert lengths[27] == timedelta(hours=23)


def test_a_moment_is_on_the_day_that_has_begun():
    starts = [one.start for one in days_of_month(date(2027, 3, 1), BERLIN)]

    assert place_of(datetime(2027, 2, 28, 22, 59, tzinfo=UTC), starts) == -1
    assert place_of(datetime(2027, 2, 28, 23, tzinfo=UTC), starts) == 0
    assert place_of(datetime(2027, 3, 1, 23, tzinfo=UTC), starts) == 1


@pytest.mark.parametrize(
    ("months", "first"),
    [(-3, date(2026, 12, 1)), (0, date(2027, 3, 1)), (10, date(2028, 1, 1))],
)
def test_months_are_counted_over_the_turn_of_the_year(months, first):
    assert moved(date(2027, 3, 1), months) == first


def test_a_month_is_read():
    assert read_month("2027-03") == date(2027, 3, 1)


@pytest.mark.parametrize("text", ["2027-13", "2027-3", "0000-01", "2027-03-01", "", "２027-03"])
def test_what_is_no_month_is_refused(text):
    with pytest.raises(ValueError, match="YYYY-MM"):
        read_month(text)


@pytest.mark.parametrize(
    ("month", "day", "first"),
    [
        (None, None, date(2027, 3, 1)),
        (None, date(2027, 4, 9), date(2027, 4, 1)),
        (date(2028, 3, 1), date(2026, 3, 1), date(2028, 3, 1)),
    ],
)
def test_the_month_is_the_one_given_or_that_of_the_day_or_of_now(month, day, first):
    assert chosen_month(month, day, BERLIN, NOW) == first


@pytest.mark.parametrize(
    ("month", "day", "name"),
    [
        (date(2028, 4, 1), None, "?month"),
        (date(2026, 2, 1), None, "?month"),
        (None, date(2028, 4, 1), "?day"),
        (None, date(2026, 2, 28), "?day"),
    ],
)
def test_what_lies_over_a_year_away_is_refused(month, day, name):
    with pytest.raises(InvalidInput) as refused:
        chosen_month(month, day, BERLIN, NOW)

    assert [error.pointer for error in refused.value.errors] == [name]
