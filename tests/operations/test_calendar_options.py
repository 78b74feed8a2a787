from __future__ import annotations

from typing import Any

import pytest

from operations.calendar_options import body_of
from shared.exceptions import InvalidInput
from tasks.calendar_content import Content

NOW = Content(
    "Holidays",
    dates=({"date": "2027-01-01", "name": "New Year"},),
    windows=({"start": "2027-02-06T22:00:00.000Z", "end": "2027-02-07T02:00:00.000Z", "name": ""},),
)
NONE: dict[str, Any] = {
    "file": None,
    "description": None,
    "weekend": None,
    "date": [],
    "window": [],
}


def body(**options: Any) -> dict[str, Any]:
    return body_of({**NONE, **options}, NOW)


def test_what_is_not_named_is_left_out():
    assert body() == {}
    assert body(description="", weekend="6, 7") == {"description": "", "weekend": [6, 7]}


def test_days_are_added_to_those_that_are_there():
    assert body(date=["2027-01-06 = Epiphany"])["dates"] == [
        NOW.dates[0],
        {"date": "2027-01-06", "name": "Epiphany"},
    ]


def test_windows_are_removed_however_their_times_are_written():
    out = ["2027-02-06t22:00z/2027-02-07T02:00:00Z"]

    assert body(remove_window=out) == {"windows": []}


def test_what_is_not_there_cannot_be_removed():
    with pytest.raises(InvalidInput):
        body(remove_date=["2027-01-02"])


def test_a_file_must_hold_an_object(tmp_path):
    file = tmp_path / "x.json"
    file.write_text("[]")

    with pytest.raises(InvalidInput):
        body(file=str(file))
