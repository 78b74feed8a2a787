from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tasks.schedules.spec import ScheduleError
from tests.tasks.schedules.instants import every, fires, next_at, utc


def test_it_first_fires_at_its_creation_unless_a_start_is_given():
    assert fires(every("PT5M"), "2026-11-19 00:00", "2026-11-20 00:05") == [
        "11-20 00:00",
        "11-20 00:05",
    ]
    later = every("PT5M", start_at="2026-11-20T09:01:00+01:00")
    assert fires(later, "2026-11-19 00:00", "2026-11-20 08:07") == ["11-20 08:01", "11-20 08:06"]


def test_it_ends_with_its_end_included():
    spec = every("PT1H", end_at="2026-11-20T02:00:00Z")

    assert fires(spec, "2026-11-19 00:00", "2026-12-01 00:00")[-1] == "11-20 02:00"
    assert spec.next_after(utc("2026-11-20 02:00")) is None
    assert spec.count_between(utc("2026-11-19 00:00"), utc("2026-12-01 00:00"), 99) == (
        3,
        utc("2026-11-20 02:00"),
    )


def test_it_does_not_notice_changes_of_the_clocks():
    spec = every("P1D", start="2027-03-13 12:00", timezone="America/New_York")

    assert fires(spec, "2027-03-13 12:00", "2027-03-15 12:00") == ["03-14 12:00", "03-15 12:00"]


def test_an_anchor_between_milliseconds_is_rounded_up():
    spec = every("PT1S", start="2026-11-20 00:00:00.000400")

    assert next_at(spec, utc("2026-11-19 00:00")) == utc("2026-11-20 00:00:00.001")


def test_counting_a_century_of_seconds_is_one_division():
    spec = every("PT1S", start="2000-01-01 00:00")

    assert spec.count_between(utc("2000-01-01 00:00"), utc("2100-01-01 00:00"), 2**62) == (
        3_155_760_000,
        utc("2100-01-01 00:00"),
    )


@pytest.mark.parametrize("duration", ["PT1S", "PT1M", "PT5M", "PT1H", "PT11M13S"])
def test_a_million_occurrences_later_it_stands_where_it_began(duration):
    """Across every change of the clocks on the way; the zone is for people only."""
    start = utc("2026-03-28 12:00")
    spec = every(duration, start="2026-03-28 12:00", timezone="Europe/Berlin")
    [first, second] = spec.between(start - timedelta(seconds=1), utc("2027-01-01 00:00"), 2)
    step = second.at - first.at

    assert next_at(spec, start + 999_999 * step) == start + 1_000_000 * step
    assert spec.count_between(start, start + 1_000_000 * step, 2**62) == (
        1_000_000,
        start + 1_000_000 * step,
    )


def test_stepping_and_dividing_agree_through_a_summer_and_a_winter():
    spec = every("PT37M", start="2026-03-28 12:00", timezone="America/New_York")
    at = utc("2026-03-28 12:00")

    for number in range(1, 20_001):
        following = next_at(spec, at)
        assert following == utc("2026-03-28 12:00") + number * timedelta(minutes=37)
        at = following


def test_the_shortest_is_a_second():
    spec = every("PT1S")

    assert fires(spec, "2026-11-20 00:00", "2026-11-20 00:00:03") == [
        "11-20 00:00:01",
        "11-20 00:00:02",
        "11-20 00:00:03",
    ]
    with pytest.raises(ScheduleError):
        every("PT0.5S")


def test_it_ends_with_the_calendar():
    spec = every("P36525D")

    assert spec.next_after(utc("2126-12-01 00:00")) is None
    assert spec.next_after(datetime.max.replace(tzinfo=UTC)) is None


@given(
    st.integers(1, 10**7),
    st.timedeltas(timedelta(days=-400), timedelta(days=4000)),
)
def test_the_next_instant_is_on_the_grid_and_the_nearest_one(seconds, distance):
    start = utc("2026-11-20 00:00")
    step = timedelta(seconds=seconds)
    moment = start + distance

    at = next_at(every(f"PT{seconds}S"), moment)

    assert at is not None
    assert at > moment
    assert (at - start) % step == timedelta(0)
    assert at == start or at - step <= moment
