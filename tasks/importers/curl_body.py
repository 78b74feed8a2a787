"""The body that a pasted curl command sends: JSON as a value, any other data as text.

Pure; called by tasks/importers/curl.py. A text is kept byte for byte with its content type. The
reader that checks every payload refuses JSON that cannot be carried unchanged.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any
from urllib.parse import quote

from shared.exceptions import FieldError, InvalidInput
from shared.strict_json import named, read_json

FORM = "application/x-www-form-urlencoded"
_JSON_TYPE = re.compile(r"[\w.-]+/(?:[\w.-]+\+)?json", re.IGNORECASE)
#: First characters of JSON without a content type; a bare number or word is likely a form's field.
_LIKE_JSON = ("{", "[", '"')
_POINTER = "#/payload"
_LINE_ENDS = (
    "The data has carriage returns, which a form in a browser does not keep: its lines will end "
    "with a line feed. Create the task by the API or a command to keep them."
)


@dataclass(frozen=True, slots=True)
class Body:
    """The payload and its format, the content type that has to be added, and notes."""

    payload: Any
    format: str = "json"
    content_type: str | None = None
    notes: tuple[str, ...] = ()


def encoded(text: str) -> str | None:
    """Return data as ``--data-urlencode`` sends it; None where it names a file."""
    name, equals, value = text.partition("=")
    if equals:
        return f"{name}={quote(value, safe='')}" if name else quote(value, safe="")
    return None if "@" in text else quote(text, safe="")


def body_of(text: str, headers: Mapping[str, str], *, is_json: bool) -> Body:
    """Return how the data is sent; raise InvalidInput for JSON that cannot be carried."""
    if not text:
        return Body(None, notes=("The data is empty, so no body is sent.",))
    written = next((v for k, v in headers.items() if k.lower() == "content-type"), None)
    kind = (written or "").partition(";")[0].strip()
    if is_json or _JSON_TYPE.fullmatch(kind):
        return Body(_json(text))
    if written is not None:
        return _raw(text, None, f"The body is sent as it is, as {kind}.")
    if text.lstrip(" \t\r\n")[:1] in _LIKE_JSON:
        try:
            return Body(_json(text), notes=("The data is JSON; it is sent as application/json.",))
        except InvalidInput as refused:
            if refused.errors[0].code != "json_invalid":
                raise
    return _raw(text, FORM, f"The body is sent as it is, as {FORM}: curl's type for such data.")


def _raw(text: str, content_type: str | None, note: str) -> Body:
    notes = (note, _LINE_ENDS) if "\r" in text else (note,)
    return Body(text, "raw", content_type, notes)


def _json(text: str) -> Any:
    try:
        return read_json(text, _POINTER)
    except InvalidInput as refused:
        found = named(refused, _POINTER, "The payload")
        code = refused.errors[0].code
        raise InvalidInput([FieldError("#", code, found.message)], found.message) from refused
