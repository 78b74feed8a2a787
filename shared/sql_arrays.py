"""Arrays as parameters of batch statements, written as PostgreSQL reads them.

The driver adapts each element of a list by itself; on the paths that carry thousands of rows a
second that costs four times as much as what is made of them here. A statement casts what it
gets: ``%(ids)s::uuid[]``. None becomes NULL.
"""

from __future__ import annotations

from collections.abc import Iterable
from datetime import datetime
from typing import cast
from uuid import UUID

_NULL = "NULL"


def of_uuids(values: Iterable[UUID | None]) -> str:
    """Return the text of a ``uuid[]``."""
    return "{" + ",".join([_NULL if value is None else value.hex for value in values]) + "}"


def of_numbers(values: Iterable[float | None]) -> str:
    """Return the text of an array of numbers of any kind."""
    return "{" + ",".join([_NULL if value is None else repr(value) for value in values]) + "}"


def of_moments(values: Iterable[datetime | None]) -> str:
    """Return the text of a ``timestamptz[]`` of aware datetimes."""
    return "{" + ",".join([_NULL if value is None else value.isoformat() for value in values]) + "}"


def of_texts(values: Iterable[str | None]) -> str:
    """Return the text of a ``text[]``."""
    parts = list(values)
    if None in parts:
        return "{" + ",".join([_NULL if part is None else _quoted(part) for part in parts]) + "}"
    joined = '","'.join(cast(list[str], parts))
    if "\\" in joined or joined.count('"') > 2 * (len(parts) - 1):
        return "{" + ",".join([_quoted(part) for part in cast(list[str], parts)]) + "}"
    return f'{{"{joined}"}}' if parts else "{}"


def _quoted(text: str) -> str:
    escaped = text.replace("\\", "\\\\").replace('"', '\\"')
    return f'"{escaped}"'


def of_blobs(values: Iterable[bytes | memoryview | None]) -> str:
    """Return the text of a ``bytea[]``."""
    return (
        "{"
        + ",".join([_NULL if value is None else f'"\\\\x{bytes(value).hex()}"' for value in values])
        + "}"
    )
