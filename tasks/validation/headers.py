"""Validation of the headers of a webhook: their number, size, names and values."""

from __future__ import annotations

from typing import Any

from shared.http_headers import check_header, is_secret_header
from shared.json_pointer import child
from shared.redaction import MASK
from tasks.field_reader import FieldReader, called_in_json
from tasks.limits import HEADER_BYTES, HEADERS
from tasks.validation.secrets import MASKED

_PROBLEMS = {
    "header_reserved": "Punctual or the connection sets this header.",
    "header_invalid": "Names are HTTP tokens, values visible ASCII with single-line blanks.",
}


def read_headers(reader: FieldReader) -> dict[str, str]:
    """Return the target's headers; note what is wrong."""
    headers = reader.mapping("headers")
    if len(headers) > HEADERS:
        reader.error("headers", "too_many", f"Give at most {HEADERS} headers.")
        return {}
    at = child(reader.pointer, "headers")
    seen: set[str] = set()
    for name, value in headers.items():
        problem = _problem(str(name), value, seen)
        if problem:
            reader.errors.add(child(at, str(name)), *problem)
        seen.add(str(name).lower())
    if reader.errors.below(at):
        return {}
    size = sum(len(name) + len(value) + len(": \r\n") for name, value in headers.items())
    if size > HEADER_BYTES:
        reader.error("headers", "too_long", f"Headers are {size} bytes, over {HEADER_BYTES}.")
    return dict(headers)


def header_problem(name: str, value: str) -> tuple[str, str] | None:
    """Return code and sentence of why a request may not carry the header, or None."""
    code = check_header(name, value)
    return (code, _PROBLEMS[code]) if code else None


def _problem(name: str, value: Any, seen: set[str]) -> tuple[str, str] | None:
    if not isinstance(value, str):
        return "invalid_type", f"Must be text, not {called_in_json(value)}."
    if name.lower() in seen:
        return "duplicate", "The same header is given twice; upper and lower case are one."
    if value == MASK and is_secret_header(name):
        return "secret_masked", MASKED
    return header_problem(name, value)
