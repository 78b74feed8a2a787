"""Seals stored values anew with the active key, so that an old one can leave the configuration.

The values themselves say what is left to do: a call that is interrupted continues with the next.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

from django.db import connection, transaction
from psycopg import sql

from executions.ledger.days import day_end_id, day_of
from operations.resealing.columns import COLUMNS, Column
from shared.encryption import DecryptionFailed, active_header, open_sealed, seal
from shared.ids import first_id_at
from shared.sql import Done, rows, run, statement

#: Values that are read at once: some have a mebibyte.
_AT_ONCE = 100
#: Bytes that one transaction writes while it has their rows locked. An advance of a run waits a
#: second for a lock: a hundred long values could take longer.
_BYTES_LOCKED = 1024 * 1024
_WHOLE_TABLE = sql.SQL("true")


class _Value(NamedTuple):
    """A value that is sealed anew: the keys of its row, and what it was and becomes."""

    keys: tuple[Any, ...]
    old: bytes
    sealed: bytes


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
        return dict(_execute("resealing/counts", column, {}).rows)


def all_counts() -> Counter[str]:
    """Return how many stored values each key has sealed."""
    found: Counter[str] = Counter()
    for column in COLUMNS:
        found.update(counts_by_key(column))
    return found


def seal_anew(column: Column) -> Iterator[Resealed]:
    """Seal the values of a column anew; yield the result so far after each batch.

    1. Find the next values, without locks: the scan may be long.
    2. Open and seal them.
    3. Write those that are still the same, which closes the race with a session that replaced a
       value since step 1. Rows are locked for this step alone.

    A row that another session has locked, or has changed, keeps its key. So does a value that no
    configured key opens.
    """
    result = Resealed(column)
    for stretch in _stretches(column):
        after: tuple[Any, ...] | None = None
        while True:
            found = _find(column, stretch, after)
            for group in _groups(_sealed(column, found, result)):
                with transaction.atomic():
                    result.done += sum(_write(column, value) for value in group)
            yield result
            if len(found) < _AT_ONCE:
                break
            after = found[-1][: len(column.keys)]


def _stretches(column: Column) -> list[sql.Composable]:
    """Return the conditions of the parts that are read one by one: days, or the whole table.

    The keys of ``attempts`` are in another order than its days, and each batch would begin in each
    day anew.
    """
    names = [name for (name,) in rows("prune/existing_days", {"parent": column.table})]
    return [_day(name.rpartition("_")[2]) for name in names] or [_WHOLE_TABLE]


def _day(name: str) -> sql.Composable:
    low, high = first_id_at(day_of(name)), day_end_id(name)
    return sql.SQL("t.id >= {} AND t.id < {}").format(sql.Literal(low), sql.Literal(high))


def _find(
    column: Column, stretch: sql.Composable, after: tuple[Any, ...] | None
) -> list[tuple[Any, ...]]:
    header = active_header()
    behind: sql.Composable = sql.SQL("true")
    if after is not None:
        behind = sql.SQL("({}) > ({})").format(_names(column.keys), _literals(after))
    columns = _names((*column.keys, *column.parts, column.name))
    wanted = {"length": len(header), "header": header, "limit": _AT_ONCE}
    with transaction.atomic():
        run("resealing/take_time")
        run("resealing/plan_in_order")
        return _execute(
            "resealing/find", column, wanted, stretch=stretch, behind=behind, columns=columns
        ).rows


def _sealed(column: Column, found: Sequence[tuple[Any, ...]], result: Resealed) -> Iterator[_Value]:
    for row in found:
        keys, parts, old = row[: len(column.keys)], row[len(column.keys) : -1], bytes(row[-1])
        context = column.context_of(parts)
        try:
            opened = open_sealed(old, context)
        except DecryptionFailed:
            result.unreadable += 1
        else:
            yield _Value(keys, old, seal(opened, context))


def _groups(values: Iterable[_Value]) -> Iterator[list[_Value]]:
    """Group values by transactions, which are short because they have rows locked."""
    group: list[_Value] = []
    for value in values:
        if group and sum(len(one.sealed) for one in (*group, value)) > _BYTES_LOCKED:
            yield group
            group = []
        group.append(value)
    if group:
        yield group


def _write(column: Column, value: _Value) -> int:
    """Write a value unless its row is locked or has another one; return 1 where it was written."""
    wanted = {"old": value.old, "sealed": value.sealed}
    return _execute("resealing/write", column, wanted, values=_literals(value.keys)).number


def _execute(
    path: str, column: Column, parameters: dict[str, Any], **parts: sql.Composable
) -> Done:
    text = sql.SQL(statement(path)).format(
        table=sql.Identifier(column.table),
        column=sql.Identifier("t", column.name),
        assigned=sql.Identifier(column.name),
        keys=_names(column.keys),
        **parts,
    )
    with connection.cursor() as cursor:
        cursor.execute(text, parameters)
        return Done(cursor.fetchall() if cursor.description else [], cursor.rowcount)


def _names(columns: tuple[str, ...]) -> sql.Composable:
    return sql.SQL(", ").join(sql.Identifier("t", name) for name in columns)


def _literals(values: tuple[Any, ...]) -> sql.Composable:
    return sql.SQL(", ").join(map(sql.Literal, values))
