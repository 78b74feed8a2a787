from __future__ import annotations

import io

import pytest
from rest_framework.exceptions import UnsupportedMediaType

from shared.exceptions import InvalidInput, TooLarge
from tasks.api.calendar_parser import CalendarParser
from tasks.ical_lines import MAX_CHARACTERS


def parse(body: bytes, media_type: str):
    return CalendarParser().parse(io.BytesIO(body), media_type, {})


def test_the_text_itself_reads_as_the_field_of_the_json_body():
    assert parse("Ü".encode(), "text/calendar; charset=UTF-8") == {"ical": "Ü"}
    assert parse(b'{"ical": "x"}', "application/json") == {"ical": "x"}


def test_other_kinds_are_refused():
    for kind in ("text/plain", "text/calendar; charset=latin-1", ""):
        with pytest.raises(UnsupportedMediaType):
            parse(b"x", kind)


def test_what_is_no_utf_8_is_refused_with_its_line():
    with pytest.raises(InvalidInput) as refused:
        parse(b"BEGIN:VCALENDAR\n\xff", "text/calendar")

    assert refused.value.message == "Line 2: this is not UTF-8."


def test_a_text_that_is_too_long_is_refused_before_it_is_read():
    with pytest.raises(TooLarge):
        parse(b"x" * (4 * MAX_CHARACTERS + 1), "text/calendar")
