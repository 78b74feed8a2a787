from __future__ import annotations

from datetime import date

import pytest

from shared.exceptions import InvalidInput
from tasks.ical import read_ical
from tests.tasks.schedules.instants import utc

NOW = utc("2026-11-21 12:00")


def calendar(*events: str, head: str = "") -> str:
    parts = [f"BEGIN:VEVENT\n{event}\nEND:VEVENT" for event in events]
    return "\n".join(["BEGIN:VCALENDAR", "VERSION:2.0", *([head] if head else []), *parts]) + (
        "\nEND:VCALENDAR\n"
    )


def read(*events: str, head: str = ""):
    return read_ical(calendar(*events, head=head), now=NOW)


def spans(found) -> list[str]:
    return [f"{start:%m-%d %H:%M}-{end:%m-%d %H:%M}" for start, end, _ in found.windows]


def test_an_event_of_whole_days_is_a_date_for_each_of_them():
    found = read(
        "DTSTART;VALUE=DATE:20261225\nDTEND;VALUE=DATE:20261227\nSUMMARY:Christmas\\, both",
        "DTSTART;VALUE=DATE:20270101",
        "DTSTART;VALUE=DATE:20270301\nDURATION:P2D",
    )

    assert found.dates == [
        (date(2026, 12, 25), "Christmas, both"),
        (date(2026, 12, 26), "Christmas, both"),
        (date(2027, 1, 1), ""),
        (date(2027, 3, 1), ""),
        (date(2027, 3, 2), ""),
    ]
    assert not found.windows
    assert not found.skipped


def test_a_timed_event_is_a_window_in_its_zone():
    found = read(
        "DTSTART:20261120T080000Z\nDTEND:20261120T090000Z",
        "DTSTART;TZID=Europe/Berlin:20261120T080000\nDURATION:PT1H30M",
        "DTSTART;TZID=/mozilla.org/20050126_1/Europe/Berlin:20261120T080000\nDURATION:PT1H",
        "DTSTART:20261120T080000\nDURATION:PT1H",
        head="X-WR-TIMEZONE:America/New_York",
    )

    assert spans(found) == [
        "11-20 08:00-11-20 09:00",
        "11-20 07:00-11-20 08:30",
        "11-20 07:00-11-20 08:00",
        "11-20 13:00-11-20 14:00",
    ]


def test_a_repeating_event_keeps_its_local_time_when_the_clocks_change():
    found = read(
        "DTSTART;TZID=Europe/Berlin:20260325T230000\nDURATION:PT2H\nRRULE:FREQ=WEEKLY;COUNT=2"
    )

    assert spans(found) == ["03-25 22:00-03-26 00:00", "04-01 21:00-04-01 23:00"]


@pytest.mark.parametrize(
    ("rule", "count"),
    [
        ("FREQ=YEARLY", 16),  # from five years back to ten ahead
        ("FREQ=YEARLY;UNTIL=20230101", 3),
        ("FREQ=YEARLY;UNTIL=20221231T230000Z", 2),
    ],
)
def test_a_rule_is_followed_within_its_range_and_until_its_end(rule, count):
    assert len(read(f"DTSTART;VALUE=DATE:19900101\nRRULE:{rule}").dates) == count


def test_instances_are_taken_out_put_in_and_moved():
    found = read(
        "UID:1\nDTSTART;TZID=Europe/Berlin:20261102T080000\nDURATION:PT1H\n"
        "RRULE:FREQ=WEEKLY;COUNT=4\nEXDATE:20261109T070000Z\n"
        "RDATE;TZID=Europe/Berlin:20261103T080000",
        "UID:1\nRECURRENCE-ID;TZID=Europe/Berlin:20261116T080000\n"
        "DTSTART;TZID=Europe/Berlin:20261117T100000\nDURATION:PT1H",
        "UID:1\nRECURRENCE-ID;TZID=Europe/Berlin:20261123T080000\nSTATUS:CANCELLED\n"
        "DTSTART;TZID=Europe/Berlin:20261123T080000\nDURATION:PT1H",
    )

    assert spans(found) == [
        "11-02 07:00-11-02 08:00",
        "11-03 07:00-11-03 08:00",
        "11-17 09:00-11-17 10:00",
    ]


@pytest.mark.parametrize(
    ("event", "reason"),
    [
        ("DTSTART:20261120T080000Z\nDURATION:PT1H\nRRULE:FREQ=SECONDLY", "within a day"),
        ("DTSTART;VALUE=DATE:20261120\nRRULE:FREQ=YEARLY;BYWEEKNO=1", "BYWEEKNO"),
        ("DTSTART;TZID=W. Europe Standard Time:20261120T080000\nDURATION:PT1H", "time zone"),
        ("DTSTART:20261120T080000Z", "takes no time"),
        ("DTSTART;VALUE=DATE:20261120\nSTATUS:CANCELLED", "cancelled"),
        ("DTSTART;VALUE=DATE:20261120\nDTEND;VALUE=DATE:20461120", "ten years"),
        ("DTSTART:18000101T080000Z\nDURATION:PT1H", "1970"),
        ("DTSTART;VALUE=DATE:00010101\nRRULE:FREQ=DAILY;COUNT=999999999", "too long"),
    ],
)
def test_what_is_not_understood_is_left_out_with_its_line_and_reason(event, reason):
    found = read(f"SUMMARY:Odd\n{event}", "DTSTART;VALUE=DATE:20261221")

    (skipped,) = found.skipped
    assert (skipped.line, skipped.name) == (3, "Odd")
    assert reason in skipped.reason
    assert found.dates[-1:] == [(date(2026, 12, 21), "")]


@pytest.mark.parametrize(
    ("event", "line"),
    [
        ("SUMMARY:x", 3),
        ("DTSTART:2026", 4),
        ("DTSTART;VALUE=DATE:20261399", 4),
        ("DTSTART:20261120T250000Z\nDURATION:PT1H", 4),
        ("DTSTART:20261120T080000Z\nDTEND;VALUE=DATE:20261121", 5),
        ("DTSTART:20261120T080000Z\nDTEND:20261120T070000Z", 5),
        ("DTSTART:20261120T080000Z\nDURATION:-PT1H", 5),
        ("DTSTART:20261120T080000Z\nDURATION:PT1H\nRRULE:FREQ=DAILY;COUNT=x", 6),
        ("DTSTART:20261120T080000Z\nDURATION:PT1H\nRRULE:FREQ=DAILY;UNTIL=x", 6),
        ("DTSTART:20261120T080000Z\nDURATION:PT1H\nEXDATE:x", 6),
    ],
)
def test_a_value_that_is_broken_is_refused_with_its_line(event, line):
    with pytest.raises(InvalidInput) as refused:
        read(event)

    assert refused.value.errors[0].message.startswith(f"Line {line}:")


def test_a_file_with_too_many_days_is_refused():
    daily = "DTSTART;VALUE=DATE:20210101\nRRULE:FREQ=DAILY"

    with pytest.raises(InvalidInput) as refused:
        read(daily, daily)

    assert [(e.pointer, e.code) for e in refused.value.errors] == [("#/ical", "too_many")]


def test_days_at_the_end_of_time_are_cut():
    found = read(
        "DTSTART;VALUE=DATE:99991231\nDURATION:P5D", "DTSTART;VALUE=DATE:21991231\nDURATION:P5D"
    )

    assert found.dates == [(date(2199, 12, 31), "")]


def test_alarms_and_zones_in_the_file_are_passed_over():
    found = read(
        "DTSTART;VALUE=DATE:20261225\nBEGIN:VALARM\nTRIGGER:-PT15M\nEND:VALARM",
        head="BEGIN:VTIMEZONE\nTZID:Mine\nBEGIN:STANDARD\nDTSTART:19701025T030000\nEND:STANDARD\n"
        "END:VTIMEZONE",
    )

    assert [day for day, _ in found.dates] == [date(2026, 12, 25)]
