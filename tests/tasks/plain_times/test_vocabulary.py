"""Words one after the other, times of day, zones, and the error that offers examples."""

from __future__ import annotations

import pytest

from tasks.plain_times.vocabulary import (
    MAX_LENGTH,
    Clock,
    PlainTimeError,
    Words,
    named_zone,
    not_understood,
    split,
)
from tasks.schedules.zones import find_zone

UTC = find_zone("UTC")


@pytest.mark.parametrize(
    ("text", "clock"),
    [
        ("9:00", Clock(9, 0)),
        ("09:05:30", Clock(9, 5, 30)),
        ("9am", Clock(9, 0)),
        ("12 am", Clock(0, 0)),
        ("12pm", Clock(12, 0)),
        ("9:30 pm", Clock(21, 30)),
        ("noon", Clock(12, 0)),
        ("midnight", Clock(0, 0)),
    ],
)
def test_a_time_of_day_is_read(text, clock):
    words, _ = split(text, UTC)

    assert words.take_time() == clock
    assert words.next == ""


@pytest.mark.parametrize("text", ["24:00", "9:60", "13pm", "0am", "9:00:61"])
def test_a_time_that_no_day_has_is_refused(text):
    words, _ = split(text, UTC)

    with pytest.raises(PlainTimeError, match="is no time"):
        words.take_time()


def test_a_plain_number_is_a_time_only_where_one_is_due():
    assert split("9", UTC)[0].take_time() is None
    assert split("9", UTC)[0].take_time(bare=True) == Clock(9, 0)


@pytest.mark.parametrize(
    ("text", "name", "rest"),
    [
        ("monday 9:00 Europe/Berlin", "Europe/Berlin", "monday 9:00"),
        ("monday 9:00 america/new_york", "America/New_York", "monday 9:00"),
        ("At 09:00, UTC, until 2027-01-01", "UTC", "at 9"),
        ("monday 9:00", "Asia/Tokyo", "monday 9:00"),
    ],
)
def test_a_zone_in_the_text_counts_before_the_given_one(text, name, rest):
    words, zone = split(text, find_zone("Asia/Tokyo"))

    assert zone.name == name
    assert words.rest().replace("09:00 ,", "9").startswith(rest)


def test_an_unknown_zone_is_refused_with_the_nearest():
    with pytest.raises(PlainTimeError, match="Did you mean 'Europe/Berlin'"):
        named_zone("monday 9:00 Europe/Berlni")


def test_a_long_text_is_refused_before_it_is_read():
    with pytest.raises(PlainTimeError, match="longer than"):
        split("x" * (MAX_LENGTH + 1), UTC)


def test_the_error_names_the_word_that_stopped_it_and_near_examples():
    words = Words(["every", "moday"])
    words.take("every")

    message = str(not_understood("every moday", words, ["every day", "every monday", "noon"]))

    assert message.startswith("'every moday' is not understood from 'moday' on.")
    assert "'every monday'" in message
    assert "noon" not in message
