"""Loads the named SQL statements of ``<app>/sql``; a stage asks for one by name.

A file holds statements, each below a line ``-- name: claim_due``; the comment lines that follow
say what the statement guarantees and which index serves it. Names are ``<file>/<name>``; the
names of files are unique over all apps.
"""

from __future__ import annotations

import re
from functools import cache
from pathlib import Path
from typing import Any

import orjson
from django.db import connection

_ROOT = Path(__file__).resolve().parent.parent
_NAME = re.compile(r"^-- name: ([a-z_]+)$", re.MULTILINE)


@cache
def load(stage: str) -> dict[str, str]:
    """Return the statements of one file by name; raise KeyError when no app has the file."""
    found = sorted(_ROOT.glob(f"*/sql/{stage}.sql"))
    if not found:
        raise KeyError(stage)
    parts = _NAME.split(found[0].read_text(encoding="utf-8"))
    return {name: body.strip() for name, body in zip(parts[1::2], parts[2::2], strict=True)}


@cache
def statement(path: str) -> str:
    """Return the statement ``<file>/<name>``; raise KeyError when there is none."""
    stage, _, name = path.partition("/")
    return load(stage)[name]


def json_value(value: Any) -> Any:
    """Return a jsonb column of a named statement; Django's sessions answer them as text."""
    return orjson.loads(value) if isinstance(value, str | bytes) else value


def rows(path: str, parameters: dict[str, Any] | None = None) -> list[tuple[Any, ...]]:
    """Run a statement on the default connection and return its rows."""
    with connection.cursor() as cursor:
        cursor.execute(statement(path), parameters)
        found: list[tuple[Any, ...]] = cursor.fetchall()
        return found


def run(path: str, parameters: dict[str, Any] | None = None) -> int:
    """Run a statement on the default connection and return the number of rows it touched."""
    with connection.cursor() as cursor:
        cursor.execute(statement(path), parameters)
        return int(cursor.rowcount)
