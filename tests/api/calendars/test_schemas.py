from __future__ import annotations

import jsonschema_rs
import pytest

from api.calendars.schemas import CalendarCreateSerializer, CalendarSerializer
from shared.exceptions import InvalidInput
from tasks.calendar_content import read_content
from tasks.presentation_calendars import present_calendar
from tests.support.calendars import make_calendar

BODY = {
    "name": "Holidays",
    "description": "",
    "weekend": [7],
    "dates": ["2027-01-01", {"date": "2027-01-02", "name": "x"}],
    "windows": [{"start": "2027-01-01T00:00:00Z", "end": "2027-01-02T00:00:00Z"}],
}


def fits(schema, body) -> bool:
    return bool(jsonschema_rs.Draft202012Validator(schema).is_valid(body))


def test_what_is_taken_and_answered_fits_the_schema(alpha):
    read_content(BODY)

    assert fits(CalendarCreateSerializer.json_schema, BODY)
    shown = present_calendar(make_calendar(alpha), 0)
    assert fits(CalendarSerializer.json_schema, shown)


@pytest.mark.parametrize(
    ("key", "value"),
    [
        ("name", ""),
        ("oops", 1),
        ("weekend", [0]),
        ("weekend", [1, 1]),
        ("dates", [5]),
        ("dates", [{"name": "x"}]),
        ("windows", [{"start": "2027-01-01T00:00:00Z"}]),
        ("description", "x" * 1001),
    ],
)
def test_what_is_refused_for_its_shape_does_not_fit_the_schema(key, value):
    body = {**BODY, key: value}

    with pytest.raises(InvalidInput):
        read_content(body)
    assert not fits(CalendarCreateSerializer.json_schema, body)
