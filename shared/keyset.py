"""Rows in an order by columns, a page at a time: each page begins behind the last row of the one
before, so it costs the same at any depth and neither skips nor repeats rows.

``order`` names non-null columns, the last one unique, each with ``-`` for descending.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from operator import attrgetter
from typing import Any

from django.db.models import Q, QuerySet


def each_page(
    rows: QuerySet[Any],
    *,
    order: Sequence[str],
    parts: Sequence[QuerySet[Any]] = (),
    behind: Sequence[Any] | None = None,
    at_once: int = 500,
) -> Iterator[list[Any]]:
    """Yield all rows in their order, a page of them in memory at a time.

    ``parts`` together hold the same rows, for lists in which an index serves each part alone.
    ``behind`` are the values of the order's columns in the row to continue after.
    """
    beyond = Q() if behind is None else after_values(rows, order, behind)
    while True:
        ordered = [part.filter(beyond).order_by(*order) for part in parts or (rows,)]
        found = slice_of(ordered, order, 0, at_once)
        if found:
            yield found
        if len(found) < at_once:
            return
        last = [getattr(found[-1], name.lstrip("-")) for name in order]
        beyond = after_values(rows, order, last)


def slice_of(
    ordered: Sequence[QuerySet[Any]], order: Sequence[str], start: int, stop: int
) -> list[Any]:
    """Return a slice of all parts together; a row in several parts comes once."""
    if len(ordered) == 1:
        return list(ordered[0][start:stop])
    found: list[Any] = []
    for part in ordered:
        if len(found) == stop:
            # Of the other parts only rows up to the last one found can be in the slice.
            name = order[0].lstrip("-")
            before = "gte" if order[0].startswith("-") else "lte"
            part = part.filter(**{f"{name}__{before}": getattr(found[-1], name)})
        found = list({row.pk: row for row in (*found, *part[:stop])}.values())
        # Sorting is stable: the last column first, so that the first one decides.
        for column in reversed(order):
            found.sort(key=attrgetter(column.lstrip("-")), reverse=column.startswith("-"))
        del found[stop:]
    return found[start:]


def after_values(rows: QuerySet[Any], order: Sequence[str], values: Sequence[Any]) -> Q:
    """Return the rows after these values; the first column bounds the index scan by itself."""
    names = [name.lstrip("-") for name in order]
    typed = [_typed(rows, name, value) for name, value in zip(names, values, strict=True)]
    beyond = Q()
    for position, name in enumerate(order):
        equal = dict(zip(names[:position], typed[:position], strict=True))
        beyond |= Q(**equal, **{_comparison(name, ""): typed[position]})
    return Q(**{_comparison(order[0], "e"): typed[0]}) & beyond


def _comparison(name: str, equal: str) -> str:
    return f"{name[1:]}__lt{equal}" if name.startswith("-") else f"{name}__gt{equal}"


def _typed(rows: QuerySet[Any], name: str, value: Any) -> Any:
    computed = rows.query.annotations.get(name)
    column: Any = rows.model._meta.get_field(name) if computed is None else computed.output_field
    return column.to_python(value)
