"""The parts of the JSON Schemas of the API's bodies."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from typing import Any

from shared.payload_sight import HIDDEN

Schema = dict[str, Any]

INSTANT: Schema = {"type": "string", "format": "date-time", "examples": ["2026-11-20T08:00:00Z"]}
INSTANT_OR_NULL: Schema = INSTANT | {"type": ["string", "null"]}
ID: Schema = {"type": "string", "format": "uuid"}
NULL: Schema = {"type": "null"}
ANY: Schema = {"description": "Any JSON value."}
_HIDDEN: Schema = {
    "type": "string",
    "enum": [HIDDEN],
    "description": "In place of the value, without the right to see payloads.",
}
STATUS_PATTERN = "^([1-5]xx|[1-9][0-9]{2}(-[1-9][0-9]{2})?)$"
_CHOICES = ("anyOf", "oneOf")


def closed(properties: Schema, *required: str) -> Schema:
    """Return an object with these properties and no others."""
    return {
        "type": "object",
        "properties": properties,
        "required": list(required),
        "additionalProperties": False,
    }


def words(*some: str) -> Schema:
    """Return a text that is one of the words."""
    return {"type": "string", "enum": list(some)}


def text(longest: int, description: str = "") -> Schema:
    """Return a text of 1 to ``longest`` characters."""
    said = {"description": description} if description else {}
    return {"type": "string", "minLength": 1, "maxLength": longest, **said}


def number(low: float, high: float) -> Schema:
    """Return a number within the bounds."""
    return {"type": "number", "minimum": low, "maximum": high}


def integer(low: int, high: int) -> Schema:
    """Return a whole number within the bounds."""
    return {"type": "integer", "minimum": low, "maximum": high}


def or_null(schema: Schema) -> Schema:
    """Return the schema with null allowed."""
    if isinstance(schema.get("type"), str) and "enum" not in schema:
        return schema | {"type": [schema["type"], "null"]}
    return {"anyOf": [schema, NULL]}


def as_seen(properties: Schema, seen: Collection[str]) -> Schema:
    """Return the properties; all but those ``seen`` may be hidden from the one who asks."""
    return {
        key: schema if key in seen or schema == ANY else {"anyOf": [schema, _HIDDEN]}
        for key, schema in properties.items()
    }


def nullable(properties: Schema) -> Schema:
    """Return the properties with null allowed for each: in an edit null removes a value."""
    return {key: {"anyOf": [schema, NULL]} for key, schema in properties.items()}


def with_defaults(properties: Schema, defaults: Mapping[str, Any]) -> Schema:
    """Return the properties, each with its default where it has one."""
    return {
        key: schema | ({"default": defaults[key]} if key in defaults else {})
        for key, schema in properties.items()
    }


def statuses(fewest: int = 1) -> Schema:
    """Return a list of status patterns."""
    return {
        "type": "array",
        "items": {"type": "string", "pattern": STATUS_PATTERN},
        "minItems": fewest,
        "maxItems": 50,
    }


def merged_in(schema: Schema) -> Schema:
    """Return the schema of values that merge into this one: any part of an object, or null.

    Lists and plain values are replaced whole, so they stay as they are.
    """
    for key in _CHOICES:
        if key in schema:
            return {"anyOf": [*_some_merged(schema[key]), NULL]}
    if "properties" in schema:
        inside = {key: merged_in(one) for key, one in schema["properties"].items()}
        return {"anyOf": [closed(inside), NULL]}
    if isinstance(schema.get("additionalProperties"), dict):
        values = {"anyOf": [schema["additionalProperties"], NULL]}
        return {"anyOf": [schema | {"additionalProperties": values}, NULL]}
    return {"anyOf": [schema, NULL]}


def _some_merged(schemas: Sequence[Schema]) -> list[Schema]:
    found = [option for one in schemas for option in merged_in(one)["anyOf"]]
    return [option for option in found if option != NULL]
