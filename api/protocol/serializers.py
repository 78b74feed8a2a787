"""Strict building blocks for request bodies: no guessing of types, no ignored fields.

REST framework's own fields turn ``5`` into ``"5"``, ``"yes"`` into True and a bare date into a
time; a typing mistake must never go unnoticed. Errors come out nested, and
``api.protocol.problems`` gives each its JSON pointer.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from datetime import datetime
from typing import Any, NoReturn
from uuid import UUID

from rest_framework import serializers
from rest_framework.exceptions import ErrorDetail, ValidationError

from api.protocol.query import did_you_mean
from shared.exceptions import InvalidInput
from shared.hidden_characters import hidden_problem
from shared.ids import parse_uuid
from shared.instants import parse_instant
from shared.strict_json import refuse_forbidden_characters

_BIGINT = 2**63


class StrictSerializer(serializers.Serializer[Any]):
    """A JSON object in which every name must be a known field."""

    def to_internal_value(self, data: Any) -> Any:
        """Return validated values; unknown names are errors beside those of the fields."""
        if not isinstance(data, Mapping):
            raise ValidationError("Give an object.", code="invalid_type")
        known = {name: item for name, item in self.fields.items() if not item.read_only}
        errors: dict[str, Any] = {
            str(name): [
                ErrorDetail(
                    f"There is no such field.{did_you_mean(str(name), known)}", "unknown_field"
                )
            ]
            for name in data
            if name not in known
        }
        try:
            values = super().to_internal_value(data)
        except ValidationError as error:
            raise ValidationError({**errors, **_as_mapping(error.detail)}) from error
        if errors:
            raise ValidationError(errors)
        return values


class StrictCharField(serializers.CharField):
    """A JSON string, taken exactly as it is; only spaces count as blank."""

    def __init__(self, **options: Any) -> None:
        options.setdefault("trim_whitespace", False)
        super().__init__(**options)

    def run_validation(self, data: Any = serializers.empty) -> Any:
        """Judge blankness before REST framework turns other types into text."""
        if isinstance(data, str) and not self.allow_blank and not data.strip():
            self.fail("blank")
        return super().run_validation(data)

    def to_internal_value(self, data: Any) -> str:
        """Return the string; refuse numbers, booleans, NUL characters and surrogates."""
        if not isinstance(data, str):
            _refuse_type("Give a string.")
        _refuse_characters(data)
        return data


class NameField(StrictCharField):
    """A name that people read: no hidden characters, which would make two names look alike."""

    def to_internal_value(self, data: Any) -> str:
        """Return the name as it is."""
        name = super().to_internal_value(data)
        if problem := hidden_problem(name):
            code, message = problem
            raise ValidationError(message, code=code)
        return name


class StrictChoiceField(serializers.ChoiceField):
    """One of the options, spelled as stated."""

    def to_internal_value(self, data: Any) -> Any:
        """Return the option; a near miss is named."""
        if not isinstance(data, str):
            _refuse_type("Give a string.")
        if data not in self.choices:
            options = [str(option) for option in self.choices]
            raise ValidationError(
                f"Give one of {', '.join(options)}.{did_you_mean(data, options)}", "invalid_choice"
            )
        return data


class StrictIntegerField(serializers.IntegerField):
    """A JSON whole number that fits into 64 bits."""

    def __init__(self, **options: Any) -> None:
        options.setdefault("min_value", -_BIGINT)
        options.setdefault("max_value", _BIGINT - 1)
        super().__init__(**options)

    def to_internal_value(self, data: Any) -> int:
        """Return the number; refuse strings, booleans and decimals."""
        if not isinstance(data, int) or isinstance(data, bool):
            _refuse_type("Give a whole number.")
        return data


class StrictNumberField(serializers.FloatField):
    """A finite JSON number."""

    def to_internal_value(self, data: Any) -> float:
        """Return the number; refuse strings and booleans."""
        if not isinstance(data, int | float) or isinstance(data, bool) or not math.isfinite(data):
            _refuse_type("Give a number.")
        return float(data)


class StrictBooleanField(serializers.BooleanField):
    """``true`` or ``false``, nothing that resembles them."""

    def to_internal_value(self, data: Any) -> bool:
        """Return the truth value."""
        if not isinstance(data, bool):
            _refuse_type("Give true or false.")
        return data


class StrictDateTimeField(serializers.DateTimeField):
    """An RFC 3339 time with an offset, as UTC."""

    def to_internal_value(self, value: Any) -> datetime:
        """Return the instant in UTC."""
        if not isinstance(value, str):
            _refuse_type("Give a time as a string, for instance 2026-11-20T08:00:00Z.")
        try:
            return parse_instant(value)
        except ValueError as error:
            raise ValidationError(str(error), code="invalid_time") from error

    def to_representation(self, value: Any) -> Any:
        """Leave the time to the renderer, which knows the wire form."""
        return value


class StrictUUIDField(serializers.UUIDField):
    """An id in its canonical spelling."""

    def to_internal_value(self, data: Any) -> UUID:
        """Return the id; refuse numbers, braces, URNs and missing hyphens."""
        if not isinstance(data, str):
            _refuse_type("Give an id as a string.")
        try:
            return parse_uuid(data)
        except ValueError as error:
            raise ValidationError(str(error), code="invalid_id") from error


class StrictListField(serializers.ListField):
    """A JSON array."""

    def to_internal_value(self, data: Any) -> list[Any]:
        """Return the items, each validated by the child."""
        if not isinstance(data, list):
            _refuse_type("Give an array.")
        return super().to_internal_value(data)


class StrictDictField(serializers.DictField):
    """A JSON object with free names."""

    def to_internal_value(self, data: Any) -> dict[str, Any]:
        """Return the object, each value validated by the child."""
        if not isinstance(data, dict):
            _refuse_type("Give an object.")
        _refuse_characters(list(data))
        return super().to_internal_value(data)


class StrictJSONField(serializers.JSONField):
    """Any JSON value that PostgreSQL can hold."""

    def to_internal_value(self, data: Any) -> Any:
        """Return the value as it is."""
        _refuse_characters(data)
        return data


def _refuse_type(message: str) -> NoReturn:
    raise ValidationError(message, code="invalid_type")


def _refuse_characters(value: Any) -> None:
    try:
        refuse_forbidden_characters(value)
    except InvalidInput as error:
        raise ValidationError(error.message, code="text_invalid") from error


def _as_mapping(detail: Any) -> dict[str, Any]:
    return dict(detail) if isinstance(detail, Mapping) else {"non_field_errors": detail}
