"""Rows of the archive: CSV in which every value is in quotes and NULL is an empty field.

PostgreSQL writes it with FORCE_QUOTE. The standard library's reader cannot tell an empty text from
NULL, so this module has its own.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from datetime import UTC, datetime
from typing import Any

import orjson

_FIELD = re.compile(r'(?:"([^"]*(?:""[^"]*)*)")?(,|\Z)')
_QUOTE = b'"'


def records(lines: Iterable[bytes]) -> Iterator[bytes]:
    """Yield each record without its line end, which values may contain, too.

    Raise ValueError when the last one is cut off.
    """
    held: list[bytes] = []
    inside = 0
    for line in lines:
        held.append(line)
        inside ^= line.count(_QUOTE) & 1
        if not inside:
            yield b"".join(held).removesuffix(b"\n")
            held = []
    if held:
        raise ValueError("the last record is cut off")


def fields(record: str) -> list[str | None]:
    """Return the values of a record; raise ValueError for an invalid one."""
    found: list[str | None] = []
    position = 0
    while True:
        match = _FIELD.match(record, position)
        if match is None:
            raise ValueError(f"no value at character {position}")
        value: str | None = match[1]
        found.append(value if value is None else value.replace('""', '"'))
        position = match.end()
        if not match[2]:
            return found


def values(columns: Mapping[str, str], record: bytes) -> dict[str, Any]:
    """Return a record as a document; ``columns`` are the names with their PostgreSQL types.

    Times are RFC 3339 in UTC with microseconds. Sealed values stay sealed, as hexadecimal text.
    """
    found = fields(record.decode())
    if len(found) != len(columns):
        raise ValueError(f"{len(found)} values for {len(columns)} columns")
    return {
        name: text if text is None else _READERS.get(kind, str)(text)
        for (name, kind), text in zip(columns.items(), found, strict=True)
    }


def _moment(text: str) -> str:
    moment = datetime.fromisoformat(text).astimezone(UTC)
    return moment.isoformat(timespec="microseconds").replace("+00:00", "Z")


def _ids(text: str) -> list[str]:
    inside = text.removeprefix("{").removesuffix("}")
    return inside.split(",") if inside else []


#: PostgreSQL type -> reader of its text; values of all other types stay text.
_READERS: Mapping[str, Callable[[str], Any]] = {
    "smallint": int,
    "integer": int,
    "bigint": int,
    "xid8": int,
    "double precision": float,
    "boolean": lambda text: text == "t",
    "jsonb": orjson.loads,
    "uuid[]": _ids,
    "timestamp with time zone": _moment,
}
