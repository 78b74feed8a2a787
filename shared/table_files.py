"""Rows as files: CSV and JSON lines, a row at a time.

Every download and every command that prints a table as a file writes it here, so that no cell is
taken for a formula by a program for tables.
"""

from __future__ import annotations

import csv
import io
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

import orjson

#: Format -> the media type of its answers.
MEDIA_TYPES = {"csv": "text/csv", "jsonl": "application/jsonl"}
#: Programs for tables take a cell that begins with one of these for a formula.
_OF_FORMULAS = ("=", "+", "-", "@", "\t", "\r", "\n", "\uff1d", "\uff0b", "\uff0d", "\uff20")


def csv_lines(columns: Sequence[str], rows: Iterable[Mapping[str, Any]]) -> Iterator[str]:
    """Yield the lines of a table, its heading first; no cell is a formula.

    A list or an object is written as JSON, None as an empty cell.
    """
    text = io.StringIO()
    writer = csv.writer(text)
    writer.writerow(columns)
    yield _taken(text)
    for row in rows:
        writer.writerow([_cell(row[name]) for name in columns])
        yield _taken(text)


def json_lines(columns: Sequence[str], rows: Iterable[Mapping[str, Any]]) -> Iterator[str]:
    """Yield a JSON object for each row, with these fields alone."""
    for row in rows:
        yield orjson.dumps({name: row[name] for name in columns}).decode() + "\n"


def lines_as(
    format_: str, columns: Sequence[str], rows: Iterable[Mapping[str, Any]]
) -> Iterator[str]:
    """Yield the lines of a file in one of the formats of MEDIA_TYPES."""
    return csv_lines(columns, rows) if format_ == "csv" else json_lines(columns, rows)


def _cell(value: Any) -> Any:
    if isinstance(value, dict | list):
        value = orjson.dumps(value).decode()
    return f"'{value}" if isinstance(value, str) and value.startswith(_OF_FORMULAS) else value


def _taken(text: io.StringIO) -> str:
    line = text.getvalue()
    text.seek(0)
    text.truncate()
    return line
