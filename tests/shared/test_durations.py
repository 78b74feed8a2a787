from __future__ import annotations

from datetime import timedelta

import pytest

from shared.durations import DurationError, format_iso, parse_duration


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


@pytest.mark.parametrize(
    "text",
    ["", "2", "h", "2 hours", "m2", "P", "PT", "-2h", "9" * 30 + "d", "9" * 5000 + "d", "٣h", "2ſ"],
)
def test_other_words_are_refused_with_what_can_be_written(text):
    with pytest.raises(DurationError):
        parse_duration(text)


@pytest.mark.parametrize(
    ("text", "iso"),
    [("15m", "PT15M"), ("26h", "P1DT2H"), ("1d", "P1D"), ("90s", "PT1M30S"), ("0s", "PT0S")],
)
def test_a_duration_is_written_as_iso(text, iso):
    assert format_iso(parse_duration(text)) == iso
