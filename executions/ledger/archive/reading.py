"""Read a day of the archive: every row once, in the order of ids, with few rows in memory.

Every byte is verified before the first row is yielded.
"""

from __future__ import annotations

import heapq
from collections.abc import Collection, Iterator, Mapping
from pathlib import Path
from typing import Any, NamedTuple

from executions.ledger.archive.parts import Damaged, Part, contents, parts_of, verify
from executions.ledger.archive.rows import records, values
from shared.exceptions import NotFound

TABLES = ("executions", "attempts", "events")
#: Table -> the column that names the execution.
_EXECUTION = {"executions": "id", "attempts": "execution_id", "events": "subject_id"}
#: The place of the id in a record: it is the first column, in quotes.
_ID = slice(1, 37)
_Where = Mapping[str, Collection[str]]


class Chosen(NamedTuple):
    """The wanted rows: of a task, of an execution; ids as PostgreSQL writes them."""

    task: str | None = None
    execution: str | None = None


ALL = Chosen()


def read_day(root: Path, table: str, day: str, chosen: Chosen = ALL) -> Iterator[dict[str, Any]]:
    """Yield the rows of a table's day in the order of their ids; ``day`` is YYYY-MM-DD.

    A batch of events is one row; with ``chosen`` it is one row per chosen subject.

    Before the first row, raise NotFound when the archive does not have the day, and Damaged when a
    file has changed since it was written.
    """
    where = _where(root, table, day, chosen)
    for part, record in _once_each(root, verified_parts(root, table, day)):
        if _may_match(record, where):
            for row in _singly(_row(root, part, record), where):
                if all(row.get(name) in texts for name, texts in where.items()):
                    yield row


def _singly(row: dict[str, Any], where: _Where) -> list[dict[str, Any]]:
    """Return a batch of events as one event per subject, where ``where`` chooses among them."""
    if not where or row.get("subjects") is None:
        return [row]
    pairs = zip(row["subjects"], row["tasks"], strict=True)
    return [
        {**row, "subject_id": subject, "task_id": task, "subjects": None, "tasks": None}
        for subject, task in pairs
    ]


def verified_parts(root: Path, table: str, day: str) -> list[Part]:
    """Return the parts of a table's day, each verified; raise NotFound or Damaged."""
    found = parts_of(root, table, day)
    if not found:
        raise NotFound(f"The archive in {root} has no {table} of {day}.")
    for part in found:
        verify(root, part)
        if next(iter(part.facts.columns), "") != "id":
            raise Damaged(f"{part.path(root)} does not begin with an id.")
    return found


def _where(root: Path, table: str, day: str, chosen: Chosen) -> _Where:
    where: dict[str, Collection[str]] = {}
    if chosen.execution is not None:
        where[_EXECUTION[table]] = (chosen.execution,)
    if chosen.task is not None and table == "attempts":
        # Attempts know their execution only.
        found = read_day(root, "executions", day, chosen)
        where["execution_id"] = frozenset(row["id"] for row in found)
    elif chosen.task is not None:
        where["task_id"] = (chosen.task,)
    return where


def _once_each(root: Path, found: list[Part]) -> Iterator[tuple[Part, bytes]]:
    streams = [_records(root, part) for part in found]
    last = b""
    for key, _, part, record in heapq.merge(*streams, key=lambda one: one[:2]):
        # Of rows with the same id, the one of the latest part comes first.
        if key != last:
            yield part, record
        last = key


def _records(root: Path, part: Part) -> Iterator[tuple[bytes, int, Part, bytes]]:
    found = records(contents(root, part))
    try:
        if next(found, b"").decode() != ",".join(part.facts.columns):
            raise Damaged(f"{part.path(root)} has other columns than its manifest says.")
        for record in found:
            yield record[_ID], -part.number, part, record
    except ValueError as error:
        raise Damaged(f"{part.path(root)} cannot be read: {error}") from error


def _row(root: Path, part: Part, record: bytes) -> dict[str, Any]:
    try:
        return values(part.facts.columns, record)
    except ValueError as error:
        raise Damaged(f"{part.path(root)} has a row that cannot be read: {error}") from error


def _may_match(record: bytes, where: _Where) -> bool:
    """Return False, by a cheap check, for most of the unwanted records."""
    single = (next(iter(texts)) for texts in where.values() if len(texts) == 1)
    return all(text.encode() in record for text in single)
