"""The rules for a body and its payload: JSON that every part up to the receiver keeps unchanged.

Validation and every payload override (run now, retry of a dead letter) use it.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import orjson

from shared import strict_json
from shared.exceptions import FieldError, InvalidInput, TooLarge
from tasks.field_reader import Errors, called_in_json

#: Codes of a value built by Python, which are older than those of a text.
_CODES = {
    "text_invalid": "invalid_characters",
    "json_too_deep": "too_deep",
    "number_out_of_range": "out_of_range",
}


def json_problem(value: Any, pointer: str = "#") -> tuple[str, str, str] | None:
    """Return pointer, code and sentence of a value that is not portable JSON, or None."""
    problem = strict_json.json_problem(value, pointer)
    if problem is None:
        return None
    place, code, sentence = problem
    return place, _CODES.get(code, code), sentence


def check_payload(payload: Any, pointer: str, errors: Errors, *, limit: int) -> None:
    """Note the first thing in the payload that cannot be carried; raise TooLarge over the limit."""
    problem = json_problem(payload, pointer)
    if problem:
        errors.add(*problem)
    else:
        check_payload_size(payload, limit)


def check_payload_size(payload: Any, limit: int) -> None:
    """Raise TooLarge if the payload, known to be JSON, is over the limit as compact UTF-8."""
    size = len(orjson.dumps(payload))
    if size > limit:
        raise TooLarge(f"The payload is {size} bytes as compact JSON; at most {limit} are allowed.")


def require_object(body: Any) -> dict[str, Any]:
    """Return the body of a call if it is a JSON object; raise InvalidInput otherwise."""
    if not isinstance(body, Mapping):
        message = f"The body must be an object, not {called_in_json(body)}."
        raise InvalidInput([FieldError("#", "invalid_type", message)])
    taken = dict(body)
    problem = json_problem(taken)
    if problem:
        raise InvalidInput([FieldError(*problem)])
    return taken
