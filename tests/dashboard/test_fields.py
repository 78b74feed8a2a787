"""Free text of small forms is read, or refused with its name."""

from __future__ import annotations

import pytest
from django.test import RequestFactory

from dashboard.fields import read_text
from shared.exceptions import InvalidInput


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
