"""The schema of a workflow's input."""

from __future__ import annotations

from typing import Any

import pytest

from shared.exceptions import InvalidInput
from tasks.field_reader import Errors, FieldReader
from tasks.validation.input_schema import (
    LONGEST,
    check_input,
    input_problems,
    read_input_schema,
)

SCHEMA: dict[str, Any] = {
    "type": "object",
    "required": ["day"],
    "properties": {"day": {"type": "string"}, "rows": {"type": "integer", "minimum": 1}},
}


def read(schema: Any) -> tuple[Any, list[tuple[str, str]]]:
    errors = Errors()
    found = read_input_schema(FieldReader({"input_schema": schema}, "#", errors))
    return found, [(error.pointer, error.code) for error in errors.renamed(str)]


def test_a_schema_is_kept_as_it_is():
    assert read(SCHEMA) == (SCHEMA, [])
    assert read(None) == (None, [])


@pytest.mark.parametrize(
    ("schema", "pointer", "code"),
    [
        ([], "#/input_schema", "invalid_type"),
        ({"type": "wrong"}, "#/input_schema/type", "invalid"),
        (
            {"properties": {"a": {"pattern": "(a+)+$"}}},
            "#/input_schema/properties/a/pattern",
            "not_supported",
        ),
        ({"$ref": "https://example.com/schema"}, "#/input_schema/$ref", "not_supported"),
        ({"title": "x" * LONGEST}, "#/input_schema", "too_long"),
    ],
)
def test_what_is_no_schema_or_costs_too_much_is_refused(schema: Any, pointer: str, code: str):
    assert read(schema) == (None, [(pointer, code)])


def test_an_input_that_fits_has_no_problem():
    assert input_problems(SCHEMA, {"day": "2026-11-29", "rows": 3}) == []


def test_each_problem_has_its_place():
    found = input_problems(SCHEMA, {"rows": 0})

    assert sorted((one.pointer, one.code) for one in found) == [
        ("#/input", "schema_mismatch"),
        ("#/input/rows", "schema_mismatch"),
    ]


def test_few_problems_of_many_are_named():
    schema = {"type": "array", "items": {"type": "integer"}}

    assert len(input_problems(schema, ["x"] * 1000)) == 20


def test_an_input_that_the_schema_refuses_is_an_error_and_without_a_schema_none_is():
    with pytest.raises(InvalidInput) as refused:
        check_input(SCHEMA, {"day": 1})

    assert [error.pointer for error in refused.value.errors] == ["#/input/day"]
    check_input(SCHEMA, {"day": "2026-11-29"})
    check_input(None, {"day": 1})
