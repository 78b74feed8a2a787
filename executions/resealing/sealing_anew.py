"""Seals stored values anew with the keys that seal now, so that older ones can be removed.

The values themselves say what is left to do: a call that is interrupted continues with the next.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple
from uuid import UUID

from django.db import connection, transaction
from psycopg import sql

from executions.ledger.days import day_end_id, day_of
from executions.resealing.columns import COLUMNS, Column
from shared.data_keys import header_of
from shared.encryption import (
    DecryptionFailed,
    active_header,
    is_under_data_key,
    open_sealed,
    seal,
)
from shared.ids import first_id_at
from shared.sql import Done, rows, run, statement
from tenants.models import DataKey

#: Values that are read at once, and their bytes: some have a mebibyte.
_AT_ONCE = 1000
_BYTES_AT_ONCE = 8 * 1024 * 1024
#: Bytes that one transaction writes while it has their rows locked. An advance of a run waits a
#: second for a lock: a hundred long values could take longer.
_BYTES_LOCKED = 1024 * 1024
_WHOLE_TABLE = ""
_ALL = sql.SQL("true")


class _Value(NamedTuple):
    """A value that is sealed anew: the keys of its row, and what it was and becomes."""

    keys: tuple[Any, ...]
    old: bytes
    sealed: bytes


class Place(NamedTuple):
    """Where a pass over a column is: the part that it reads, and the row that it did last."""

    stretch: str = _WHOLE_TABLE
    after: tuple[Any, ...] | None = None


@dataclass(slots=True)
class Resealed:
    """The result for one column: the values that were sealed anew, and those that no key opens.

    ``place`` is where a later pass may continue.
    """

    column: Column
    done: int = 0
    unreadable: int = 0
    place: Place | None = None


def counts_by_key(column: Column) -> dict[str, int]:
    """Return how many values of a column each key has sealed; reads the table whole.

    A key of the deployment has its name, a data key its id.
    """
    with transaction.atomic():
        run("resealing/take_time")
        found = _execute("resealing/counts", column, {}).rows
    return {str(UUID(hex=key)) if is_data_key else key: count for key, is_data_key, count in found}


def all_counts() -> Counter[str]:
    """Return how many stored values each key has sealed."""
    found: Counter[str] = Counter()
    for column in COLUMNS:
        found.update(counts_by_key(column))
    return found


def count_left(column: Column, tenant_id: UUID | None = None) -> int:
    """Return how many values of a column, of a tenant or of all, have a former key."""
    wanted = {"headers": sealing_headers(column, tenant_id)}
    with transaction.atomic():
        run("resealing/take_time")
        found = _execute(
            "resealing/left_of_tenant", column, wanted, of_tenant=_of_tenant(column, tenant_id)
        )
    return int(found.rows[0][0])


def is_under(column: Column, header: bytes) -> bool:
    """Return whether a value of a column begins with the header of a key."""
    with transaction.atomic():
        run("resealing/take_time")
        return bool(_execute("resealing/under_key", column, {"header": header}).rows[0][0])


def sealing_headers(column: Column, tenant_id: UUID | None = None) -> list[bytes]:
    """Return what values of a column begin with that need no other key, of a tenant or of all."""
    if column.owner is None:
        return [active_header()]
    keys = DataKey.objects.filter(replaced_at=None)
    if tenant_id is not None:
        keys = keys.filter(tenant_id=tenant_id)
    # Without any data key, values go on under the key of the installation.
    return [header_of(key) for key in keys.values_list("id", flat=True)] or [active_header()]


def seal_anew(
    column: Column, tenant_id: UUID | None = None, begin: Place | None = None
) -> Iterator[Resealed]:
    """Seal the values of a column anew; yield the result so far after each batch.

    Of one tenant, or of all; from the begin, or from the place of an earlier pass.

    1. Find the next values, without locks: the scan may be long.
    2. Open and seal them.
    3. Write those that are still the same, which closes the race with a session that replaced a
       value since step 1. Rows are locked for this step alone.

    A row that another session has locked, or has changed, keeps its key. So does a value that no
    configured key opens.
    """
    result = Resealed(column)
    headers = sealing_headers(column, tenant_id)
    for place in _places(column, begin):
        after = place.after
        while True:
            found = _find(column, headers, tenant_id, Place(place.stretch, after))
            for group in _groups(_sealed(column, found, result)):
                result.done += _write(column, place.stretch, group)
            if found:
                after = found[-1][: len(column.keys)]
            result.place = Place(place.stretch, after)
            yield result
            if len(found) < _AT_ONCE and sum(len(row[-1]) for row in found) < _BYTES_AT_ONCE:
                break


def _places(column: Column, begin: Place | None) -> list[Place]:
    """Return the parts that are read one by one: days, or the whole table.

    The keys of ``attempts`` are in another order than its days, and each batch would begin in each
    day anew.
    """
    names = [name for (name,) in rows("prune/existing_days", {"parent": column.table})]
    days = sorted(name.rpartition("_")[2] for name in names) or [_WHOLE_TABLE]
    if begin is None:
        return [Place(day) for day in days]
    return [
        Place(day, begin.after if day == begin.stretch else None)
        for day in days
        if day >= begin.stretch
    ]


def _stretch(day: str) -> sql.Composable:
    if day == _WHOLE_TABLE:
        return _ALL
    low, high = first_id_at(day_of(day)), day_end_id(day)
    return sql.SQL("t.id >= {} AND t.id < {}").format(sql.Literal(low), sql.Literal(high))


def _find(
    column: Column, headers: list[bytes], tenant_id: UUID | None, place: Place
) -> list[tuple[Any, ...]]:
    behind: sql.Composable = _ALL
    if place.after is not None:
        behind = sql.SQL("({}) > ({})").format(_names(column.keys), _literals(place.after))
    wanted = {"headers": headers, "limit": _AT_ONCE, "bytes": _BYTES_AT_ONCE}
    # The key and the context of a row may have the same columns.
    columns = [*column.keys, *column.parts]
    named = [sql.Identifier(f"c{number}") for number in range(len(columns))]
    with transaction.atomic():
        run("resealing/take_time")
        rows("resealing/plan_in_order")
        return _execute(
            "resealing/find",
            column,
            wanted,
            stretch=_stretch(place.stretch),
            behind=behind,
            columns=sql.SQL(", ").join(
                sql.SQL("{} AS {}").format(sql.Identifier("t", name), alias)
                for name, alias in zip(columns, named, strict=True)
            ),
            found=sql.SQL(", ").join([*named, sql.Identifier("tenant"), sql.Identifier("value")]),
            tenant=tenant_of_row(column),
            of_tenant=_of_tenant(column, tenant_id),
        ).rows


def tenant_of_row(column: Column) -> sql.Composable:
    """Return the expression for the tenant of a row ``t`` of the column's table."""
    owner = column.owner
    if owner is None:
        return sql.SQL("NULL")
    link = sql.Identifier("t", owner.column)
    if owner.table is None:
        return link
    text = sql.SQL(statement("resealing/owner_of_link"))
    return text.format(owner=sql.Identifier(owner.table), link=link)


def _of_tenant(column: Column, tenant_id: UUID | None) -> sql.Composable:
    if tenant_id is None:
        return _ALL
    return sql.SQL("{} = {}").format(tenant_of_row(column), sql.Literal(tenant_id))


def _sealed(column: Column, found: Sequence[tuple[Any, ...]], result: Resealed) -> Iterator[_Value]:
    for row in found:
        *parts, tenant_id, old = row[len(column.keys) :]
        context = column.context_of(tenant_id, tuple(parts))
        try:
            opened = open_sealed(bytes(old), context)
        except DecryptionFailed:
            result.unreadable += 1
        else:
            sealed = seal(opened, context)
            # The race: an erasure has destroyed the keys of the tenant since. A value that it has
            # closed is not opened again by the key of the installation, which backups have.
            if is_under_data_key(sealed) or not is_under_data_key(bytes(old)):
                yield _Value(row[: len(column.keys)], bytes(old), sealed)


def _groups(values: Iterable[_Value]) -> Iterator[list[_Value]]:
    """Group values by transactions, which are short because they have rows locked."""
    group: list[_Value] = []
    size = 0
    for value in values:
        if group and size + len(value.sealed) > _BYTES_LOCKED:
            yield group
            group, size = [], 0
        group.append(value)
        size += len(value.sealed)
    if group:
        yield group


def _write(column: Column, stretch: str, values: Sequence[_Value]) -> int:
    """Write values whose rows are not locked and have no other one; return how many these are."""
    wanted: dict[str, Any] = {
        "old": [value.old for value in values],
        "sealed": [value.sealed for value in values],
    }
    for number, keys in enumerate(zip(*(value.keys for value in values), strict=True)):
        wanted[f"keys_{number}"] = list(keys)
    placeholders = map(sql.Placeholder, [name for name in wanted if name.startswith("keys_")])
    with transaction.atomic():
        rows("resealing/plan_by_keys")
        return _execute(
            "resealing/write",
            column,
            wanted,
            stretch=_stretch(stretch),
            values=sql.SQL(", ").join(placeholders),
            names=sql.SQL(", ").join(map(sql.Identifier, column.keys)),
            keys_of_w=_names(column.keys, "w"),
            keys_of_l=_names(column.keys, "l"),
        ).number


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


def _names(columns: tuple[str, ...], table: str = "t") -> sql.Composable:
    return sql.SQL(", ").join(sql.Identifier(table, name) for name in columns)


def _literals(values: tuple[Any, ...]) -> sql.Composable:
    return sql.SQL(", ").join(map(sql.Literal, values))
