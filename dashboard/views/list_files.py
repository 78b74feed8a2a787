"""A list as a file: the rows of its page, by the same query, rights and time."""

from __future__ import annotations

from django.http import HttpResponse

from api.list_files import file_answer
from api.list_pages import filter_of
from api.protocol.query import choice
from dashboard.access import ConsoleRequest, page
from dashboard.chosen_rows import rows_of
from dashboard.listing import read_filters
from dashboard.saved_views import parameters_of
from executions.loop.clocks import database_now
from insight.filter_language.conditions import begins
from insight.list_budget import TASKS_ADVICE, advice_for, read_list
from shared.table_files import MEDIA_TYPES
from tenants.choices import Role, SavedList


@page(Role.VIEWER)
def list_file(request: ConsoleRequest, of: str) -> HttpResponse:
    """Download the list as CSV or JSON lines."""
    formats = {"format": choice(*MEDIA_TYPES, default="csv")}
    query = read_filters(request, {**parameters_of(of), **formats})
    wanted = filter_of(of, query)

    def read() -> HttpResponse:
        chosen = rows_of(of, request.visitor.tenant.pk, query, database_now(), wanted)
        return file_answer(
            request,
            of,
            chosen.rows,
            # Of the file, not of a page of the list.
            {**query, "limit": None},
            format_=query["format"],
            order=chosen.order,
            parts=chosen.parts,
        )

    advice = TASKS_ADVICE
    if of == SavedList.EXECUTIONS:
        advice = advice_for(bounded=query["window"] != "any" or begins(wanted))
    return read_list(read, advice=advice)
