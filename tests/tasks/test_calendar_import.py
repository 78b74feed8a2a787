from __future__ import annotations

from datetime import date, timedelta

from tasks.calendar_content import Content, normal_dates
from tasks.calendar_import import Mode, report_of, with_days
from tests.support.calendars import ICAL
from tests.tasks.ical.files import NOW, read, read_raw

FOUND = read_raw(ICAL.encode())
CURRENT = Content(
    "Holidays",
    dates=({"date": "2027-12-25", "name": ""}, {"date": "2027-01-01", "name": "New Year"}),
    windows=({"start": "2027-02-06T22:00:00.000Z", "end": "2027-02-07T02:00:00.000Z", "name": ""},),
)


def full(count: int) -> Content:
    days = ((date(1990, 1, 1) + timedelta(days=day), "") for day in range(count))
    return Content("Long", dates=normal_dates(days))


def test_days_are_added_and_a_day_without_a_name_gets_one():
    content, imported = with_days(CURRENT, FOUND, Mode.ADD, now=NOW)

    assert [(one["date"], one["name"]) for one in content.dates] == [
        ("2027-01-01", "New Year"),
        ("2027-12-25", "Christmas"),
        ("2027-12-26", "Christmas"),
    ]
    assert len(content.windows) == 2
    assert (imported.dates, imported.windows, imported.skipped.count) == (2, 1, 1)


def test_days_may_be_replaced():
    content, _ = with_days(CURRENT, FOUND, Mode.REPLACE, now=NOW)

    assert [one["date"] for one in content.dates] == ["2027-12-25", "2027-12-26"]
    assert [one["name"] for one in content.windows] == ["Patching"]
    assert (content.name, content.weekend) == ("Holidays", (6, 7))


def test_the_same_file_again_changes_nothing():
    once, _ = with_days(CURRENT, FOUND, Mode.ADD, now=NOW)

    again, imported = with_days(once, FOUND, Mode.ADD, now=NOW)

    assert again == once
    assert (imported.dates, imported.windows) == (2, 1)


def test_what_a_full_calendar_has_no_room_for_is_left_out_and_named():
    content, imported = with_days(full(9_999), FOUND, Mode.ADD, now=NOW)

    assert len(content.dates) == 10_000
    assert content.dates[-1]["date"] == "2027-12-25"
    assert imported.dates == 1
    assert imported.skipped.count == 2
    assert imported.skipped.shown[0].reason == (
        "1 of its dates is left out, since the calendar has room for 1 more; "
        "those from 2027-12-25 to 2027-12-25 are kept"
    )


def test_a_full_calendar_is_replaced_by_as_many_days():
    content, imported = with_days(full(10_000), FOUND, Mode.REPLACE, now=NOW)

    assert len(content.dates) == 2
    assert imported.skipped.count == 1


def test_two_endless_daily_events_beside_what_is_there_fill_the_calendar_and_no_more():
    hours = ("080000", "180000")
    endless = [f"DTSTART:20210101T{hour}Z\nDURATION:PT1H\nRRULE:FREQ=DAILY" for hour in hours]

    content, imported = with_days(CURRENT, read(*endless), Mode.ADD, now=NOW)

    assert len(content.windows) == 10_000
    assert imported.windows == 9_999
    assert content.windows[-1]["start"] == "2036-12-31T18:00:00.000Z"


def test_of_what_was_left_out_the_first_are_shown():
    found = read(*["UID:a@b\nDTSTART:20271120T080000Z"] * 150)

    shown = with_days(CURRENT, found, Mode.ADD, now=NOW)[1].present()

    assert (shown["skipped_count"], len(shown["skipped"])) == (150, 100)
    assert shown["skipped"][0] == {
        "line": 2,
        "name": "",
        "uid": "a@b",
        "reason": "it takes no time",
    }


def test_a_calendar_keeps_when_and_how_a_file_was_imported():
    report = report_of(with_days(CURRENT, FOUND, Mode.ADD, now=NOW)[1], Mode.ADD, now=NOW)

    assert (report["at"], report["mode"], report["dates"]) == ("2026-11-21T12:00:00.000Z", "add", 2)
