from __future__ import annotations

import io

import pytest
from rest_framework.exceptions import UnsupportedMediaType

from api.calendars.parser import CalendarParser, is_calendar
from shared.exceptions import TooLarge
from tasks.ical.limits import MAX_BYTES


def parse(body: bytes, media_type: str):
    return CalendarParser().parse(io.BytesIO(body), media_type, {})


def test_a_file_is_kept_byte_for_byte():
    raw = bytes(range(256))

    assert parse(raw, "text/calendar")["octets"].encode("latin-1") == raw
    assert parse(b'{"ical": "x"}', "application/json") == {"ical": "x"}


@pytest.mark.parametrize(
    ("declared", "charset"),
    [
        ("", ""),
        ("; charset=UTF-8", ""),
        ("; method=REQUEST; charset=us-ascii", ""),
        ('; charset="iso-8859-1"', "iso8859-1"),
        ("; charset=windows-1252", "cp1252"),
        ("; charset=utf-16", "utf-16"),
    ],
)
def test_the_encoding_that_is_declared_is_kept(declared, charset):
    assert parse(b"x", f"text/calendar{declared}")["charset"] == charset


@pytest.mark.parametrize(
    "kind",
    [
        "text/plain",
        "text/calendar; charset=punycode",
        "text/calendar; charset=zip",
        "text/calendar; charset=nothing",
        "text/calendar; charset=utf-8; charset=latin-1",
        "",
    ],
)
def test_other_kinds_and_encodings_are_refused(kind):
    with pytest.raises(UnsupportedMediaType):
        parse(b"x", kind)


def test_a_file_that_is_too_long_is_refused_before_it_is_read():
    with pytest.raises(TooLarge):
        parse(b"x" * (MAX_BYTES + 1), "text/calendar")


def test_a_type_is_told_apart_by_its_name():
    assert is_calendar("Text/Calendar ; charset=utf-8")
    assert not is_calendar("application/json")
    assert not is_calendar(None)
