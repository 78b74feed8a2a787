"""Validation of ``redact``: the JSON paths of fields that are masked wherever they are shown."""

from __future__ import annotations

from typing import Any

from shared.field_redaction import masks_in, restored
from shared.json_path import parse_path
from shared.json_pointer import child
from tasks.definition import Definition
from tasks.field_reader import Errors, FieldReader, called_in_json
from tasks.limits import PATH_LENGTH, REDACTED_PATHS


def read_redact(reader: FieldReader) -> list[str]:
    """Return the paths, each once; note what is wrong."""
    given = reader.sequence("redact", [])
    if len(given) > REDACTED_PATHS:
        reader.error("redact", "too_many", f"Give at most {REDACTED_PATHS} paths.")
        return []
    paths: dict[str, None] = {}
    for place, path in enumerate(given):
        at = f"{child(reader.pointer, 'redact')}/{place}"
        if not isinstance(path, str):
            reader.errors.add(at, "invalid_type", f"Must be text, not {called_in_json(path)}.")
        elif len(path) > PATH_LENGTH:
            reader.errors.add(at, "too_long", f"Must be at most {PATH_LENGTH} characters long.")
        else:
            try:
                parse_path(path)
                paths[path] = None
            except ValueError as wrong:
                reader.errors.add(at, "path_invalid", f"This is no path: {wrong}.")
    return list(paths)


def with_redacted(payload: Any, stored: Definition | None) -> Any:
    """Return a written payload, with what the stored one has in place of its masks."""
    return payload if stored is None else restored(payload, stored.payload, stored.redact)


def refuse_masks(payload: Any, paths: list[str], pointer: str, errors: Errors) -> None:
    """Note each mask that stands where a value has to."""
    for path in masks_in(payload, paths):
        message = f"At {path} is the mask of an answer; write the value itself."
        errors.add(pointer, "value_masked", message)
