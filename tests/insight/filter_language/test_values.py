from __future__ import annotations

from datetime import UTC, datetime

import pytest

from insight.filter_language import values
from insight.filter_language.values import Moment, Range

NOW = datetime(2026, 11, 20, 12, 30, tzinfo=UTC)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("3", Range(3, 3)),
        (">3", Range(low=3, above=True)),
        (">=3", Range(low=3)),
        ("<3", Range(high=3, below=True)),
        ("<=3", Range(high=3)),
        ("2..5", Range(2, 5)),
        ("2..", Range(2)),
        ("..5", Range(high=5)),
    ],
)
def test_numbers_are_read_with_comparisons_and_ranges(text: str, expected: Range):
    assert values.read_range(text, values.number) == expected


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("503", Range(503, 503)),
        ("5XX", Range(500, 599)),
        (">4xx", Range(low=499, above=True)),
        ("4xx..5xx", Range(400, 599)),
    ],
)
def test_classes_of_statuses_are_ranges(text: str, expected: Range):
    assert values.read_range(text, values.response_status) == expected


@pytest.mark.parametrize(
    ("text", "milliseconds"),
    [("250ms", 250), ("1.5s", 1500), ("2m", 120_000), ("1h30m", 5_400_000), ("1d", 86_400_000)],
)
def test_durations_have_units(text: str, milliseconds: float):
    assert values.duration_ms(text) == (milliseconds, milliseconds)


@pytest.mark.parametrize(
    ("text", "low", "high"),
    [
        ("2026-11-20", "2026-11-20T00:00:00", "2026-11-21T00:00:00"),
        ("2026-11-20..2026-11-21", "2026-11-20T00:00:00", "2026-11-22T00:00:00"),
        ("yesterday", "2026-11-19T00:00:00", "2026-11-20T00:00:00"),
        ("-2h", "2026-11-20T10:30:00", None),
        ("-2h..-1h", "2026-11-20T10:30:00", "2026-11-20T11:30:00"),
        ("..now", None, "2026-11-20T12:30:00"),
        (">2026-11-20", "2026-11-21T00:00:00", None),
        (">=2026-11-20", "2026-11-20T00:00:00", None),
        ("<2026-11-20", None, "2026-11-20T00:00:00"),
        ("<=2026-11-20", None, "2026-11-21T00:00:00"),
        ("+1d..", "2026-11-21T12:30:00", None),
        (">=2026-11-20T08:00:00+02:00", "2026-11-20T06:00:00", None),
    ],
)
def test_times_are_ranges_without_their_end(text: str, low: str | None, high: str | None):
    found = values.read_times(text)

    def at(moment: Moment | None) -> str | None:
        return None if moment is None else moment.at(NOW).isoformat()[:19]

    assert (at(found.low), at(found.high), found.above) == (low, high, False)
    assert found.below or found.high is None


@pytest.mark.parametrize(
    ("read", "text", "words"),
    [
        (values.number, "x", "whole number"),
        (values.number, "1e5", "whole number"),
        (values.number, "9" * 40, "whole number"),
        (values.response_status, "6xx", "HTTP status"),
        (values.duration_ms, "30", "Did you mean '30s'"),
        (values.duration_ms, "-3s", "no duration"),
        (values.duration_ms, "999999999w", "century"),
        (values.moments, "2026-13-40", "no time"),
        (values.moments, "9999-12-31", "no time"),
        (values.moments, "-99999999d", "century"),
        (values.host, "exa mple", "no host"),
        (values.host, "*." * 11, "at most 10"),
        (values.pattern, "*a" * 11, "at most 10"),
    ],
)
def test_what_is_no_value_is_refused_with_an_example(read, text: str, words: str):
    with pytest.raises(ValueError, match=words):
        read(text)


def test_a_range_without_ends_is_refused():
    with pytest.raises(ValueError, match="at least one end"):
        values.read_range("..", values.number)


def test_a_host_is_read_in_its_one_spelling():
    assert values.host("API.Example.com:443") == "api.example.com"
    assert values.host("*.Example.com") == "*.example.com"
    assert values.as_pattern("a.*b") == r"^a\..*b$"
