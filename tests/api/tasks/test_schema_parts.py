from __future__ import annotations

import jsonschema_rs
import pytest

from api.tasks.schema_parts import closed, merged_in, nullable, or_null, text, words


def fits(schema, value):
    return jsonschema_rs.Draft202012Validator(schema).is_valid(value)


@pytest.mark.parametrize("schema", [text(5), words("a"), closed({"a": text(5)})])
def test_null_may_be_allowed_for_any_schema(schema):
    assert not fits(schema, None)
    assert fits(or_null(schema), None)
    assert fits(closed(nullable({"x": schema})), {"x": None})


def test_a_part_of_an_object_may_be_merged_and_null_takes_away():
    whole = closed({"a": closed({"b": text(5), "c": text(5)}, "b", "c")}, "a")

    merged = merged_in(whole)

    assert all(fits(merged, value) for value in (None, {}, {"a": None}, {"a": {"b": None}}))
    assert not fits(merged, {"a": {"d": "x"}})
    assert not fits(merged, {"a": {"b": "too long"}})


def test_values_of_a_mapping_may_be_taken_away():
    merged = merged_in({"type": "object", "additionalProperties": text(5)})

    assert fits(merged, {"x": None, "y": "z"})
    assert not fits(merged, {"x": 5})


def test_a_choice_may_be_merged_in_part():
    merged = merged_in({"oneOf": [closed({"a": text(5)}, "a"), closed({"b": text(5)}, "b")]})

    assert fits(merged, {"b": None})
    assert not fits(merged, {"a": "x", "b": "x"})


def test_lists_are_replaced_whole():
    merged = merged_in({"type": "array", "items": closed({"a": text(5)}, "a")})

    assert fits(merged, None)
    assert not fits(merged, [{}])
