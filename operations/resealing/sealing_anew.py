"""Seals stored values anew with the active key, so that an old one can leave the configuration.

The values themselves say what is left to do: a call that is interrupted continues with the next.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from django.db import connection, transaction
from psycopg import sql

from operations.resealing.columns import COLUMNS, Column
from shared.encryption import DecryptionFailed, active_header, open_sealed, seal
from shared.sql import run, statement

#: Values of one transaction: some have a mebibyte.
_AT_ONCE = 100


@dataclass(slots=True)
class Resealed:
    """The result for one column: the values that were sealed anew, and those that no key opens."""

    column: Column
    done: int = 0
    unreadable: int = 0


def counts_by_key(column: Column) -> dict[str, int]:
    """Return how many values of a column each key has sealed; reads the table whole."""
    with transaction.atomic():
        run("resealing/take_time")
        return dict(_execute("resealing/counts", column, {}))


def all_counts() -> Counter[str]:
    """Return how many stored values each key has sealed."""
    found: Counter[str] = Counter()
    for column in COLUMNS:
        found.update(counts_by_key(column))
    return found


def seal_anew(column: Column) -> Iterator[Resealed]:
    """Seal the values of a column anew; yield the result so far after each transaction.

    A row that another session changes in this moment keeps its key. So does a value that no key
    opens.
    """
    result = Resealed(column)
    after: tuple[Any, ...] | None = None
    while True:
        with transaction.atomic():
            run("resealing/take_time")
            found = _next(column, after)
            for row in found:
                _seal_one(column, row, result)
        if found:
            after = found[-1][: len(column.keys)]
        yield result
        if len(found) < _AT_ONCE:
            return


def _seal_one(column: Column, row: tuple[Any, ...], result: Resealed) -> None:
    keys, parts, blob = row[: len(column.keys)], row[len(column.keys) : -1], bytes(row[-1])
    context = column.context_of(parts)
    try:
        opened = open_sealed(blob, context)
    except DecryptionFailed:
        result.unreadable += 1
        return
    values = sql.SQL(", ").join(map(sql.Literal, keys))
    _execute("resealing/write", column, {"sealed": seal(opened, context)}, values=values)
    result.done += 1


def _next(column: Column, after: tuple[Any, ...] | None) -> list[tuple[Any, ...]]:
    header = active_header()
    behind: sql.Composable = sql.SQL("true")
    if after is not None:
        values = sql.SQL(", ").join(map(sql.Literal, after))
        behind = sql.SQL("({}) > ({})").format(_names(column.keys), values)
    columns = _names((*column.keys, *column.parts, column.name))
    wanted = {"length": len(header), "header": header, "limit": _AT_ONCE}
    return _execute("resealing/lock_next", column, wanted, behind=behind, columns=columns)


def _execute(
    path: str, column: Column, parameters: dict[str, Any], **parts: sql.Composable
) -> list[tuple[Any, ...]]:
    text = sql.SQL(statement(path)).format(
        table=sql.Identifier(column.table),
        column=sql.Identifier("t", column.name),
        assigned=sql.Identifier(column.name),
        keys=_names(column.keys),
        **parts,
    )
    with connection.cursor() as cursor:
        cursor.execute(text, parameters)
        return cursor.fetchall() if cursor.description else []


def _names(columns: tuple[str, ...]) -> sql.Composable:
    return sql.SQL(", ").join(sql.Identifier("t", name) for name in columns)
