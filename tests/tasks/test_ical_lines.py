from __future__ import annotations

import pytest

from shared.exceptions import InvalidInput
from tasks.ical_lines import MAX_CHARACTERS, plain_text, read_components


def read(*lines: str, end: str = "\r\n"):
    return read_components(end.join(["BEGIN:VCALENDAR", *lines, "END:VCALENDAR", ""]))


@pytest.mark.parametrize("end", ["\r\n", "\n", "\r"])
def test_lines_have_their_numbers_parameters_and_folds(end):
    (calendar,) = read(
        "BEGIN:VEVENT",
        'DTSTART;TZID="Europe/Berlin";X-A=b,c:20261120T080000',
        "summary:a long",
        "  name",
        "END:VEVENT",
        end=end,
    )

    (event,) = calendar.components
    start, summary = event.properties
    assert (start.line, start.name, start.value) == (3, "DTSTART", "20261120T080000")
    assert start.parameters == {"TZID": "Europe/Berlin", "X-A": "b"}
    assert (summary.line, summary.name, summary.value) == (4, "SUMMARY", "a long name")


@pytest.mark.parametrize(
    ("text", "line"),
    [
        ("", 1),
        ("hello", 1),
        ("BEGIN:VEVENT\nEND:VEVENT", 1),
        ("VERSION:2.0\nBEGIN:VCALENDAR\nEND:VCALENDAR", 1),
        ("BEGIN:VCALENDAR\nBEGIN:VEVENT\nEND:VCALENDAR", 3),
        ("BEGIN:VCALENDAR\nBEGIN:VEVENT", 2),
        ("BEGIN:VCALENDAR\nno value here\nEND:VCALENDAR", 2),
        ("BEGIN:VCALENDAR\n:x\nEND:VCALENDAR", 2),
        ("BEGIN:VCALENDAR\n" + "BEGIN:A\n" * 20, 9),
        ("BEGIN:VCALENDAR\nA:b\n" + " x" * 10 + "\n" + (" " + "y" * 1000 + "\n") * 200, 2),
        ("x" * (MAX_CHARACTERS + 1), 1),
    ],
)
def test_what_is_no_icalendar_is_refused_with_its_line(text, line):
    with pytest.raises(InvalidInput) as refused:
        read_components(text)

    (error,) = refused.value.errors
    assert (error.pointer, error.code) == ("#/ical", "ical_invalid")
    assert error.message.startswith(f"Line {line}:")


def test_a_text_loses_its_escapes_and_what_steers_a_terminal():
    assert plain_text("a\\, b\\; c\\nd\x1b[31m\\\\", 100) == "a, b; c d[31m\\"
    assert plain_text("abcdef", 3) == "abc"
