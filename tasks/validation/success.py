"""Validation of the criteria for a receiver's successful answer; all given ones must hold."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from shared.http_headers import is_token
from shared.json_path import parse_path
from shared.json_pointer import child
from shared.patterns import compile_pattern
from tasks.definition import TARGET_DEFAULTS
from tasks.field_reader import FieldReader, called_in_json
from tasks.limits import NAME_LENGTH, PATH_LENGTH, PATTERN_LENGTH
from tasks.validation.retry import read_statuses

#: Criteria that read the body.
BODY_CRITERIA = ("body_pattern", "json")
_FIELDS = ("statuses", "header", *BODY_CRITERIA)


def read_success(reader: FieldReader) -> dict[str, Any]:
    """Return the criteria in normal form: statuses always, the others where they are given."""
    pointer = child(reader.pointer, "success")
    success = FieldReader(reader.mapping("success"), pointer, reader.errors)
    success.refuse_unknown(_FIELDS)
    found: dict[str, Any] = {
        "statuses": read_statuses(success, "statuses", TARGET_DEFAULTS["success"]["statuses"])
    }
    header, answer = success.part("header"), success.part("json")
    if header is not None:
        found["header"] = _header(header)
    if success.given("body_pattern"):
        found["body_pattern"] = _pattern(success, "body_pattern")
    if answer is not None:
        found["json"] = _json(answer)
    return found


def check_against_method(reader: FieldReader, success: Mapping[str, Any], method: str) -> None:
    """Note criteria that no answer to the method can meet."""
    if method != "HEAD":
        return
    for key in BODY_CRITERIA:
        if key in success:
            at = child(child(reader.pointer, "success"), key)
            reader.errors.add(at, "not_applicable", "The answer to HEAD has no body.")


def _header(header: FieldReader) -> dict[str, Any]:
    header.refuse_unknown(("name", "pattern"))
    header.require("name", "Give the name of the header.")
    header.require("pattern", "Give the pattern that its value must hold.")
    name = header.text("name", "", longest=NAME_LENGTH)
    if name and not is_token(name):
        header.error("name", "header_invalid", "The name of a header is an HTTP token.")
    return {"name": name, "pattern": _pattern(header, "pattern")}


def _pattern(reader: FieldReader, key: str) -> str:
    pattern: str = reader.text(key, "", longest=PATTERN_LENGTH, printable=False)
    if pattern:
        try:
            compile_pattern(pattern)
        except ValueError as refused:
            reader.error(key, "pattern_invalid", f"RE2 cannot read it: {refused}.")
    return pattern


def _json(answer: FieldReader) -> dict[str, Any]:
    answer.refuse_unknown(("path", "equals"))
    answer.require("path", "Give a path such as $.status.")
    answer.require("equals", "Give the value that must stand there; it may be null.")
    path = answer.text("path", "", longest=PATH_LENGTH)
    if path:
        try:
            parse_path(path)
        except ValueError as refused:
            answer.error("path", "path_invalid", f"Not a path such as $.a.b[0]: {refused}.")
    equals = answer.data.get("equals")
    if isinstance(equals, (Mapping, list)):
        message = f"Must be text, a number, true, false or null, not {called_in_json(equals)}."
        answer.error("equals", "invalid_type", message)
    elif isinstance(equals, str) and len(equals) > PATTERN_LENGTH:
        answer.error("equals", "too_long", f"Must be at most {PATTERN_LENGTH} characters long.")
    return {"path": path, "equals": equals}
