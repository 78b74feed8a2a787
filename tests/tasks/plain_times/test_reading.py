"""When a task runs: the kind of schedule that a text means, and what a person may copy."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest

from tasks.plain_times.reading import EXAMPLES, read_when
from tasks.plain_times.vocabulary import PlainTimeError
from tasks.schedules.zones import find_zone

NOW = datetime(2026, 11, 20, 12, tzinfo=UTC)
BERLIN = find_zone("Europe/Berlin")


@pytest.mark.parametrize(
    ("text", "schedule", "expression"),
    [
        ("every weekday at 9", {"cron_expression": "0 9 * * 1-5"}, "0 9 * * 1-5"),
        ("every 7 minutes", {"every": "PT7M"}, "PT7M"),
        ("in 2 hours", {"delay_seconds": 7200}, "PT2H"),
        ("in 15m", {"delay_seconds": 900}, "PT15M"),
        (
            "monday 9:00",
            {"run_at": "2026-11-23T08:00:00.000Z"},
            "2026-11-23T08:00:00.000Z",
        ),
        (
            "every day at 9 America/New_York",
            {"cron_expression": "0 9 * * *", "timezone": "America/New_York"},
            "0 9 * * *",
        ),
    ],
)
def test_a_text_means_one_kind_of_schedule(text, schedule, expression):
    found = read_when(text, now=NOW, zone=BERLIN)

    assert (found.schedule, found.expression) == (schedule, expression)


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("  ", "Say when"),
        ("foo", "is not understood. Write it like"),
        ("last friday 18:00", "has passed. For a run in each month"),
        ("2027-03-28 2:30", "the clocks skip it"),
        ("2026-12-01T09:00:00", "RFC 3339"),
        ("9999-12-31T23:59:59.9999Z", "outside of the years 1970 to 2199"),
        ("15m", "Write 'in 15m' or 'every 15m'"),
        ("2 hours", "Write 'in 2 hours' or 'every 2 hours'"),
        ("by friday 9:00", "is not understood"),
        ("until monday", "has no day"),
    ],
)
def test_other_texts_are_refused_with_a_reason(text, problem):
    with pytest.raises(PlainTimeError, match=problem):
        read_when(text, now=NOW, zone=BERLIN)


def test_a_delay_is_as_long_as_it_says_at_any_microsecond():
    found = read_when("in 5 minutes", now=NOW.replace(microsecond=123_456), zone=BERLIN)

    assert found.schedule == {"delay_seconds": 300}


def test_every_offered_example_is_understood():
    for example in EXAMPLES:
        assert read_when(example, now=NOW, zone=BERLIN).expression
