from __future__ import annotations

from datetime import date, timedelta

import pytest

from shared.exceptions import InvalidInput
from tasks.calendar_content import Content, normal_dates
from tasks.calendar_import import Mode, with_ical
from tests.support.calendars import ICAL
from tests.tasks.schedules.instants import utc

NOW = utc("2026-11-21 12:00")
CURRENT = Content(
    "Holidays",
    dates=({"date": "2027-12-25", "name": ""}, {"date": "2027-01-01", "name": "New Year"}),
    windows=({"start": "2027-02-06T22:00:00.000Z", "end": "2027-02-07T02:00:00.000Z", "name": ""},),
)


def test_days_are_added_and_a_day_without_a_name_gets_one():
    content, imported = with_ical(CURRENT, ICAL, Mode.ADD, now=NOW)

    assert [(one["date"], one["name"]) for one in content.dates] == [
        ("2027-01-01", "New Year"),
        ("2027-12-25", "Christmas"),
        ("2027-12-26", "Christmas"),
    ]
    assert len(content.windows) == 2
    assert (imported.dates, imported.windows, len(imported.skipped)) == (2, 1, 1)


def test_days_may_be_replaced():
    content, _ = with_ical(CURRENT, ICAL, Mode.REPLACE, now=NOW)

    assert [one["date"] for one in content.dates] == ["2027-12-25", "2027-12-26"]
    assert [one["name"] for one in content.windows] == ["Patching"]
    assert (content.name, content.weekend) == ("Holidays", (6, 7))


def test_a_calendar_that_would_hold_too_much_is_refused():
    many = normal_dates((date(1990, 1, 1) + timedelta(days=day), "") for day in range(9_999))

    with pytest.raises(InvalidInput) as refused:
        with_ical(Content("Long", dates=many), ICAL, Mode.ADD, now=NOW)

    assert refused.value.errors[0].code == "too_many"


def test_of_what_was_left_out_the_first_are_shown():
    event = "BEGIN:VEVENT\nDTSTART:20271120T080000Z\nEND:VEVENT\n"
    text = f"BEGIN:VCALENDAR\n{event * 150}END:VCALENDAR"

    shown = with_ical(CURRENT, text, Mode.ADD, now=NOW)[1].present()

    assert (shown["skipped_count"], len(shown["skipped"])) == (150, 100)
