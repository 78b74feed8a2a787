"""The payload in a form: shown as readable JSON, read back, and told apart from what was shown."""

from __future__ import annotations

from typing import Any

import orjson

from executions.services.triggering import Override
from shared.exceptions import FieldError, InvalidInput
from tasks.payloads import json_problem


def pretty(value: Any) -> str:
    """Return JSON as people edit it."""
    return orjson.dumps(value, option=orjson.OPT_INDENT_2).decode()


def read_override(given: str | None, before: str | None) -> Override | None:
    """Return the edited payload of a form, or None when it was left as it is.

    Raise InvalidInput, with the place, when it is no JSON, or none that can be carried.
    """
    if given is None or given.strip() == (before or "").strip():
        return None
    try:
        payload = orjson.loads(given)
    except orjson.JSONDecodeError as error:
        message = f"The payload is not JSON: {error.msg} in line {error.lineno}."
        raise InvalidInput([FieldError("#/payload", "invalid", message)], message) from error
    if problem := json_problem(payload, "#/payload"):
        raise InvalidInput([FieldError(*problem)], problem[2])
    return Override(payload)
