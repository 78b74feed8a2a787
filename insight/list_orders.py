"""The orders of lists, the same for API, commands and console, and why others are refused.

Each order ends with a unique column and has no empty ones, so that a page continues exactly behind
the last row of the one before (keyset). Only ``id`` and ``created_at`` are read in order from an
index; the other orders sort what the filter leaves, within the time of ``insight.list_budget``.
"""

from __future__ import annotations

from collections.abc import Mapping
from difflib import get_close_matches
from typing import Any, TypeVar

from django.db.models import DurationField, ExpressionWrapper, F, QuerySet

from insight.filter_language.terms import Filter

_Rows = TypeVar("_Rows", bound=QuerySet[Any])
#: How long an execution took, as ``filter=duration:`` and ``duration_ms`` count it.
TOOK = ExpressionWrapper(F("finished_at") - F("started_at"), DurationField())
#: Columns that are computed, by the name that orders use.
_COMPUTED = {"took": TOOK, "next_run_at": F("cursor__next_run_at")}
#: Columns without a value in some rows; an order by one leaves these rows out.
_MAY_BE_EMPTY = frozenset({"start_delay_ms", "took", "response_status", "next_run_at"})


def _both_ways(**columns: str) -> dict[str, tuple[str, ...]]:
    orders: dict[str, tuple[str, ...]] = {}
    for name, column in columns.items():
        tie = () if column == "id" else ("id",)
        orders[f"-{name}"] = (f"-{column}", *(f"-{one}" for one in tie))
        orders[name] = (column, *tie)
    return orders


#: ``id``: the time of the occurrence; the newest first unless asked.
EXECUTION_ORDERS: Mapping[str, tuple[str, ...]] = _both_ways(
    id="id",
    scheduled_for="scheduled_for",
    due_at="due_at",
    delay="start_delay_ms",
    duration="took",
    attempt="attempt",
    http="response_status",
)
TASK_ORDERS: Mapping[str, tuple[str, ...]] = _both_ways(
    created_at="created_at",
    updated_at="updated_at",
    name="name",
    priority="priority",
    next_run_at="next_run_at",
)
DEAD_LETTER_ORDERS: Mapping[str, tuple[str, ...]] = _both_ways(
    created_at="created_at", attempt="attempt_count"
)
#: Orders that pages read from an index, however long the list is.
INDEXED = frozenset({"id", "-id", "created_at", "-created_at"})
#: Fields of the lists that cannot be sorted by, and what to do instead.
REFUSED: Mapping[str, str] = {
    **dict.fromkeys(("status", "trigger", "type"), "filter by it: it has few values"),
    **dict.fromkeys(
        ("task", "task_name", "host", "pool", "worker", "error", "owner", "label"),
        "no index has the rows in that order; filter by it",
    ),
    **dict.fromkeys(("start_delay_ms", "lag"), "it is called delay"),
    "duration_ms": "it is called duration",
    "response_status": "it is called http",
}


def check_order(name: str, orders: Mapping[str, tuple[str, ...]]) -> str:
    """Return the name of an order; raise ValueError that says why there is no such one."""
    if name in orders:
        return name
    reason = REFUSED.get(name.removeprefix("-"))
    why = f"There is no order by {name.removeprefix('-')}: {reason}. " if reason else ""
    near = get_close_matches(name[:100], list(orders), n=1)
    hint = f" Did you mean {near[0]!r}?" if near and not why else ""
    raise ValueError(f"{why}Give one of {', '.join(orders)}.{hint}")


def is_plain(wanted: Filter | None, order: str) -> bool:
    """Return whether a list without a filter is asked for in an order that an index has."""
    return order in INDEXED and (wanted is None or not wanted.terms)


def leaves_out_rows(order: tuple[str, ...]) -> bool:
    """Return whether rows without a value in its column have no place in the order."""
    return order[0].lstrip("-") in _MAY_BE_EMPTY


def in_order(rows: _Rows, order: tuple[str, ...]) -> _Rows:
    """Return the rows that have a place in the order, with the columns that it needs."""
    column = order[0].lstrip("-")
    found: Any = rows
    if column in _COMPUTED:
        found = found.annotate(**{column: _COMPUTED[column]})
    if leaves_out_rows(order):
        found = found.filter(**{f"{column}__isnull": False})
    ordered: _Rows = found
    return ordered
