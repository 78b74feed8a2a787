"""Instants in plain words, on both sides of now, around changes of the clocks."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest

from tasks.plain_times.moments import EXAMPLES, read_moment
from tasks.schedules.zones import find_zone

#: A Friday, 13:00 in Berlin.
NOW = datetime(2026, 11, 20, 12, tzinfo=UTC)
BERLIN = find_zone("Europe/Berlin")


def read(text: str, *, ahead: bool = True, now: datetime = NOW) -> str:
    found = read_moment(text, now=now, zone=BERLIN, ahead=ahead)
    assert found.utcoffset() == NOW.utcoffset()
    return found.astimezone(BERLIN.info).strftime("%Y-%m-%d %H:%M")


@pytest.mark.parametrize(
    ("text", "ahead", "back"),
    [
        ("2h", "2026-11-20 15:00", "2026-11-20 11:00"),
        ("1h30m", "2026-11-20 14:30", "2026-11-20 11:30"),
        ("PT15M", "2026-11-20 13:15", "2026-11-20 12:45"),
        ("2 hours", "2026-11-20 15:00", "2026-11-20 11:00"),
        ("monday", "2026-11-23 00:00", "2026-11-16 00:00"),
        ("monday 9:00", "2026-11-23 09:00", "2026-11-16 09:00"),
        ("friday 12:30", "2026-11-27 12:30", "2026-11-20 12:30"),
        ("friday 13:30", "2026-11-20 13:30", "2026-11-13 13:30"),
        ("18:00", "2026-11-20 18:00", "2026-11-19 18:00"),
        ("at 9", "2026-11-21 09:00", "2026-11-20 09:00"),
        ("noon on monday", "2026-11-23 12:00", "2026-11-16 12:00"),
        ("24 december", "2026-12-24 00:00", "2025-12-24 00:00"),
        ("29 february 9:00", "2028-02-29 09:00", "2024-02-29 09:00"),
    ],
)
def test_without_a_direction_of_its_own_a_text_follows_the_callers(text, ahead, back):
    assert read(text, ahead=True) == ahead
    assert read(text, ahead=False) == back


@pytest.mark.parametrize("ahead", [True, False])
@pytest.mark.parametrize(
    ("text", "local"),
    [
        ("now", "2026-11-20 13:00"),
        ("in 2 hours", "2026-11-20 15:00"),
        ("in an hour", "2026-11-20 14:00"),
        ("in 3 days and 2 hours", "2026-11-23 15:00"),
        ("for 30 minutes", "2026-11-20 13:30"),
        ("2 hours ago", "2026-11-20 11:00"),
        ("today 18:00", "2026-11-20 18:00"),
        ("tomorrow", "2026-11-21 00:00"),
        ("Tomorrow at 9", "2026-11-21 09:00"),
        ("yesterday 9:00", "2026-11-19 09:00"),
        ("next friday 9:00", "2026-11-27 09:00"),
        ("last friday 18:00", "2026-11-13 18:00"),
        ("2026-12-01 9:00", "2026-12-01 09:00"),
        ("9:00 on 2026-12-01", "2026-12-01 09:00"),
        ("December 1st, 2026 at 9pm", "2026-12-01 21:00"),
        ("until 2026-12-01", "2026-12-01 00:00"),
        ("2026-12-01T09:00:00Z", "2026-12-01 10:00"),
        ("until 2026-12-01T09:00:00Z", "2026-12-01 10:00"),
        ("2026-12-01 9:00 America/New_York", "2026-12-01 15:00"),
    ],
)
def test_a_text_with_a_direction_means_one_instant(text, local, ahead):
    assert read(text, ahead=ahead) == local


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("", "is not understood"),
        ("9", "is not understood"),
        ("tomorow 9:00", "Write it like 'tomorrow 9:00'"),
        ("monday 9:00 sharp", "from 'sharp' on"),
        ("in", "is not understood"),
        ("tomorrow at", "is not understood"),
        ("2026-02-30", "There is no day 2026-02-30"),
        ("2300-01-01", "There is no day"),
        ("30 february", "Month 2 has no day 30"),
        ("99999999d", "further than can be counted"),
        ("in 400000 weeks", "outside of the years 1970 to 2199"),
        ("9999-12-31T23:59:59Z", "outside of the years 1970 to 2199"),
        ("0001-01-01T00:00:00Z", "outside of the years 1970 to 2199"),
        ("2026-13-01T00:00:00Z", "no such date"),
        ("2026-12-01T09:00:00", "RFC 3339"),
        ("٣ hours ago", "is not understood"),
        ("monday ٩:00", "is not understood"),
        ("２０２６-12-01", "is not understood"),
        ("завтра 9:00", "is not understood"),
        ("monday\x00 9:00", "is not understood"),
    ],
)
def test_what_is_no_moment_is_refused_with_a_reason(text, problem):
    with pytest.raises(ValueError, match=problem):
        read(text)


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        (
            "2026-10-25 2:30",
            "02:30 occurs twice on 2026-10-25 in Europe/Berlin (clocks go back). "
            "Write 2026-10-25T02:30:00+02:00 or 2026-10-25T02:30:00+01:00.",
        ),
        (
            "2027-03-28 2:30",
            "02:30 does not exist on 2027-03-28 in Europe/Berlin: the clocks skip it. "
            "Write 2027-03-28T01:59:00+01:00 or 2027-03-28T03:00:00+02:00.",
        ),
    ],
)
def test_a_local_time_that_is_skipped_or_repeated_is_told_and_not_guessed(text, sentence):
    with pytest.raises(ValueError, match="clocks") as refused:
        read(text)

    assert str(refused.value) == sentence
    for word in sentence.removesuffix(".").split():
        if word.startswith("20") and "T" in word:
            assert read(word)


def test_an_end_is_the_first_such_moment_behind_its_begin():
    begin = datetime(2027, 3, 1, 8, tzinfo=UTC)

    def end(text: str) -> str:
        found = read_moment(text, now=NOW, zone=BERLIN, ahead=True, after=begin)
        return found.astimezone(BERLIN.info).strftime("%Y-%m-%d %H:%M")

    assert end("monday 8:00") == "2027-03-08 08:00"
    assert end("friday") == "2027-03-05 00:00"
    assert end("18:00") == "2027-03-01 18:00"
    assert end("1 february") == "2028-02-01 00:00"
    # A direction of its own counts from now.
    assert end("next friday") == "2026-11-27 00:00"
    assert end("tomorrow") == "2026-11-21 00:00"


def test_a_day_whose_midnight_is_skipped_begins_behind_it():
    zone = find_zone("America/Santiago")

    found = read_moment("2027-09-05", now=NOW, zone=zone)

    assert found.astimezone(zone.info).isoformat() == "2027-09-05T01:00:00-03:00"


def test_every_example_is_understood():
    for example in EXAMPLES:
        assert read(example)
