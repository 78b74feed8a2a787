from __future__ import annotations

from dataclasses import replace
from datetime import date

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tasks.ical.found import NotIcal
from tasks.ical.limits import Limits
from tests.tasks.ical.files import (
    PATIENT,
    calendar,
    days,
    notes,
    read,
    read_raw,
    reasons,
    spans,
    spends_time,
    zone,
)

NEXT = "DTSTART;VALUE=DATE:20261221"
HOUR = "DURATION:PT1H"


def test_an_event_of_whole_days_is_a_date_for_each_of_them():
    found = read(
        "DTSTART;VALUE=DATE:20261225\nDTEND;VALUE=DATE:20261227\nSUMMARY:Christmas\\, both",
        "DTSTART;VALUE=DATE:20270101",
        "DTSTART;VALUE=DATE:20270301\nDURATION:P2D",
        "DTSTART;VALUE=DATE:20270401\nDTEND;VALUE=DATE:20270401",
        "DTSTART;VALUE=DATE:20270501\nDURATION:PT36H",
    )

    assert [(str(day), source.name) for day, source in found.dates] == [
        ("2026-12-25", "Christmas, both"),
        ("2026-12-26", "Christmas, both"),
        ("2027-01-01", ""),
        ("2027-03-01", ""),
        ("2027-03-02", ""),
        ("2027-04-01", ""),
        ("2027-05-01", ""),
        ("2027-05-02", ""),
    ]
    assert not found.windows
    assert not found.skipped.count


def test_a_timed_event_is_a_window_in_its_zone():
    found = read(
        "DTSTART:20261120T080000Z\nDTEND:20261120T090000Z",
        "DTSTART;TZID=Europe/Berlin:20261121T080000\nDURATION:PT1H30M",
        f"DTSTART;TZID=/mozilla.org/20050126_1/Europe/Berlin:20261122T080000\n{HOUR}",
        f"DTSTART:20261123T080000\n{HOUR}",
        head="X-WR-TIMEZONE:America/New_York",
    )

    assert spans(found) == [
        "11-20 08:00-11-20 09:00",
        "11-21 07:00-11-21 08:30",
        "11-22 07:00-11-22 08:00",
        "11-23 13:00-11-23 14:00",
    ]


@pytest.mark.parametrize(
    ("event", "expected"),
    [
        # The hour from 2 to 3 is missing: hours are exact, days keep the time of day.
        ("DTSTART;TZID=Europe/Berlin:20260329T013000\nDURATION:PT2H", "00:30-03-29 02:30"),
        ("DTSTART;TZID=Europe/Berlin:20260328T120000\nDURATION:P1D", "11:00-03-29 10:00"),
        ("DTSTART;TZID=Europe/Berlin:20260328T120000\nDURATION:PT24H", "11:00-03-29 11:00"),
        ("DTSTART;TZID=Europe/Berlin:20260329T023000\nDURATION:PT1H", "01:30-03-29 02:30"),
        # The hour from 2 to 3 comes twice: the first one is meant.
        ("DTSTART;TZID=Europe/Berlin:20261025T023000\nDURATION:PT1H", "00:30-10-25 01:30"),
    ],
)
def test_a_window_on_a_night_of_changed_clocks_is_as_long_as_the_standard_says(event, expected):
    assert spans(read(event))[0].partition(" ")[2] == expected


def test_a_repeating_event_keeps_its_local_time_and_its_length_when_the_clocks_change():
    found = read(
        "DTSTART;TZID=Europe/Berlin:20260322T013000\nDTEND;TZID=Europe/Berlin:20260322T033000\n"
        "RRULE:FREQ=WEEKLY;COUNT=3"
    )

    assert spans(found) == [
        "03-22 00:30-03-22 02:30",
        "03-29 00:30-03-29 02:30",
        "04-04 23:30-04-05 01:30",
    ]


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
    assert reasons(found) == ["it is cancelled"]


@pytest.mark.parametrize(
    ("event", "reason"),
    [
        ("SUMMARY:x", "it has no DTSTART"),
        ("DTSTART:2026", "its DTSTART (line 8) cannot be read"),
        ("DTSTART;VALUE=DATE:20261399", "its DTSTART (line 8) cannot be read"),
        (f"DTSTART:20261120T250000Z\n{HOUR}", "its DTSTART (line 8) cannot be read"),
        ("DTSTART:20261120T080000Z\nDTEND;VALUE=DATE:20261121", "not both days or both times"),
        ("DTSTART;VALUE=DATE:20261120\nDTEND:20261121T080000Z", "not both days or both times"),
        ("DTSTART:20261120T080000Z\nDTEND:20261120T070000Z", "is before its start"),
        ("DTSTART;VALUE=DATE:20261120\nDTEND;VALUE=DATE:20261119", "is before its start"),
        ("DTSTART:20261120T080000Z\nDURATION:-PT1H", "its DURATION (line 9) is negative"),
        ("DTSTART:20261120T080000Z\nDURATION:1 hour", "its DURATION (line 9) cannot be read"),
        ("DTSTART:20261120T080000Z", "it takes no time"),
        (f"DTSTART:20261120T080000Z\n{HOUR}\nEXDATE:x", "its EXDATE (line 10) cannot be read"),
        (f"DTSTART:20261120T080000Z\n{HOUR}\nRDATE:x", "its RDATE (line 10) cannot be read"),
        (f"RECURRENCE-ID:x\nDTSTART:20261120T080000Z\n{HOUR}", "its RECURRENCE-ID (line 8)"),
        (f"DTSTART:20261120T080000Z\n{HOUR}\nRRULE FREQ=DAILY", "its RRULE (line 10) has no colon"),
        ("DTSTART;VALUE=DATE:20261120\nSTATUS:CANCELLED", "it is cancelled"),
        ("DTSTART;VALUE=DATE:20261120\nDTEND;VALUE=DATE:20461120", "longer than ten years"),
        (f"DTSTART:18000101T080000Z\n{HOUR}", "1970 to 2199"),
        ("DTSTART;VALUE=DATE:99991231", "1970 to 2199"),
        ("DTSTART;VALUE=DATE:19691231", "1970 to 2199"),
        (f"DTSTART;TZID=Nowhere:20261120T080000\n{HOUR}", "its time zone 'Nowhere' is not known"),
        ("DTSTART;VALUE=DATE:20101120\nRRULE:FREQ=DAILY;COUNT=9", "no day or time between 2021"),
    ],
)
def test_an_event_that_cannot_be_read_is_left_out_and_named_and_the_rest_is_read(event, reason):
    found = read(NEXT, f"SUMMARY:Odd\nUID:odd@x\n{event}", "DTSTART;VALUE=DATE:20261222")

    assert days(found) == ["2026-12-21", "2026-12-22"]
    (skipped,) = found.skipped.shown
    assert (skipped.source.line, skipped.source.name, skipped.source.uid) == (5, "Odd", "odd@x")
    assert reason in skipped.reason


@pytest.mark.parametrize("rule", ["", ";", "FREQ=YEARLY;COUNT=1;", "FREQ = YEARLY ; COUNT = 1"])
def test_an_empty_rule_and_one_with_a_semicolon_too_many_lose_no_holiday(rule):
    found = read(f"{NEXT}\nRRULE:{rule}")

    assert days(found) == ["2026-12-21"]
    assert not found.skipped.count
    assert [note for note in notes(found) if "empty" not in note] == []


def test_a_line_that_is_no_property_is_passed_over_and_named_and_its_event_is_read():
    found = read(f"{NEXT}\nDESCRIPTION:first part\nsecond part, without a name", NEXT)

    assert days(found) == ["2026-12-21"]
    assert notes(found) == ["line 5 is no property and was passed over"]


def test_endless_events_keep_what_is_nearest_to_today_and_each_says_what_it_lost():
    daily = [
        f"UID:{hour}\nDTSTART:20210101T{hour}0000Z\n{HOUR}\nRRULE:FREQ=DAILY" for hour in (10, 14)
    ]

    found = read(*daily)

    assert len(found.windows) == 10_000
    assert f"{found.windows[0][0]:%Y} {found.windows[-1][0]:%Y-%m-%d}" == "2023 2036-12-31"
    assert [one.source.uid for one in found.skipped.shown] == ["10", "14"]
    assert reasons(found)[0].startswith(
        "844 of its windows are left out, since a calendar holds at most 10000; those from 2023-"
    )


def test_the_same_day_of_many_events_counts_once():
    daily = "DTSTART;VALUE=DATE:20210101\nRRULE:FREQ=DAILY"

    found = read(daily, f"SUMMARY:Named\n{daily}", daily)

    assert len(found.dates) == 5_844
    assert found.dates[0][1].name == "Named"
    assert not found.skipped.count


def test_of_one_uid_the_event_with_the_highest_sequence_counts():
    found = read(
        "UID:a\nSEQUENCE:1\nDTSTART;VALUE=DATE:20261201",
        "UID:a\nSEQUENCE:10\nDTSTART;VALUE=DATE:20261202",
        "UID:a\nDTSTART;VALUE=DATE:20261203",
    )

    assert days(found) == ["2026-12-02"]
    assert reasons(found) == ["the file has a later version of it, SEQUENCE 10"] * 2


def test_events_that_share_a_uid_by_mistake_are_all_read():
    assert days(
        read("UID:a\nDTSTART;VALUE=DATE:20261201", "UID:a\nDTSTART;VALUE=DATE:20261202")
    ) == [
        "2026-12-01",
        "2026-12-02",
    ]


def test_a_transparent_event_is_read_since_files_of_holidays_call_them_so():
    assert days(read(f"{NEXT}\nTRANSP:TRANSPARENT")) == ["2026-12-21"]


@pytest.mark.parametrize(
    ("head", "reason"),
    [
        ("METHOD:CANCEL", "the file cancels it (METHOD:CANCEL)"),
        ("CALSCALE:HEBREW", "the file counts days by another calendar (CALSCALE:HEBREW)"),
    ],
)
def test_a_calendar_of_which_nothing_can_be_used_names_every_event(head, reason):
    found = read(NEXT, NEXT, head=head)

    assert reasons(found) == [reason] * 2
    assert not found.dates


def test_floating_times_without_a_zone_of_the_file_are_utc_and_the_report_says_so():
    found = read(f"DTSTART:20261123T080000\n{HOUR}")

    assert spans(found) == ["11-23 08:00-11-23 09:00"]
    assert notes(found) == ["times without a zone were read as UTC, since the file names no zone"]
    assert not notes(read(NEXT))


def test_with_an_unknown_zone_of_the_file_floating_times_are_left_out_and_others_are_read():
    found = read(
        f"DTSTART:20261123T080000\n{HOUR}",
        f"DTSTART:20261124T080000Z\n{HOUR}",
        NEXT,
        head="X-WR-TIMEZONE:Mars/Base",
    )

    assert reasons(found) == ["its time zone 'Mars/Base' is not known"]
    assert (spans(found), days(found)) == (["11-24 08:00-11-24 09:00"], ["2026-12-21"])


def test_a_zone_that_the_file_defines_may_stand_behind_the_events():
    raw = calendar(f"DTSTART;TZID=Ours:20260715T080000\n{HOUR}").replace(
        b"END:VCALENDAR", zone("Ours").encode() + b"\nEND:VCALENDAR"
    )

    assert spans(read_raw(raw)) == ["07-15 06:00-07-15 07:00"]


def test_components_that_are_no_events_are_counted_and_named():
    found = read(NEXT, head="BEGIN:VTODO\nDTSTART:20261201\nEND:VTODO\n" * 2 + "X-A:b")

    assert reasons(found) == ["2 VTODO are no events"]
    assert found.skipped.shown[0].source.line == 2


def test_each_calendar_of_a_file_has_its_own_zone():
    raw = b"".join(
        calendar(f"DTSTART:20261123T080000\n{HOUR}", head=f"X-WR-TIMEZONE:{name}")
        for name in ("Asia/Tokyo", "America/New_York")
    )

    assert spans(read_raw(raw)) == ["11-22 23:00-11-23 00:00", "11-23 13:00-11-23 14:00"]


@pytest.mark.parametrize("raw", [b"", b"hello", b"\x00\xff\xfe", b"<html>\n", b"BEGIN:VEVENT\n"])
def test_bytes_without_a_calendar_are_no_icalendar_file(raw):
    with pytest.raises(NotIcal):
        read_raw(raw)


@spends_time
@pytest.mark.parametrize(
    "rule",
    [
        "FREQ=SECONDLY",
        "FREQ=DAILY;BYMONTH=2;BYMONTHDAY=30",
        "FREQ=HOURLY;BYMONTH=2;BYMONTHDAY=31;BYHOUR=3",
        "FREQ=MONTHLY;INTERVAL=1;BYMONTHDAY=31;BYMONTH=4",
    ],
)
def test_a_rule_without_end_or_days_is_stopped_and_costs_no_other_event(rule):
    # The last rule alone comes to its end, after more than ten times as long.
    limits = replace(PATIENT, event_seconds=0.03, repetitions=100_000_000)

    found = read(f"DTSTART:19700101T000000Z\n{HOUR}\nRRULE:{rule}", NEXT, limits=limits)

    assert days(found) == ["2026-12-21"]
    assert reasons(found) == ["it takes too long to follow"]


def test_a_rule_that_repeats_too_often_is_left_out():
    limits = replace(PATIENT, repetitions=100)

    found = read(f"DTSTART:20260101T000000Z\n{HOUR}\nRRULE:FREQ=DAILY", NEXT, limits=limits)

    assert reasons(found) == ["it repeats more than 100 times between 2021 and 2036"]
    assert days(found) == ["2026-12-21"]


@spends_time
def test_once_the_time_of_the_file_is_spent_single_events_have_been_read_and_the_rest_is_named():
    limits = Limits(file_seconds=2.0, event_seconds=0.5, repetitions=100_000_000)
    bomb = f"DTSTART:19700101T000000Z\n{HOUR}\nRRULE:FREQ=SECONDLY"

    found = read(*[bomb] * 20, NEXT, limits=limits)

    assert days(found) == ["2026-12-21"]
    assert found.skipped.count == 20
    assert "the file takes too long to read" in reasons(found)[-1]


@spends_time
def test_a_time_zone_that_never_ends_is_stopped_with_the_event_that_asks_for_it():
    limits = replace(PATIENT, event_seconds=0.5)
    endless = zone("Bomb").replace("FREQ=YEARLY;BYMONTH=3", "FREQ=SECONDLY;BYMONTH=3")

    found = read(f"DTSTART;TZID=Bomb:20261120T080000\n{HOUR}", NEXT, head=endless, limits=limits)

    assert days(found) == ["2026-12-21"]
    assert found.skipped.count == 1


def test_a_holiday_of_one_day_is_that_local_day_whatever_zone_the_file_names():
    found = read(NEXT, head="X-WR-TIMEZONE:Pacific/Auckland")

    assert found.dates[0][0] == date(2026, 12, 21)


_LINES = st.sampled_from(
    [
        *("BEGIN:VEVENT", "END:VEVENT", "BEGIN:VCALENDAR", "END:VCALENDAR", "BEGIN:VTIMEZONE"),
        *("END:VTIMEZONE", "BEGIN:STANDARD", "END:STANDARD", "TZID:Z", "TZOFFSETTO:+0100"),
        *("TZOFFSETFROM:+9999", "TZOFFSETFROM:-0000", "X-WR-TIMEZONE:Z", "UID:1", "UID;;:1"),
        *("SEQUENCE:2", "STATUS:CANCELLED", "DTSTART:20261120T080000", "DTSTART:00010101"),
        *("DTSTART;TZID=Z:99991231T235959", "DTSTART;VALUE=DATE:20261120", "DTSTART:20261120T08Z"),
        *("DTEND:20261120T090000", "DTEND:99991231", "DURATION:P", "DURATION:P1W", "DURATION:PT0S"),
        *(
            "RRULE:FREQ=YEARLY;COUNT=3",
            "RRULE:FREQ=WEEKLY;UNTIL=00010101",
            "RRULE:FREQ=DAILY;COUNT=5",
        ),
        *("EXRULE:FREQ=MONTHLY;COUNT=2", "RDATE:20261121", "RDATE:99991231T000000Z/P9999D"),
        *("EXDATE:20261120", "EXDATE;TZID=Z:20261120T080000", "RECURRENCE-ID:20261120"),
        *("RECURRENCE-ID;RANGE=THISANDFUTURE:00010101", "RECURRENCE-ID:20261121T080000Z"),
        *(" folded", "\tfolded", "stray", "", "SUMMARY:\\", 'SUMMARY;A="b:c', "\x00\x0c\u2028"),
    ]
)


@settings(max_examples=200, deadline=None)
@given(st.lists(_LINES, max_size=30))
def test_whatever_lines_follow_each_other_the_file_is_read_and_remarks_have_lines(lines):
    found = read_raw("\n".join(["BEGIN:VCALENDAR", "X-A:b", *lines]).encode())

    assert all(one.source.line >= 1 and one.reason for one in found.skipped.shown)
    assert not [reason for reason in reasons(found) if "it cannot be read (" in reason]


@settings(max_examples=100, deadline=None)
@given(st.binary(max_size=300))
def test_whatever_bytes_follow_the_file_is_read(raw):
    found = read_raw(b"BEGIN:VCALENDAR\nBEGIN:VEVENT\nDTSTART:" + raw)

    assert all(one.source.line >= 1 and one.reason for one in found.skipped.shown)
