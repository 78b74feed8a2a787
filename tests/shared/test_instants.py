from __future__ import annotations

from contextlib import suppress
from datetime import UTC, datetime, timedelta, timezone
from zoneinfo import ZoneInfo

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from shared.instants import (
    InstantError,
    ceil_millisecond,
    format_instant,
    format_local,
    parse_instant,
)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("2026-11-20T08:00:00Z", "2026-11-20T08:00:00.000Z"),
        ("2026-11-20T08:00:00.5Z", "2026-11-20T08:00:00.500Z"),
        ("2026-11-20t08:00:00z", "2026-11-20T08:00:00.000Z"),
        ("2026-11-20T09:00:00+01:00", "2026-11-20T08:00:00.000Z"),
        ("2026-11-20T00:00:00-08:00", "2026-11-20T08:00:00.000Z"),
        ("2026-11-20T08:00:00-00:00", "2026-11-20T08:00:00.000Z"),
        ("2026-11-20T08:00:00.123456789Z", "2026-11-20T08:00:00.123Z"),
        ("2024-02-29T00:00:00Z", "2024-02-29T00:00:00.000Z"),
        ("0001-01-01T00:00:00Z", "0001-01-01T00:00:00.000Z"),
        ("9999-12-31T23:59:59.999Z", "9999-12-31T23:59:59.999Z"),
    ],
)
def test_an_instant_with_an_offset_is_read_as_utc(text, expected):
    assert format_instant(parse_instant(text)) == expected


@pytest.mark.parametrize(
    "text",
    [
        "",
        "now",
        "2026-11-20",
        "20261120T080000Z",
        "2026-W47-5T08:00:00Z",
        "2026-324T08:00:00Z",
        "2026-11-20T08:00Z",
        "2026-11-20T08:00:00",
        "2026-11-20 08:00:00Z",
        "2026-11-20T08:00:00 Z",
        "2026-11-20T08:00:00Z\n",
        " 2026-11-20T08:00:00Z",
        "2026-11-20T08:00:00+0100",
        "2026-11-20T08:00:00+01",
        "2026-11-20T08:00:00+24:00",
        "2026-11-20T08:00:00+01:60",
        "2026-11-20T08:00:00UTC",
        "2026-11-20T08:00:00,5Z",
        "2026-11-20T08:00:00.Z",
        "2026-11-20T08:00:00.1234567890Z",
        "2026-11-20T24:00:00Z",
        "2026-11-20T08:60:00Z",
        "2026-13-01T00:00:00Z",
        "2026-00-01T00:00:00Z",
        "2026-02-29T00:00:00Z",
        "0000-01-01T00:00:00Z",
        "-2026-11-20T08:00:00Z",
        "+12026-11-20T08:00:00Z",
        "２０２６-11-20T08:00:00Z",
        "2026-11-20T0٨:00:00Z",
        "0001-01-01T00:00:00+00:01",
        "9999-12-31T23:59:59-00:01",
        "2026-11-20T08:00:00Z[UTC]",
    ],
)
def test_anything_else_is_refused(text):
    with pytest.raises(InstantError):
        parse_instant(text)


def test_a_leap_second_is_refused_with_its_remedy():
    with pytest.raises(InstantError, match="Leap seconds"):
        parse_instant("2016-12-31T23:59:60Z")


@settings(deadline=None)
@given(st.text(max_size=40))
def test_no_text_raises_anything_else(text):
    with suppress(InstantError):
        parse_instant(text)


@settings(deadline=None)
@given(st.datetimes(timezones=st.just(UTC)))
def test_what_was_formatted_is_read_back_to_the_millisecond(moment):
    assert parse_instant(format_instant(moment)) == moment - timedelta(
        microseconds=moment.microsecond % 1000
    )


@settings(deadline=None)
@given(st.datetimes(max_value=datetime(9999, 1, 1), timezones=st.just(UTC)))  # noqa: DTZ001 - hypothesis wants naive bounds
def test_rounding_up_is_never_early_and_never_a_millisecond_late(moment):
    rounded = ceil_millisecond(moment)

    assert rounded.microsecond % 1000 == 0
    assert timedelta(0) <= rounded - moment < timedelta(milliseconds=1)


def test_a_naive_time_is_a_mistake_of_the_program():
    naive = datetime(2026, 11, 20)  # noqa: DTZ001 - the mistake under test

    with pytest.raises(ValueError, match="zone"):
        format_instant(naive)
    with pytest.raises(ValueError, match="zone"):
        format_local(naive, UTC)


def test_local_time_shows_its_offset():
    moment = datetime(2026, 7, 1, 8, tzinfo=timezone(timedelta(hours=1)))

    assert format_local(moment, ZoneInfo("Asia/Kathmandu")) == "2026-07-01T12:45:00.000+05:45"


@pytest.mark.parametrize("text", ["2026-11-20T09:00:00 02:00", "2026-11-20T09:00:00.125 00:30"])
def test_a_plus_that_a_url_made_a_blank_is_told_how_to_write_it(text):
    with pytest.raises(InstantError) as raised:
        parse_instant(text)

    written = text.replace(" ", "%2B")
    assert str(raised.value).endswith(f"write the + as %2B: {written}.")


@pytest.mark.parametrize("text", ["2026-11-20 09:00:00Z", "2026-11-20T09:00:00 Z", "a b", " "])
def test_other_blanks_get_the_usual_hint(text):
    with pytest.raises(InstantError, match="RFC 3339 date and time with an offset"):
        parse_instant(text)


def test_the_last_millisecond_of_the_calendar_cannot_be_rounded_up():
    last = parse_instant("9999-12-31T23:59:59.999Z")

    assert ceil_millisecond(last) == last
    with pytest.raises(InstantError, match="no such date and time"):
        ceil_millisecond(last + timedelta(microseconds=1))
