from __future__ import annotations

from datetime import UTC, date, datetime

import pytest

from tasks.schedules.clock_changes import changes_between, rule_text
from tasks.schedules.zones import find_zone

YEAR = datetime(2027, 1, 1, tzinfo=UTC), datetime(2028, 1, 1, tzinfo=UTC)


def test_the_changes_of_a_year_have_their_day_instant_and_length():
    forward, back = changes_between(find_zone("Europe/Berlin"), *YEAR)

    assert (forward.day, forward.seconds) == (date(2027, 3, 28), 3600)
    assert forward.at == datetime(2027, 3, 28, 1, tzinfo=UTC)
    assert forward.words == "the clocks go forward 60 minutes"
    assert (back.day, back.words) == (date(2027, 10, 31), "the clocks go back 60 minutes")


def test_a_stretch_has_the_change_at_its_end_and_not_the_one_at_its_begin():
    zone = find_zone("Europe/Berlin")
    [at] = [one.at for one in changes_between(zone, YEAR[0], datetime(2027, 6, 1, tzinfo=UTC))]

    assert [one.at for one in changes_between(zone, YEAR[0], at)] == [at]
    assert changes_between(zone, at, at) == []


def test_a_half_hour_change_is_told_as_such():
    [back, _] = changes_between(find_zone("Australia/Lord_Howe"), *YEAR)

    assert back.words == "the clocks go back 30 minutes"


def test_a_zone_without_changes_has_none():
    assert changes_between(find_zone("UTC"), *YEAR) == []


@pytest.mark.parametrize(
    ("schedule", "words"),
    [
        ({"every": "PT1H"}, ["fixed rate"]),
        ({"run_at": "2027-01-01T00:00:00Z"}, ["one fixed instant"]),
        ({"cron_expression": "*/5 * * * *"}, ["every real time that matches"]),
        ({"cron_expression": "30 2 * * *"}, ["right after the gap", "once, the first time"]),
        ({"cron_expression": "30 2 * * *", "dst_gap": "skip"}, ["does not run that day"]),
        ({"cron_expression": "30 2 * * *", "dst_gap": "before"}, ["right before the gap"]),
        ({"cron_expression": "30 2 * * *", "dst_overlap": "second"}, ["the second time"]),
        ({"cron_expression": "30 2 * * *", "dst_overlap": "both"}, ["both times"]),
    ],
)
def test_the_rule_is_told_in_words(schedule: dict[str, str], words: list[str]):
    text = rule_text(schedule)

    assert all(word in text for word in words), text
    assert text.endswith(".")
