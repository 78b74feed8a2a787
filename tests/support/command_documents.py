"""What commands print for ``--json``, checked against its published schema."""

from __future__ import annotations

import json
from functools import cache
from pathlib import Path
from typing import Any

import jsonschema_rs

_FOLDER = Path(__file__).resolve().parents[2] / "docs" / "reference" / "command-schemas"


@cache
def _validator(name: str) -> jsonschema_rs.Draft202012Validator:
    schema = json.loads((_FOLDER / f"{name}.json").read_text(encoding="utf-8"))
    jsonschema_rs.meta.validate(schema)
    return jsonschema_rs.Draft202012Validator(schema, validate_formats=True)


def read_document(name: str, text: str) -> dict[str, Any]:
    """Return the document that a command printed; it must keep the schema ``<command>-<verb>``."""
    document: dict[str, Any] = json.loads(text)
    found = [
        f"{error.instance_path}: {error.message}"
        for error in _validator(name).iter_errors(document)
    ]
    assert not found, f"{name}: {found}"
    return document
