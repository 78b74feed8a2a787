from __future__ import annotations

from datetime import datetime

import pytest

from tasks.ical.placing import instant_of, local_of
from tasks.schedules.zones import find_zone
from tests.tasks.ical.files import local
from tests.tasks.schedules.instants import utc

BERLIN = find_zone("Europe/Berlin")


@pytest.mark.parametrize(
    ("local", "expected"),
    [
        ("2026-03-29T02:30", "2026-03-29 01:30"),  # missing: the offset from before
        ("2026-10-25T02:30", "2026-10-25 00:30"),  # twice: the first
        ("2026-07-01T12:00", "2026-07-01 10:00"),
    ],
)
def test_a_local_time_is_the_instant_that_the_standard_says(local, expected):
    assert instant_of(BERLIN, datetime.fromisoformat(local)) == utc(expected)


@pytest.mark.parametrize("year", [1, 1969, 2200, 9999])
def test_years_that_calendars_do_not_cover_have_no_instant(year):
    assert instant_of(BERLIN, local(f"{year:04}-06-01")) is None


def test_an_instant_has_its_local_time():
    assert local_of(BERLIN, utc("2026-07-01 10:00")) == local("2026-07-01 12:00")
