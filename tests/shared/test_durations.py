from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest

from shared.durations import DurationError, format_iso, parse_duration, parse_moment

NOW = datetime(2026, 11, 20, 12, tzinfo=UTC)


@pytest.mark.parametrize(
    ("text", "seconds"),
    [
        ("90s", 90),
        ("15m", 900),
        ("2h", 7200),
        ("1h30m", 5400),
        ("3d", 3 * 86_400),
        ("1w", 7 * 86_400),
        ("2H", 7200),
        ("PT15M", 900),
        ("P1DT2H", 93_600),
        ("0s", 0),
    ],
)
def test_short_and_iso_durations_are_read(text, seconds):
    assert parse_duration(text) == timedelta(seconds=seconds)


@pytest.mark.parametrize("text", ["", "2", "h", "2 hours", "m2", "P", "PT", "-2h", "9" * 30 + "d"])
def test_other_words_are_refused_with_what_can_be_written(text):
    with pytest.raises(DurationError):
        parse_duration(text)


@pytest.mark.parametrize(
    ("text", "iso"),
    [("15m", "PT15M"), ("26h", "P1DT2H"), ("1d", "P1D"), ("90s", "PT1M30S"), ("0s", "PT0S")],
)
def test_a_duration_is_written_as_iso(text, iso):
    assert format_iso(parse_duration(text)) == iso


def test_a_moment_is_an_instant_or_an_age_or_a_delay():
    assert parse_moment("2026-11-20T10:00:00+01:00", NOW) == datetime(2026, 11, 20, 9, tzinfo=UTC)
    assert parse_moment("2h", NOW) == NOW - timedelta(hours=2)
    assert parse_moment("2h", NOW, ahead=True) == NOW + timedelta(hours=2)
    assert parse_moment("now", NOW) == NOW


@pytest.mark.parametrize("text", ["yesterday", "2026-11-20", "99999999d", "2026-13-01T00:00:00Z"])
def test_what_is_no_moment_is_refused(text):
    with pytest.raises(ValueError, match=r"."):
        parse_moment(text, NOW)
