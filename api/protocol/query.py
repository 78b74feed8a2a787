"""Query parameters, strictly: each view states them, anything else is 400 with a suggestion.

A parameter both reads its value and describes itself to the OpenAPI schema, so the document
cannot drift from the server.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from difflib import get_close_matches
from typing import Any

from django.http import QueryDict

from shared.exceptions import FieldError, InvalidInput
from shared.ids import parse_uuid
from shared.instants import parse_instant

_INTEGER = re.compile(r"-?[0-9]{1,18}")


@dataclass(frozen=True, slots=True)
class Parameter:
    """One query parameter: how to read it (ValueError is 400) and how it is documented."""

    read: Callable[[str], Any]
    schema: Mapping[str, Any]
    description: str = ""
    #: May be given more than once, or with commas between values; reads as a list.
    many: bool = False
    default: Any = field(default=None)


def text(description: str = "", *, max_length: int = 200) -> Parameter:
    """Read a text without NUL characters."""

    def read(value: str) -> str:
        if "\x00" in value:
            raise ValueError("A text may not hold NUL characters.")
        if len(value) > max_length:
            raise ValueError(f"At most {max_length} characters.")
        return value

    return Parameter(read, {"type": "string", "maxLength": max_length}, description)


def uuid(description: str = "") -> Parameter:
    """Read an id."""
    return Parameter(parse_uuid, {"type": "string", "format": "uuid"}, description)


def instant(description: str = "") -> Parameter:
    """Read an RFC 3339 time with an offset."""
    return Parameter(parse_instant, {"type": "string", "format": "date-time"}, description)


def boolean(description: str = "", *, default: bool | None = None) -> Parameter:
    """Read ``true`` or ``false``."""

    def read(value: str) -> bool:
        if value not in ("true", "false"):
            raise ValueError("Give true or false.")
        return value == "true"

    return Parameter(read, {"type": "boolean"}, description, default=default)


def integer(description: str = "", *, minimum: int, maximum: int) -> Parameter:
    """Read a whole number within the bounds."""

    def read(value: str) -> int:
        if not _INTEGER.fullmatch(value) or not minimum <= int(value) <= maximum:
            raise ValueError(f"Give a whole number from {minimum} to {maximum}.")
        return int(value)

    schema = {"type": "integer", "minimum": minimum, "maximum": maximum}
    return Parameter(read, schema, description)


def choice(*options: str, description: str = "", default: str | None = None) -> Parameter:
    """Read one of the options."""
    schema = {"type": "string", "enum": list(options)}
    return Parameter(_one_of(options), schema, description, default=default)


def choices(*options: str, description: str = "") -> Parameter:
    """Read any number of the options, as a list."""
    schema = {"type": "array", "items": {"type": "string", "enum": list(options)}}
    return Parameter(_one_of(options), schema, description, many=True)


def read_query(query: QueryDict, parameters: Mapping[str, Parameter]) -> dict[str, Any]:
    """Return a value for every stated parameter; raise InvalidInput for anything else given."""
    unknown = [name for name in query if name not in parameters]
    errors = [_unknown(name, parameters) for name in unknown]
    values: dict[str, Any] = {}
    for name, parameter in parameters.items():
        try:
            values[name] = _value(query.getlist(name), parameter)
        except ValueError as error:
            errors.append(FieldError(f"?{name}", "invalid", str(error)))
    if errors:
        raise InvalidInput(errors, "The query parameters are not valid.")
    return values


def did_you_mean(name: str, known: Mapping[str, Any] | list[str]) -> str:
    """Return `` Did you mean 'x'?`` when one of the known names is near."""
    near = get_close_matches(name[:100], list(known), n=1)
    return f" Did you mean {near[0]!r}?" if near else ""


def _value(given: list[str], parameter: Parameter) -> Any:
    if not given:
        return parameter.default
    if parameter.many:
        return [parameter.read(part) for value in given for part in value.split(",")]
    if len(given) > 1:
        raise ValueError("Give this parameter once.")
    return parameter.read(given[0])


def _one_of(options: tuple[str, ...]) -> Callable[[str], str]:
    def read(value: str) -> str:
        if value not in options:
            hint = did_you_mean(value, list(options))
            raise ValueError(f"Give one of {', '.join(options)}.{hint}")
        return value

    return read


def _unknown(name: str, parameters: Mapping[str, Parameter]) -> FieldError:
    message = f"There is no such parameter.{did_you_mean(name, parameters)}"
    return FieldError(f"?{name[:100]}", "unknown_parameter", message)
