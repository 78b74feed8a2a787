"""What a body and its payload may be: JSON that every part up to the receiver carries unchanged.

Validation and every payload override (run now, retry of a dead letter) use it.
"""

from __future__ import annotations

import math
import unicodedata
from collections.abc import Mapping
from typing import Any

import orjson

from shared.exceptions import FieldError, InvalidInput, TooLarge
from tasks.field_reader import Errors, called_in_json, child

MAX_DEPTH = 64
#: What both a 64-bit receiver and the JSON encoder can hold.
_LOWEST, _HIGHEST = -(2**63), 2**64 - 1


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


def json_problem(value: Any, pointer: str = "#") -> tuple[str, str, str] | None:
    """Return pointer, code and sentence of a value that is not portable JSON, or None."""
    # Level by level instead of recursion: the depth is the caller's to choose. Places are only
    # spelled out once something is wrong, since most bodies are right.
    level: list[Any] = [value]
    for _ in range(MAX_DEPTH + 1):
        following: list[Any] = []
        for item in level:
            if isinstance(item, dict):
                following.extend(item.values())
                if any(not isinstance(key, str) or _text_problem(key) for key in item):
                    return _locate(value, pointer)
            elif isinstance(item, list):
                following.extend(item)
            elif _scalar_problem(item):
                return _locate(value, pointer)
        if not following:
            return None
        level = following
    return _locate(value, pointer)


def _locate(value: Any, pointer: str) -> tuple[str, str, str] | None:
    waiting: list[tuple[Any, str, int]] = [(value, pointer, 0)]
    while waiting:
        item, place, depth = waiting.pop()
        if depth > MAX_DEPTH:
            return place, "too_deep", f"Must not be nested deeper than {MAX_DEPTH} levels."
        if isinstance(item, dict):
            for key in item:
                problem = _text_problem(key) if isinstance(key, str) else _NOT_JSON
                if problem:
                    return child(place, str(key)), *problem
                waiting.append((item[key], child(place, key), depth + 1))
        elif isinstance(item, list):
            waiting.extend((part, f"{place}/{at}", depth + 1) for at, part in enumerate(item))
        elif problem := _scalar_problem(item):
            return place, *problem
    return None


_NOT_JSON = ("invalid_type", "Must be JSON: text, number, true, false, null, list or object.")


def _scalar_problem(item: Any) -> tuple[str, str] | None:
    if item is None or isinstance(item, bool):
        return None
    if isinstance(item, str):
        return _text_problem(item)
    if isinstance(item, int):
        if _LOWEST <= item <= _HIGHEST:
            return None
        return "out_of_range", "Whole numbers must fit into 64 bits; write larger ones as text."
    if isinstance(item, float):
        return None if math.isfinite(item) else ("out_of_range", "Must be a finite number.")
    return _NOT_JSON


def _text_problem(text: str) -> tuple[str, str] | None:
    if text.isascii():
        odd = "\0" in text
    else:
        odd = "\0" in text or any(unicodedata.category(char) == "Cs" for char in text)
    if odd:
        return "invalid_characters", "Must not contain NUL or half of a surrogate pair."
    return None
