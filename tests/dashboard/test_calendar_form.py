from __future__ import annotations

import pytest
from django.http import QueryDict

from dashboard.calendar_form import body_of, errors_of, fields_of, form_of
from shared.exceptions import FieldError, InvalidInput
from tasks.calendar_content import Content, read_content

CONTENT = Content(
    "Holidays",
    "Ours",
    (6, 7),
    ({"date": "2027-01-01", "name": "New Year"}, {"date": "2027-01-06", "name": ""}),
    (
        {
            "start": "2027-02-06T22:00:00.000Z",
            "end": "2027-02-07T02:00:30.000Z",
            "name": "Patch it",
        },
        {"start": "2027-03-06T22:00:00.250Z", "end": "2027-03-07T02:00:00.000Z", "name": ""},
    ),
)


def test_a_calendar_goes_through_its_form_unchanged():
    fields = form_of(CONTENT)

    assert fields["dates"] == "2027-01-01 New Year\n2027-01-06"
    assert fields["windows"].splitlines()[0] == "2027-02-06T22:00Z 2027-02-07T02:00:30Z Patch it"
    assert read_content(body_of(fields, named=True)) == CONTENT
    assert "name" not in body_of(fields, named=False)


def test_a_new_calendar_has_the_usual_weekend():
    assert form_of(None)["weekend"] == [6, 7]


def test_what_was_sent_is_kept_as_it_was_typed():
    sent = QueryDict("name=a&dates=+x&weekend=5&weekend=9&weekend=")

    fields = fields_of(sent)

    assert (fields["name"], fields["dates"], fields["windows"]) == ("a", " x", "")
    assert fields["weekend"] == [5]


def test_a_mistake_is_said_with_the_number_of_its_line():
    fields = {
        "name": "",
        "description": "",
        "weekend": [],
        "dates": "\n2027-01-01\n\ntomorrow",
        "windows": "2027-01-01T08:00Z",
    }

    with pytest.raises(InvalidInput) as refused:
        read_content(body_of(fields, named=True))

    errors = errors_of(fields, refused.value.errors)
    assert errors["dates"] == "Line 4: Give a day as 2027-01-01."
    assert errors["windows"].startswith("Line 1: ")
    assert "name" in errors
    assert errors_of(fields, [FieldError("#", "x", "Whole.")]) == {"form": "Whole."}
