from __future__ import annotations

import pytest

from tasks.ical.events import read_event, source_of
from tasks.ical.lines import read_calendars
from tasks.schedules.zones import find_zone
from tests.tasks.ical.files import calendar


def event(text: str):
    (component,) = read_calendars(calendar(text))[0].parts
    return read_event(component, source_of(component), lambda name: find_zone(name or "UTC"))


def test_an_event_is_named_by_its_line_its_summary_and_its_uid():
    source = event("UID:a@b\nSUMMARY;LANGUAGE=de:Tag\\, frei\nDTSTART:20261225").source

    assert (source.line, source.name, source.uid) == (2, "Tag, frei", "a@b")


@pytest.mark.parametrize(("text", "number"), [("3", 3), ("-1", 0), ("x", 0), ("9" * 5000, 0)])
def test_a_sequence_that_is_no_number_is_the_first(text, number):
    assert event(f"DTSTART:20261225\nSEQUENCE:{text}").sequence == number


def test_a_cancelled_event_needs_no_length():
    found = event("DTSTART:20261225T080000Z\nSTATUS:cancelled")

    assert found.cancelled
    assert not found.repeats


def test_an_event_that_replaces_later_ones_too_says_so():
    found = event("DTSTART:20261225\nRECURRENCE-ID;RANGE=thisandfuture:20261224")

    assert found.replaces is not None
    assert found.and_later
