from __future__ import annotations

from datetime import UTC
from typing import Any

import pytest

from dashboard.task_form.values import (
    Form,
    judged,
    lines,
    read_instant,
    read_number,
    read_pairs,
    read_payload,
    show_instant,
    show_plain,
    zone_or_utc,
)
from shared.exceptions import FieldError, InvalidInput


def form(shown: dict[str, str] | None = None, **fields: str) -> Form:
    return Form(fields, shown or {}, {}, [])


def codes(found: Form) -> list[tuple[str, str]]:
    return [(error.pointer, error.code) for error in found.errors]


@pytest.mark.parametrize(
    ("text", "value"), [("5", 5), (" 0.5 ", 0.5), ("5.0", 5), ("1e3", 1000), ("", None)]
)
def test_numbers_are_read(text: str, value: Any):
    assert read_number(form(n=text), "n", "#/n") == {"n": value}


def test_a_number_that_is_not_given_may_be_left_out():
    assert read_number(form(), "n", "#/n", keep=False) == {}


@pytest.mark.parametrize("text", ["x", "nan", "inf", "1,5"])
def test_what_is_no_number_is_noted(text: str):
    found = form(n=text)

    assert read_number(found, "n", "#/n") == {}
    assert codes(found) == [("#/n", "invalid")]


def test_a_field_that_was_not_touched_is_the_same_whatever_ends_its_lines():
    assert form({"a": "1\n2"}, a="1\r\n2").same("a")
    assert not form({"a": "1"}, a="2").same("a")
    assert not form(a="").same("a")
    assert lines("a\r\nb\u2028c") == ["a", "b\u2028c"]


def test_an_instant_is_of_the_forms_zone():
    found = form(start_at="2026-12-01T08:00", timezone="Europe/Berlin")

    assert read_instant(found, "start_at", {}) == "2026-12-01T07:00:00.000Z"


@pytest.mark.parametrize(
    ("fields", "error"),
    [
        ({"at": "tomorrow"}, "invalid"),
        ({"at": "0001-01-01", "timezone": "Asia/Tokyo"}, "invalid"),
        ({"at": ""}, "required"),
    ],
)
def test_what_is_no_instant_is_noted(fields: dict[str, str], error: str):
    found = Form(fields, {}, {}, [])

    assert read_instant(found, "at", {}, required=True) is None
    assert codes(found) == [("#/schedule/at", error)]


def test_a_zone_that_there_is_not_is_left_to_validation():
    found = form(at="2026-12-01T08:00", timezone="Mars/Base")

    assert read_instant(found, "at", {}) is None
    assert found.errors == []
    assert zone_or_utc("Mars/Base") is UTC


def test_payload_is_json_or_nothing():
    assert read_payload(form(payload='{"a": 1}')) == {"a": 1}
    assert read_payload(form(payload=" ")) is None
    wrong = form(payload="{")
    read_payload(wrong)
    assert codes(wrong) == [("#/payload", "json_invalid")]


def test_pairs_stand_one_in_each_line():
    found = form(labels="a=1\n\n b = x=y ")

    assert read_pairs(found, "labels", "=", "#/labels") == {"a": "1", "b": "x=y"}


@pytest.mark.parametrize("text", ["a", "=b", "a=1\na=2"])
def test_a_line_that_is_no_pair_is_noted(text: str):
    found = form(labels=text)
    read_pairs(found, "labels", "=", "#/labels")

    assert codes(found) == [("#/labels", "invalid")]


def test_values_are_shown_plainly():
    assert [show_plain(value) for value in (5, 5.0, 0.5, "skip")] == ["5", "5", "0.5", "skip"]
    zone = zone_or_utc("Europe/Berlin")
    assert show_instant("2026-12-01T07:00:00.000Z", zone) == "2026-12-01T08:00:00"
    assert show_instant(None, zone) == ""


def test_what_the_form_cannot_read_is_raised_with_what_is_refused_of_the_rest():
    found = form(n="x")
    read_number(found, "n", "#/schedule/n")

    def refuse(_: Any) -> None:
        raise InvalidInput(
            [
                FieldError("#/schedule", "required", "Say when."),
                FieldError("#/schedule/n/0", "x", "Inside."),
                FieldError("#/name", "blank", "Must not be empty."),
            ]
        )

    with pytest.raises(InvalidInput) as refused:
        judged(found, {}, refuse)

    assert [error.pointer for error in refused.value.errors] == ["#/schedule/n", "#/name"]
    with pytest.raises(InvalidInput):
        judged(found, {}, dict)
    assert judged(form(n="1"), {"a": 1}, dict) == {"a": 1}
