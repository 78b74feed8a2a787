"""Lists: by cursor for any depth, by page number for shallow ones.

A cursor continues after the last row seen (keyset), so it neither skips nor repeats rows while
others are added, and costs the same at any depth. It is signed; a made-up one is 400. Views
state ``query_parameters = {"GET": {**LIST_PARAMETERS, ...}}`` and call :func:`paginate`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, NoReturn

import orjson
from django.core.signing import BadSignature, Signer
from django.db.models import Q, QuerySet
from django.utils.duration import duration_iso_string
from django.utils.encoding import DjangoUnicodeDecodeError
from django.utils.http import urlsafe_base64_decode, urlsafe_base64_encode

from api.protocol.query import Parameter, integer, text
from shared.exceptions import FieldError, InvalidInput
from shared.keyset import after_values, slice_of

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

    ``order`` names non-null columns, the last one unique, each with ``-`` for descending; the
    queryset may compute them.
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
        after = after_values(rows, order, _read_cursor(cursor, order))
    else:
        start = ((page or 1) - 1) * limit
    ordered = [part.filter(after).order_by(*order) for part in parts or (rows,)]
    if getattr(rows, "found_by_key", False):  # of a TenantQuerySet
        ordered = [part.filter(pk__in=part.values("pk")[: start + limit + 1]) for part in ordered]
    found = slice_of(ordered, order, start, start + limit + 1)
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


def values_of(cursor: str | None, order: Sequence[str]) -> list[Any] | None:
    """Return the values behind which a cursor continues; None without one."""
    return None if cursor is None else _read_cursor(cursor, order)


def cursor_after(row: Any, order: Sequence[str]) -> str:
    """Return the cursor that continues a list behind a row."""
    return _make_cursor(row, order)


def _exact(total: int) -> dict[str, Any]:
    return {"total": total, "total_estimated": False}


def _total(rows: QuerySet[Any]) -> dict[str, Any]:
    total = rows.order_by()[: MAX_EXACT_TOTAL + 1].count()
    if total <= MAX_EXACT_TOTAL:
        return _exact(total)
    plan = orjson.loads(rows.order_by().explain(format="json"))
    return {"total": max(total, int(plan[0]["Plan"]["Plan Rows"])), "total_estimated": True}


def _signer(order: Sequence[str]) -> Signer:
    # The order is part of the salt: a cursor of another order does not verify.
    return Signer(salt=f"api.protocol.pagination:{','.join(order)}", sep=".")


def _make_cursor(row: Any, order: Sequence[str]) -> str:
    return _signed([getattr(row, name.lstrip("-")) for name in order], order)


def _signed(values: Sequence[Any], order: Sequence[str]) -> str:
    return _signer(order).sign(
        urlsafe_base64_encode(orjson.dumps(values, default=duration_iso_string))
    )


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
