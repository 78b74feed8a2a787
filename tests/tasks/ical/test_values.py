from __future__ import annotations

from datetime import datetime, timedelta

import pytest

from tasks.ical.lines import Line
from tasks.ical.values import (
    Length,
    Moment,
    NotRead,
    in_zone_of,
    read_duration,
    read_moment,
    read_moments,
    read_property,
)
from tasks.schedules.zones import find_zone
from tests.tasks.ical.files import local

UTC = find_zone("UTC")


def item(text: str):
    return read_property(Line(5, text.partition(":")[0].partition(";")[0], text))


def moment(text: str) -> Moment:
    return read_moment(item(text), lambda name: find_zone(name or "Asia/Tokyo"))


@pytest.mark.parametrize(
    ("text", "local", "zone"),
    [
        ("DTSTART;VALUE=DATE:20261225", "2026-12-25T00:00", None),
        ("DTSTART:20261225", "2026-12-25T00:00", None),
        ("DTSTART;VALUE=DATE:20261225T000000", "2026-12-25T00:00", None),
        ("DTSTART;VALUE=DATE;TZID=Europe/Berlin:20261225", "2026-12-25T00:00", None),
        ("DTSTART:20261225T080000Z", "2026-12-25T08:00", "UTC"),
        ('DTSTART;TZID="Europe/Berlin":20261225T080000', "2026-12-25T08:00", "Europe/Berlin"),
        ("DTSTART;TZID=Europe/Berlin:20261225T080000Z", "2026-12-25T08:00", "UTC"),
        ("DTSTART:20261225T080000", "2026-12-25T08:00", "Asia/Tokyo"),
        ("DTSTART: 20261225t080060z ", "2026-12-25T08:00:59", "UTC"),
    ],
)
def test_a_moment_has_its_local_time_and_its_zone(text, local, zone):
    found = moment(text)

    assert found.local == datetime.fromisoformat(local)
    assert (found.zone.name if found.zone else None) == zone


@pytest.mark.parametrize("value", ["", "x", "20260230", "20261225T25", "P1D", "1" * 5000])
def test_what_is_no_moment_is_refused_with_its_line(value):
    with pytest.raises(NotRead, match=r"its DTSTART \(line 5\)"):
        moment(f"DTSTART:{value}")


@pytest.mark.parametrize(
    ("text", "days", "rest"),
    [
        ("P1D", 1, 0),
        ("PT24H", 0, 86_400),
        ("P1W", 7, 0),
        ("P1DT2H", 1, 7_200),
        ("+pt90m", 0, 5_400),
    ],
)
def test_days_of_a_duration_are_kept_apart_from_its_hours(text, days, rest):
    assert read_duration(item(f"DURATION:{text}")) == Length(days, timedelta(seconds=rest))


@pytest.mark.parametrize("text", ["", "x", "-PT1H", "P99999999999D", "P20000D", "20260101"])
def test_what_is_no_duration_is_refused(text):
    with pytest.raises(NotRead):
        read_duration(item(f"DURATION:{text}"))


def test_a_list_has_moments_and_periods_with_their_lengths():
    listed = item("RDATE;VALUE=PERIOD:20260101T080000Z/PT2H,,20260102T080000Z")

    found = list(read_moments(listed, lambda _: UTC))

    assert [length for _, length in found] == [Length(0, timedelta(hours=2)), None]


@pytest.mark.parametrize(
    "value", ["20260101T080000Z/20260101", "20260101T080000Z/20260101T070000Z"]
)
def test_a_period_that_ends_on_a_day_or_before_its_start_is_refused(value):
    with pytest.raises(NotRead):
        list(read_moments(item(f"RDATE:{value}"), lambda _: UTC))


def test_a_moment_is_told_in_the_zone_of_the_event():
    start = Moment(local("2026-01-01 08:00"), find_zone("Europe/Berlin"))

    assert in_zone_of(Moment(local("2026-01-02 07:00"), UTC), start) == local("2026-01-02 08:00")
    assert in_zone_of(Moment(local("2026-01-02"), None), start) == local("2026-01-02 08:00")
    far = Moment(local("9999-01-02"), UTC)
    assert in_zone_of(far, start) == far.local


def test_a_whole_day_is_no_instant_and_a_line_without_a_value_no_property():
    with pytest.raises(ValueError, match="no instant"):
        Moment(local("2026-01-01"), None).instant()
    with pytest.raises(NotRead, match="is no property"):
        item("DTSTART;;x")
