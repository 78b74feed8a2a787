"""Times are written on the reader's clock, always labelled, the task's clock beside it."""

from __future__ import annotations

from datetime import UTC, date, datetime

import pytest
from django.utils import timezone

from shared.clock_text import (
    beside,
    beside_text,
    clock_text,
    day_text,
    digits,
    field_text,
    minute_text,
    zone_label,
    zone_of,
)

MOMENT = datetime(2026, 3, 29, 1, 30, 5, 678000, tzinfo=UTC)


def test_without_a_reader_it_is_utc_and_says_so():
    assert clock_text(MOMENT) == "2026-03-29 01:30:05 UTC"
    assert minute_text(MOMENT) == "01:30 UTC"


@pytest.mark.parametrize(
    ("precision", "text"),
    [
        ("minutes", "2026-03-29 03:30 CEST"),
        ("seconds", "2026-03-29 03:30:05 CEST"),
        ("ms", "2026-03-29 03:30:05.678 CEST"),
        ("auto", "2026-03-29 03:30:05.678 CEST"),
        ("weekday", "Sun 2026-03-29 03:30:05 CEST"),
    ],
)
def test_each_precision_is_on_the_readers_clock(precision, text):
    with timezone.override("Europe/Berlin"):
        assert clock_text(MOMENT, precision) == text


def test_no_milliseconds_are_told_where_there_are_none():
    assert digits(MOMENT.replace(microsecond=0), "auto") == "2026-03-29 01:30:05"


def test_another_clock_stands_beside_it_with_its_date_where_that_differs():
    with timezone.override("Europe/Berlin"), beside(zone_of("America/New_York")):
        assert clock_text(MOMENT) == "2026-03-29 03:30:05 CEST (2026-03-28 21:30:05 EDT)"
    with timezone.override("Europe/Berlin"):
        assert beside_text(MOMENT, zone_of("Asia/Tokyo")) == "10:30:05 JST"
        assert clock_text(MOMENT) == "2026-03-29 03:30:05 CEST"


def test_a_clock_that_shows_the_same_is_not_told_twice():
    with timezone.override("Europe/Berlin"):
        assert beside_text(MOMENT, zone_of("Europe/Paris")) == ""


def test_a_zone_without_a_name_is_told_by_its_distance_from_utc():
    assert zone_label(MOMENT, zone_of("America/Sao_Paulo")) == "UTC-03"


@pytest.mark.parametrize("name", ["No/Where", "", None, "../etc/passwd"])
def test_a_name_that_is_no_zone_is_utc(name):
    assert zone_label(MOMENT, zone_of(name)) == "UTC"


def test_a_fields_text_is_what_browsers_take():
    assert field_text(MOMENT, zone_of("Asia/Tokyo")) == "2026-03-29T10:30:05"


def test_the_ends_of_the_calendar_are_written_in_utc_where_a_clock_has_no_date_for_them():
    last = datetime(9999, 12, 31, 23, 59, tzinfo=UTC)

    with timezone.override("Europe/Berlin"):
        assert clock_text(last) == "9999-12-31 23:59:00 UTC"
        assert clock_text(datetime(9999, 12, 31, 12, tzinfo=UTC)).endswith("13:00:00 CET")
    assert beside_text(last, zone_of("Europe/Berlin")) == ""


def test_a_day_has_no_zone_and_a_moment_is_no_day():
    assert day_text(date(2026, 12, 1)) == "2026-12-01"
    assert day_text(date(2026, 12, 1), "F Y") == "December 2026"
    with pytest.raises(TypeError):
        day_text(datetime(2026, 12, 1, tzinfo=UTC))
