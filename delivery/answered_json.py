"""Reads JSON of an answer, with or without a byte order mark, in any encoding of Unicode.

RFC 8259, 8.1, lets a reader ignore the mark, and other clients do.
"""

from __future__ import annotations

import codecs
import json
from typing import Any

import orjson


def read_json(body: bytes) -> Any:
    """Return the JSON value; ValueError when there is none."""
    try:
        return orjson.loads(body)
    except ValueError:
        encoding = json.detect_encoding(body)
        if encoding == "utf-8":
            raise
        return orjson.loads(body.decode(encoding))


def without_mark(body: bytes) -> bytes:
    """Return the body without the byte order mark of UTF-8."""
    return body.removeprefix(codecs.BOM_UTF8)
