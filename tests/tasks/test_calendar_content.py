from __future__ import annotations

from datetime import date

import pytest

from shared.exceptions import InvalidInput
from tasks.calendar_content import Content, normal_dates, normal_windows, read_content
from tests.tasks.schedules.instants import utc

CURRENT = Content("Holidays", "Ours", (5,), ({"date": "2027-01-01", "name": ""},))


def test_what_an_edit_leaves_out_stays():
    assert read_content({}, CURRENT) == CURRENT
    assert read_content({"description": ""}, CURRENT).description == ""
    assert read_content({"dates": []}, CURRENT) == Content("Holidays", "Ours", (5,))


def test_a_calendar_keeps_its_name():
    with pytest.raises(InvalidInput) as refused:
        read_content({"name": "Other"}, CURRENT)

    assert [(e.pointer, e.code) for e in refused.value.errors] == [("#/name", "read_only")]


def test_every_mistake_is_named():
    body = {"dates": ["x", {"date": "2027-01-01", "name": 5}], "windows": [{}], "weekend": "6"}

    with pytest.raises(InvalidInput) as refused:
        read_content(body)

    assert {e.pointer for e in refused.value.errors} == {
        "#/name",
        "#/weekend",
        "#/dates/0/date",
        "#/dates/1/name",
        "#/windows/0/start",
        "#/windows/0/end",
    }


def test_a_day_given_twice_is_one_and_keeps_its_name():
    days = [(date(2027, 1, 2), ""), (date(2027, 1, 1), ""), (date(2027, 1, 2), "Second")]

    assert normal_dates(days) == (
        {"date": "2027-01-01", "name": ""},
        {"date": "2027-01-02", "name": "Second"},
    )


def test_the_same_window_twice_is_one():
    window = (utc("2027-01-01 08:00"), utc("2027-01-01 09:00"))

    assert normal_windows([(*window, ""), (*window, "Patching")]) == (
        {
            "start": "2027-01-01T08:00:00.000Z",
            "end": "2027-01-01T09:00:00.000Z",
            "name": "Patching",
        },
    )
