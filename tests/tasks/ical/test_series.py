"""Repetitions: examples, and rules against the standard's text."""

from __future__ import annotations

import pytest

from tests.tasks.ical.files import days, notes, read, reasons, spans

HOUR = "DURATION:PT1H"


def test_one_and_all_later_instances_are_moved_and_made_longer():
    found = read(
        "UID:a\nDTSTART;TZID=Europe/Berlin:20261102T080000\nDURATION:PT1H\n"
        "RRULE:FREQ=WEEKLY;COUNT=4",
        "UID:a\nRECURRENCE-ID;RANGE=THISANDFUTURE;TZID=Europe/Berlin:20261116T080000\n"
        "DTSTART;TZID=Europe/Berlin:20261117T100000\nDURATION:PT3H",
    )

    assert spans(found) == [
        "11-02 07:00-11-02 08:00",
        "11-09 07:00-11-09 08:00",
        "11-17 09:00-11-17 12:00",
        "11-24 09:00-11-24 12:00",
    ]


def test_one_and_all_later_days_are_moved():
    found = read(
        "UID:a\nDTSTART;VALUE=DATE:20261102\nRRULE:FREQ=WEEKLY;COUNT=4",
        "UID:a\nRECURRENCE-ID;VALUE=DATE;RANGE=THISANDFUTURE:20261116\n"
        "DTSTART;VALUE=DATE:20261118\nDTEND;VALUE=DATE:20261120",
    )

    assert days(found) == [
        *("2026-11-02", "2026-11-09"),
        *("2026-11-18", "2026-11-19", "2026-11-25", "2026-11-26"),
    ]


def test_one_and_all_later_instances_may_be_cancelled():
    found = read(
        "UID:a\nDTSTART;VALUE=DATE:20261102\nRRULE:FREQ=WEEKLY;COUNT=4",
        "UID:a\nRECURRENCE-ID;VALUE=DATE;RANGE=THISANDFUTURE:20261116\n"
        "DTSTART;VALUE=DATE:20261116\nSTATUS:CANCELLED",
    )

    assert days(found) == ["2026-11-02", "2026-11-09"]


def test_a_later_change_of_days_into_times_is_named():
    found = read(
        "UID:a\nDTSTART;VALUE=DATE:20261102\nRRULE:FREQ=WEEKLY;COUNT=4",
        "UID:a\nRECURRENCE-ID;VALUE=DATE;RANGE=THISANDFUTURE:20261116\n"
        f"DTSTART:20261116T080000Z\n{HOUR}",
    )

    assert "times into days" in reasons(found)[0]
    assert spans(found) == ["11-16 08:00-11-16 09:00"]


def test_a_period_has_a_length_of_its_own():
    found = read(
        "DTSTART;TZID=Europe/Berlin:20261102T080000\nDURATION:PT1H\n"
        "RDATE;VALUE=PERIOD;TZID=Europe/Berlin:20261103T080000/PT5H,"
        "20261104T080000/20261104T083000\n"
        "RDATE;VALUE=PERIOD:20261105T080000Z/20261105T100000Z"
    )

    assert spans(found) == [
        "11-02 07:00-11-02 08:00",
        "11-03 07:00-11-03 12:00",
        "11-04 07:00-11-04 07:30",
        "11-05 08:00-11-05 10:00",
    ]


def test_rules_are_added_up_and_rules_of_exceptions_taken_away():
    found = read(
        "DTSTART;VALUE=DATE:20261101\nRRULE:FREQ=DAILY;COUNT=6\nRRULE:FREQ=MONTHLY;COUNT=3\n"
        "EXRULE:FREQ=DAILY;INTERVAL=2;COUNT=3\nEXDATE;VALUE=DATE:20261102"
    )

    assert days(found) == ["2026-11-04", "2026-11-06", "2026-12-01", "2027-01-01"]


@pytest.mark.parametrize(
    ("until", "count"),
    [
        ("20261116", 3),  # a day that is named is included
        ("20261116T070000Z", 3),
        ("20261116T065959Z", 2),
        ("20261116T080000", 3),  # local time of the event
        ("20261101", 0),
    ],
)
def test_a_rule_of_times_ends_with_an_until_of_any_type(until, count):
    found = read(
        f"DTSTART;TZID=Europe/Berlin:20261102T080000\n{HOUR}\nRRULE:FREQ=WEEKLY;UNTIL={until}"
    )

    assert len(found.windows) == count
    assert bool(found.skipped.count) == (count == 0)


@pytest.mark.parametrize(
    ("until", "count"), [("20261116T070000Z", 3), ("20261116", 3), ("20261115", 2)]
)
def test_a_rule_of_days_ends_with_an_until_of_any_type(until, count):
    found = read(f"DTSTART;VALUE=DATE:20261102\nRRULE:FREQ=WEEKLY;UNTIL={until}")

    assert len(found.dates) == count


@pytest.mark.parametrize(
    "listed",
    [
        "EXDATE;VALUE=DATE:20261109",
        "EXDATE:20261109T070000Z",
        "EXDATE;TZID=Asia/Tokyo:20261109T160000",
    ],
)
def test_an_instance_is_taken_out_by_its_day_or_its_time_in_any_zone(listed):
    found = read(
        f"DTSTART;TZID=Europe/Berlin:20261102T080000\n{HOUR}\nRRULE:FREQ=WEEKLY;COUNT=2\n{listed}"
    )

    assert spans(found) == ["11-02 07:00-11-02 08:00"]


@pytest.mark.parametrize(
    "listed", ["EXDATE:20261109", "EXDATE:20261109T000000", "EXDATE:20261109T000000Z"]
)
def test_a_day_is_taken_out_by_a_time_on_it(listed):
    assert days(read(f"DTSTART;VALUE=DATE:20261102\nRRULE:FREQ=WEEKLY;COUNT=2\n{listed}")) == [
        "2026-11-02"
    ]


def test_a_replaced_instance_that_cannot_be_read_leaves_the_original_one():
    found = read(
        "UID:a\nDTSTART;VALUE=DATE:20261102\nRRULE:FREQ=WEEKLY;COUNT=2",
        "UID:a\nRECURRENCE-ID;VALUE=DATE:20261109\nDTSTART;VALUE=DATE:20261399",
    )

    assert days(found) == ["2026-11-02", "2026-11-09"]
    assert found.skipped.count == 1


def test_a_replaced_instance_of_a_series_that_is_elsewhere_is_read():
    found = read("UID:a\nRECURRENCE-ID;VALUE=DATE:20261109\nDTSTART;VALUE=DATE:20261110")

    assert days(found) == ["2026-11-10"]


def test_of_a_replaced_instance_the_last_version_counts():
    found = read(
        "UID:a\nDTSTART;VALUE=DATE:20261102\nRRULE:FREQ=WEEKLY;COUNT=2",
        "UID:a\nSEQUENCE:2\nRECURRENCE-ID;VALUE=DATE:20261109\nDTSTART;VALUE=DATE:20261111",
        "UID:a\nSEQUENCE:1\nRECURRENCE-ID;VALUE=DATE:20261109\nDTSTART;VALUE=DATE:20261110",
    )

    assert days(found) == ["2026-11-02", "2026-11-11"]


def test_rules_by_week_number_and_by_the_hour_are_followed():
    weeks = read("DTSTART;VALUE=DATE:20260101\nRRULE:FREQ=YEARLY;BYWEEKNO=20;BYDAY=MO;COUNT=2")
    hours = read(f"DTSTART:20261102T000000Z\n{HOUR}\nRRULE:FREQ=HOURLY;INTERVAL=6;COUNT=3")

    assert days(weeks) == ["2026-01-01", "2026-05-11", "2027-05-17"]
    assert spans(hours)[2] == "11-02 12:00-11-02 13:00"


def test_an_empty_rule_is_passed_over_and_named():
    found = read("DTSTART;VALUE=DATE:20261102\nRRULE:")

    assert notes(found) == ["its RRULE (line 4) is empty and was passed over"]


# Rules of RFC 5545, section 3.8.5.3, moved into the years that are followed.
EXAMPLES = [
    ("FREQ=MONTHLY;COUNT=3;BYDAY=1FR", "20220107", ["2022-01-07", "2022-02-04", "2022-03-04"]),
    ("FREQ=MONTHLY;COUNT=3;BYMONTHDAY=-3", "20220129", ["2022-01-29", "2022-02-26", "2022-03-29"]),
    ("FREQ=MONTHLY;COUNT=2;BYDAY=FR;BYMONTHDAY=13", "20220513", ["2022-05-13", "2023-01-13"]),
    (
        "FREQ=MONTHLY;COUNT=3;BYDAY=TU,WE,TH;BYSETPOS=3",
        "20220106",
        ["2022-01-06", "2022-02-03", "2022-03-03"],
    ),
    ("FREQ=YEARLY;COUNT=3;BYDAY=20MO", "20220516", ["2022-05-16", "2023-05-15", "2024-05-13"]),
    ("FREQ=YEARLY;COUNT=2;BYMONTH=2;BYMONTHDAY=29", "20240229", ["2024-02-29", "2028-02-29"]),
    (
        "FREQ=WEEKLY;INTERVAL=2;COUNT=4;BYDAY=TU,SU;WKST=MO",
        "20220104",
        ["2022-01-04", "2022-01-09", "2022-01-18", "2022-01-23"],
    ),
    (
        "FREQ=WEEKLY;INTERVAL=2;COUNT=4;BYDAY=TU,SU;WKST=SU",
        "20220104",
        ["2022-01-04", "2022-01-16", "2022-01-18", "2022-01-30"],
    ),
]


@pytest.mark.parametrize(("rule", "start", "expected"), EXAMPLES)
def test_a_rule_gives_the_days_that_the_standard_says(rule, start, expected):
    assert days(read(f"DTSTART;VALUE=DATE:{start}\nRRULE:{rule}")) == expected
