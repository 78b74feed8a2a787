"""Validation of a workflow's ``input_schema``, and of an input by it: JSON Schema 2020-12.

A schema names nothing outside of itself and has no regular expressions, so that checking an input
costs no more than reading both.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import orjson
from jsonschema import Draft202012Validator, SchemaError

from shared.exceptions import FieldError, InvalidInput
from shared.json_pointer import child
from tasks.field_reader import FieldReader

LONGEST = 16 * 1024
_REFUSED = ("pattern", "patternProperties", "$ref", "$dynamicRef", "$id")
_SHOWN_ERRORS = 20


def read_input_schema(reader: FieldReader) -> dict[str, Any] | None:
    """Return the schema, None without one; note what is wrong."""
    part = reader.part("input_schema")
    if part is None:
        return None
    if len(orjson.dumps(part.data)) > LONGEST:
        reader.error("input_schema", "too_long", f"Give at most {LONGEST} bytes.")
        return None
    for key, at in _keys(part.data, part.pointer):
        if key in _REFUSED:
            reader.errors.add(at, "not_supported", f"A schema of an input has no {key!r}.")
            return None
    try:
        Draft202012Validator.check_schema(part.data)
    except SchemaError as wrong:
        at = part.pointer
        for step in wrong.absolute_path:
            at = child(at, str(step))
        reader.errors.add(at, "invalid", f"This is no JSON Schema: {wrong.message[:200]}.")
        return None
    return dict(part.data)


def input_problems(schema: Mapping[str, Any], value: Any) -> list[FieldError]:
    """Return what is wrong with an input by its workflow's schema."""
    found = []
    for error in Draft202012Validator(schema).iter_errors(value):
        at = "#/input"
        for step in error.absolute_path:
            at = child(at, str(step))
        found.append(FieldError(at, "schema_mismatch", f"{error.message[:200]}."))
        if len(found) == _SHOWN_ERRORS:
            break
    return found


def check_input(schema: Mapping[str, Any] | None, value: Any) -> None:
    """Raise InvalidInput ``schema_mismatch`` for an input that the schema, if any, refuses."""
    problems = [] if schema is None else input_problems(schema, value)
    if problems:
        raise InvalidInput(problems)


def _keys(value: Any, pointer: str) -> Iterator[tuple[str, str]]:
    waiting: list[tuple[Any, str]] = [(value, pointer)]
    while waiting:
        item, at = waiting.pop()
        if isinstance(item, Mapping):
            for key, inside in item.items():
                yield key, child(at, key)
                waiting.append((inside, child(at, key)))
        elif isinstance(item, list):
            waiting.extend((inside, f"{at}/{place}") for place, inside in enumerate(item))
