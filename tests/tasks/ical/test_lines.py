from __future__ import annotations

import pytest

from tasks.ical.found import NotIcal
from tasks.ical.lines import LONGEST_LINE, plain_text, read_calendars

EVENT = "BEGIN:VEVENT\nDTSTART:20261120T080000Z\nSUMMARY:Ü\nEND:VEVENT\n"


def lines_of(text: str, *, charset: str = "", encoding: str = "utf-8"):
    (calendar,) = read_calendars(text.encode(encoding), charset)
    return [(line.number, line.text) for event in calendar.parts for line in event.lines]


def events_of(*lines: str):
    raw = "\n".join(["BEGIN:VCALENDAR", *lines, ""]).encode()
    return [event for calendar in read_calendars(raw) for event in calendar.parts]


@pytest.mark.parametrize("end", ["\n", "\r\n", "\r", "\r\r\n", "\n\n"])
def test_lines_have_numbers_whatever_ends_them_and_folds_are_undone(end):
    text = end.join(
        ["BEGIN:VCALENDAR", "BEGIN:VEVENT", "summary:a lo", " ng ", "\tname", "END:VEVENT", ""]
    )

    ((number, found),) = lines_of(text)

    assert found == "summary:a long name"
    assert number == {"\r\r\n": 5, "\n\n": 5}.get(end, 3)


def test_a_line_folded_inside_a_character_is_one_line():
    raw = (
        "BEGIN:VCALENDAR\r\nBEGIN:VEVENT\r\nSUMMARY:Weihnachten für alle\r\nEND:VEVENT\r\n".encode()
    )
    inside = raw.index("ü".encode()) + 1
    folded = raw[:inside] + b"\r\n " + raw[inside:]

    assert read_calendars(folded)[0].parts[0].lines[0].text == "SUMMARY:Weihnachten für alle"


@pytest.mark.parametrize(
    ("encoding", "charset"),
    [
        ("utf-8", ""),
        ("utf-8-sig", ""),
        ("utf-16", ""),
        ("utf-16-le", ""),
        ("utf-16-be", ""),
        ("utf-32", ""),
        ("cp1252", ""),
        ("latin-1", "latin-1"),
        ("cp1250", "cp1250"),
        ("utf-16", "latin-1"),
    ],
)
def test_a_file_is_read_in_the_encodings_that_programs_write(encoding, charset):
    found = lines_of(f"BEGIN:VCALENDAR\n{EVENT}", charset=charset, encoding=encoding)

    assert found == [(3, "DTSTART:20261120T080000Z"), (4, "SUMMARY:Ü")]


@pytest.mark.parametrize("text", ["", "hello", "BEGIN:VEVENT\nEND:VEVENT", "<p>\n", "\n" * 1000])
def test_a_text_without_a_calendar_is_no_icalendar_file(text):
    with pytest.raises(NotIcal, match="BEGIN:VCALENDAR"):
        read_calendars(text.encode())


def test_what_stands_before_and_behind_a_calendar_spoils_nothing():
    (calendar,) = read_calendars(
        f"X-COMMENT:x\n\njunk\nBEGIN:VCALENDAR\n{EVENT}END:VCALENDAR\nx\n".encode()
    )

    assert len(calendar.parts) == 1
    assert not calendar.problem


@pytest.mark.parametrize(
    ("lines", "problem"),
    [
        (["BEGIN:VEVENT", "UID:a"], "it has no END:VEVENT before the file ends"),
        (["BEGIN:VEVENT", "END:VCALENDAR"], "it has no END:VEVENT before line 3 ends VCALENDAR"),
        (["BEGIN:VEVENT", "RRULE"], "its RRULE (line 3) has no colon"),
        (
            ["BEGIN:VEVENT", "EXDATE:" + "x" * LONGEST_LINE, "END:VEVENT"],
            f"its EXDATE (line 3) is longer than {LONGEST_LINE} bytes",
        ),
    ],
)
def test_a_broken_event_is_spoiled_by_itself(lines, problem):
    events = events_of("BEGIN:VEVENT", "UID:first", "END:VEVENT", *lines)
    found = events_of(*lines)

    assert [event.problem for event in events][:1] == [""]
    assert found[0].problem == problem


def test_an_event_that_is_never_ended_ends_where_the_next_one_begins():
    first, second = events_of("BEGIN:VEVENT", "UID:a", "BEGIN:VEVENT", "UID:b", "END:VEVENT")

    assert first.problem == "it has no END:VEVENT before line 4 begins an event"
    assert (second.problem, second.lines[0].text) == ("", "UID:b")


@pytest.mark.parametrize(
    "inside",
    [
        ["BEGIN:VALARM", "DTSTART:x", "UID:alarm", "END:VALARM"],
        ["BEGIN:VALARM", "UID:alarm"],
        ["END:VALARM"],
        ["BEGIN:X"] * 100 + ["UID:deep"] + ["END:X"] * 100,
        ["BEGIN:X"] * 40_000,
        ["ATTACH:" + "x" * 3_000_000],
        ["ATTACH:" + "x" * 70] + [" " + "x" * 74] * 40_000,
        ["SUMMARY:" + "x" * (LONGEST_LINE + 1)],
    ],
)
def test_components_and_long_lines_within_an_event_are_passed_over(inside):
    event = events_of("BEGIN:VEVENT", "UID:a", *inside, "END:VEVENT", "END:VCALENDAR")[0]

    assert [line.text for line in event.lines] == ["UID:a"]
    assert (event.problem == "") == (inside != ["BEGIN:X"] * 40_000)


def test_an_event_behind_the_end_of_its_calendar_belongs_to_it():
    assert len(events_of("END:VCALENDAR", "BEGIN:VEVENT", "END:VEVENT")) == 1


def test_the_first_line_of_an_event_that_is_no_property_is_noted():
    (event,) = events_of("BEGIN:VEVENT", "plain words: here", "more", "END:VEVENT")

    assert (event.stray, event.problem) == (3, "")


def test_a_text_loses_its_escapes_and_what_steers_a_terminal():
    assert plain_text("a\\, b\\; c\\nd\x1b[31m\\\\", 100) == "a, b; c d[31m\\"
    assert plain_text("abcdef", 3) == "abc"
