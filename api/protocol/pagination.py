"""Lists: by cursor for any depth, by page number for shallow ones.

A cursor continues after the last row seen (keyset), so it neither skips nor repeats rows while
others are added, and costs the same at any depth. It is signed; a made-up one is 400. Views
state ``query_parameters = {"GET": {**LIST_PARAMETERS, ...}}`` and call :func:`paginate`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from operator import attrgetter
from typing import Any, NoReturn

import orjson
from django.core.signing import BadSignature, Signer
from django.db.models import Model, Q, QuerySet
from django.utils.encoding import DjangoUnicodeDecodeError
from django.utils.http import urlsafe_base64_decode, urlsafe_base64_encode

from api.protocol.query import Parameter, integer, text
from shared.exceptions import FieldError, InvalidInput

DEFAULT_LIMIT = 20
MAX_LIMIT = 200
#: Counted exactly up to here; above, the planner's estimate is given and named as such, except on
#: the page where a list ends.
MAX_EXACT_TOTAL = 10_000

LIST_PARAMETERS: Mapping[str, Parameter] = {
    "limit": integer("Rows per page.", minimum=1, maximum=MAX_LIMIT),
    "page": integer("Number of a page, for shallow lists.", minimum=1, maximum=1_000_000),
    "cursor": text("Continue a list: `pagination.next_cursor`.", max_length=1000),
}


def paginate(
    rows: QuerySet[Any],
    query: Mapping[str, Any],
    *,
    key: str,
    serialize: Callable[[Any], Any],
    order: Sequence[str] = ("-created_at", "-id"),
    counted: bool = True,
    parts: Sequence[QuerySet[Any]] = (),
) -> dict[str, Any]:
    """Return ``{key: [...], "pagination": {...}}`` for the list parameters of the query.

    ``order`` names non-null columns, the last one unique, each with ``-`` for descending.
    ``counted``: whether the first page of a list has a total although no ``page`` asks for it.
    ``parts`` together hold the same rows as ``rows``, for lists in which an index serves each
    part but none serves all rows at once. They may overlap.
    """
    limit = query["limit"] or DEFAULT_LIMIT
    page, cursor = query["page"], query["cursor"]
    if page is not None and cursor is not None:
        _refuse("?cursor", "Give either page or cursor.")
    pagination: dict[str, Any] = {"limit": limit}
    after = Q()
    if cursor is not None:
        start = 0
        after = _after(rows.model, order, _read_cursor(cursor, order))
    else:
        start = ((page or 1) - 1) * limit
    ordered = [part.filter(after).order_by(*order) for part in parts or (rows,)]
    if getattr(rows, "found_by_key", False):  # of a TenantQuerySet
        ordered = [part.filter(pk__in=part.values("pk")[: start + limit + 1]) for part in ordered]
    found = _slice(ordered, order, start, start + limit + 1)
    shown = found[:limit]
    if cursor is None and (page is not None or counted):
        ends_here = len(found) <= limit and (bool(found) or not start)
        total = _exact(start + len(found)) if ends_here else _total(rows)
        pagination |= {"page": page or 1, **total}
    pagination["next_cursor"] = _make_cursor(shown[-1], order) if len(found) > limit else None
    return {key: [serialize(row) for row in shown], "pagination": pagination}


def paginate_numbers(
    total: int,
    query: Mapping[str, Any],
    *,
    key: str,
    read: Callable[[int, int], Sequence[Any]],
) -> dict[str, Any]:
    """Return the same for things that are numbered from 0 up to ``total``, in their order.

    ``read`` returns those from the first number to before the second one.
    """
    limit = query["limit"] or DEFAULT_LIMIT
    page, cursor = query["page"], query["cursor"]
    if page is not None and cursor is not None:
        _refuse("?cursor", "Give either page or cursor.")
    pagination: dict[str, Any] = {"limit": limit}
    order = (key,)
    if cursor is not None:
        start = int(_read_cursor(cursor, order)[0])
    else:
        start = ((page or 1) - 1) * limit
        pagination |= {"page": page or 1, **_exact(total)}
    end = min(start + limit, total)
    pagination["next_cursor"] = _signed([end], order) if end < total and end > start else None
    return {key: list(read(start, end)) if end > start else [], "pagination": pagination}


def each_row(
    rows: QuerySet[Any],
    *,
    order: Sequence[str],
    parts: Sequence[QuerySet[Any]] = (),
    after: str | None = None,
    at_once: int = 500,
) -> Iterator[list[Any]]:
    """Yield all rows in their order, a page of them in memory at a time.

    ``order`` and ``parts`` are those of :func:`paginate`, ``after`` is a cursor of its.
    """
    beyond = Q() if after is None else _after(rows.model, order, _read_cursor(after, order))
    while True:
        ordered = [part.filter(beyond).order_by(*order) for part in parts or (rows,)]
        found = _slice(ordered, order, 0, at_once)
        if found:
            yield found
        if len(found) < at_once:
            return
        last = [getattr(found[-1], name.lstrip("-")) for name in order]
        beyond = _after(rows.model, order, last)


def cursor_after(row: Any, order: Sequence[str]) -> str:
    """Return the cursor that continues a list behind a row."""
    return _make_cursor(row, order)


def _slice(
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


def _exact(total: int) -> dict[str, Any]:
    return {"total": total, "total_estimated": False}


def _total(rows: QuerySet[Any]) -> dict[str, Any]:
    total = rows.order_by()[: MAX_EXACT_TOTAL + 1].count()
    if total <= MAX_EXACT_TOTAL:
        return _exact(total)
    plan = orjson.loads(rows.order_by().explain(format="json"))
    return {"total": max(total, int(plan[0]["Plan"]["Plan Rows"])), "total_estimated": True}


def _after(model: type[Model], order: Sequence[str], values: Sequence[Any]) -> Q:
    """Return the rows after these values; the first column bounds the index scan by itself."""
    names = [name.lstrip("-") for name in order]
    typed = [_typed(model, name, value) for name, value in zip(names, values, strict=True)]
    beyond = Q()
    for position, name in enumerate(order):
        equal = dict(zip(names[:position], typed[:position], strict=True))
        beyond |= Q(**equal, **{_comparison(name, ""): typed[position]})
    return Q(**{_comparison(order[0], "e"): typed[0]}) & beyond


def _comparison(name: str, equal: str) -> str:
    return f"{name[1:]}__lt{equal}" if name.startswith("-") else f"{name}__gt{equal}"


def _typed(model: type[Model], name: str, value: Any) -> Any:
    return model._meta.get_field(name).to_python(value)  # type: ignore[union-attr]  # a column


def _signer(order: Sequence[str]) -> Signer:
    # The order is part of the salt: a cursor of another order does not verify.
    return Signer(salt=f"api.protocol.pagination:{','.join(order)}", sep=".")


def _make_cursor(row: Any, order: Sequence[str]) -> str:
    return _signed([getattr(row, name.lstrip("-")) for name in order], order)


def _signed(values: Sequence[Any], order: Sequence[str]) -> str:
    return _signer(order).sign(urlsafe_base64_encode(orjson.dumps(values)))


def _read_cursor(cursor: str, order: Sequence[str]) -> list[Any]:
    try:
        values: list[Any] = orjson.loads(urlsafe_base64_decode(_signer(order).unsign(cursor)))
    except (BadSignature, DjangoUnicodeDecodeError, ValueError):
        _refuse("?cursor", "This cursor was not given by this list in this order.")
    return values


def _refuse(pointer: str, message: str) -> NoReturn:
    raise InvalidInput(
        [FieldError(pointer, "invalid", message)], "The query parameters are not valid."
    )
