"""Definitions that operators hand over in a file or on standard input, as JSON or as YAML."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from operations.files import parse_json, read_bytes
from shared.exceptions import InvalidInput
from shared.strict_json import named
from shared.strict_yaml import read_yaml

#: A definition of a thousand steps is smaller.
MAX_BYTES = 4 * 1024 * 1024
_YAML = (".yaml", ".yml")
_JSON_BEGINS = (b"{", b"[")


def read_definition(name: str, option: str = "--file") -> Any:
    """Return what a file or, for ``-``, standard input holds; raise InvalidInput or NotFound.

    A text that begins with a bracket is JSON, unless the name of its file says YAML.
    """
    raw = read_bytes(name, MAX_BYTES)
    suffix = Path(name).suffix.lower()
    is_json = suffix == ".json" or raw.lstrip()[:1] in _JSON_BEGINS
    if is_json and suffix not in _YAML:
        return parse_json(raw, option)
    try:
        return read_yaml(raw)
    except InvalidInput as error:
        raise named(error, "#", option) from error
