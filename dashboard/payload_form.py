"""The payload in a form: shown as readable JSON, read back, and compared with the shown text."""

from __future__ import annotations

from typing import Any

import orjson

from executions.triggering.triggers import Override
from shared.exceptions import InvalidInput
from shared.strict_json import named, read_json

#: Letters of a text that a form offers to edit; a longer one is kept where the field is empty.
LONGEST_EDITED = 20_000


def pretty(value: Any) -> str:
    """Return JSON as people edit it."""
    return orjson.dumps(value, option=orjson.OPT_INDENT_2).decode()


def read_field(text: str, pointer: str, label: str) -> Any:
    """Return the JSON of a field; raise InvalidInput that names the field."""
    try:
        return read_json(text, pointer)
    except InvalidInput as refused:
        raise named(refused, pointer, label) from refused


def read_override(given: str | None, before: str | None) -> Override | None:
    """Return the edited payload of a form, or None when it was left as it is.

    Raise InvalidInput, with the place, when it is no JSON, or JSON that cannot be stored.
    """
    if given is None or given.strip() == (before or "").strip():
        return None
    return Override(read_field(given, "#/payload", "Payload"))
