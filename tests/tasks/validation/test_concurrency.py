from __future__ import annotations

from typing import Any

import pytest

from tasks.field_reader import Errors, FieldReader
from tasks.validation.concurrency import read_concurrency


def read(given: Any) -> tuple[dict[str, Any] | None, list[tuple[str, str]]]:
    errors = Errors()
    found = read_concurrency(FieldReader({"concurrency": given}, "#", errors))
    return found, [(one.pointer, one.code) for one in errors.renamed(str)]


def test_a_key_alone_runs_one_at_a_time_in_any_order():
    assert read({"key": "a"}) == ({"key": "a", "max": 1, "order": "any"}, [])


def test_without_a_key_there_is_nothing():
    assert read(None) == (None, [])


def test_strict_order_takes_no_number_but_one():
    assert read({"key": "a", "order": "fifo"})[0] == {"key": "a", "max": 1, "order": "fifo"}
    assert read({"key": "a", "order": "fifo", "max": 1})[1] == []
    assert read({"key": "a", "order": "fifo", "max": 2})[1] == [
        ("#/concurrency/max", "not_applicable")
    ]


@pytest.mark.parametrize(
    ("given", "error"),
    [
        ({}, ("#/concurrency/key", "required")),
        ({"key": ""}, ("#/concurrency/key", "blank")),
        ({"key": "x" * 201}, ("#/concurrency/key", "too_long")),
        ({"key": "a\nb"}, ("#/concurrency/key", "invalid_characters")),
        ({"key": 7}, ("#/concurrency/key", "invalid_type")),
        ({"key": "a", "max": 0}, ("#/concurrency/max", "out_of_range")),
        ({"key": "a", "max": 1001}, ("#/concurrency/max", "out_of_range")),
        ({"key": "a", "order": "lifo"}, ("#/concurrency/order", "invalid_choice")),
        ({"key": "a", "mx": 1}, ("#/concurrency/mx", "unknown_field")),
        ("a", ("#/concurrency", "invalid_type")),
    ],
)
def test_what_is_no_key_is_refused_at_its_place(given: Any, error: tuple[str, str]):
    assert read(given)[1] == [error]
