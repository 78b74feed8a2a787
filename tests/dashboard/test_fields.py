"""Texts and times of forms are read, or refused."""

from __future__ import annotations

import pytest
from django.test import RequestFactory

from dashboard.fields import instant_of, read_limit, read_text, read_version
from shared.exceptions import InvalidInput
from tasks.schedules.zones import find_zone

BERLIN = find_zone("Europe/Berlin").info


def posted(**fields: str):
    return RequestFactory().post("/", fields)


def test_blanks_around_a_text_are_left_out():
    assert read_text(posted(note="  why not  "), "note", longest=10) == "why not"


def test_nothing_given_is_the_default():
    assert read_text(posted(note="  "), "note", longest=10, default="fixed") == "fixed"
    assert read_text(posted(), "note", longest=10) == ""


@pytest.mark.parametrize("text", ["a\0b", "a\nb", "x" * 11])
def test_what_cannot_be_kept_is_refused_by_name(text):
    with pytest.raises(InvalidInput) as refused:
        read_text(posted(job_note=text), "job_note", longest=10)

    [error] = refused.value.errors
    assert error.pointer == "#/job_note"
    assert error.message.startswith("Job note: Must ")


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("2026-03-28T12:00", "2026-03-28T11:00:00+00:00"),
        ("2026-07-01 12:00:30", "2026-07-01T10:00:30+00:00"),
        ("2026-03-28T12:00:00Z", "2026-03-28T12:00:00+00:00"),
        ("2026-03-28T12:00:00+05:30", "2026-03-28T06:30:00+00:00"),
    ],
)
def test_a_time_is_read_in_the_zone_unless_it_brings_an_offset(text, expected):
    assert instant_of(text, BERLIN).isoformat() == expected


@pytest.mark.parametrize("text", ["", "soon", "12:00", "0001-01-01T00:00", "2026-13-01T00:00"])
def test_what_is_no_time_is_refused(text):
    with pytest.raises(ValueError, match=r".+"):
        instant_of(text, BERLIN)


def limit_of(text: str, *, whole: bool = False):
    return read_limit(posted(most=text), "most", whole=whole)


@pytest.mark.parametrize(
    ("text", "value"), [("", None), (" ", None), ("5", 5), ("5.0", 5), ("0.5", 0.5), ("-1", -1)]
)
def test_a_limit_is_a_number_or_none(text, value):
    assert limit_of(text) == value


@pytest.mark.parametrize("text", ["x", "nan", "inf", "1e999", "1 2", "1.5"])
def test_what_is_no_limit_is_refused(text):
    with pytest.raises(InvalidInput) as refused:
        limit_of(text, whole=True)

    assert [error.pointer for error in refused.value.errors] == ["#/most"]


@pytest.mark.parametrize(
    ("text", "version"), [("3", 3), ("", None), ("x", None), ("9" * 12, None), ("\u0661", None)]
)
def test_a_version_that_is_none_is_not_held_against_the_row(text, version):
    assert read_version(posted(version=text)) == version
