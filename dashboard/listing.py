"""Lists of the console: the page's query read as the API reads it, and its next page.

The URL holds every filter, so that a list can be bookmarked, shared and copied as a call.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from datetime import timedelta
from typing import Any

from django.db.models import QuerySet
from django.http import HttpRequest

from api.protocol.pagination import LIST_PARAMETERS, paginate
from api.protocol.query import Parameter, read_query
from executions.loop.clocks import database_now
from executions.models import Execution
from insight.explain.waiting_rows import waits_of_rows
from insight.presentation.execution import present_executions
from shared.exceptions import FieldError, InvalidInput
from shared.ids import moment_of

_SECOND = timedelta(seconds=1)
#: Rows on a page of a list.
PAGE_ROWS = 50


def read_filters(request: HttpRequest, parameters: Mapping[str, Parameter]) -> dict[str, Any]:
    """Return the page's filters and place; raise InvalidInput for values that make no sense.

    A form sends its empty fields too: they count as left out. Names that the page does not know
    are ignored, but not ``sort``: a list that is sorted otherwise than asked would mislead.
    """
    if "sort" in request.GET and "ordering" in parameters:
        message = "Lists are sorted by ordering, such as ?ordering=-duration."
        raise InvalidInput([FieldError("?sort", "unknown_parameter", message)], message)
    given = request.GET.copy()
    for name in list(given):
        values = [value for value in given.getlist(name) if value != ""]
        if name in parameters or name in LIST_PARAMETERS:
            given.setlist(name, values)
        if not values or (name not in parameters and name not in LIST_PARAMETERS):
            del given[name]
    query = read_query(given, {**LIST_PARAMETERS, **parameters})
    return {**query, "limit": query["limit"] or PAGE_ROWS}


def present_listed(rows: list[Execution]) -> list[dict[str, Any]]:
    """Return executions as lists show them: each with ``at``, the time by which they are ordered.

    It is the nominal time, for a run outside of the schedule (a backfill's, a retry, by hand) the
    time at which it was made; ``stands_for`` is the nominal time where that is another one.
    ``wait`` is what a waiting one waits for.
    """
    shown = present_executions(rows)
    waits = waits_of_rows(rows[0].tenant_id, rows, database_now()) if rows else {}
    for row, document in zip(rows, shown, strict=True):
        at = moment_of(row.pk)
        document["at"] = at
        document["host"] = row.destination
        another = abs(row.scheduled_for - at) >= _SECOND
        document["wait"] = waits.get(row.pk)
        document["stands_for"] = document["scheduled_for"] if another else None
    return shown


def read_page(
    rows: QuerySet[Any],
    query: Mapping[str, Any],
    *,
    present: Callable[[list[Any]], list[Any]] = lambda found: found,
    order: tuple[str, ...] = ("-id",),
    counted: bool = False,
    parts: Sequence[QuerySet[Any]] = (),
) -> dict[str, Any]:
    """Return ``rows`` of this page and ``pagination`` with the cursor of the next."""
    answer = paginate(
        rows,
        query,
        key="rows",
        serialize=lambda row: row,
        order=order,
        counted=counted,
        parts=parts,
    )
    return {**answer, "rows": present(answer["rows"])}
