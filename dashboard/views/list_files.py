"""A list as a file: the rows of its page, by the same query and rights."""

from __future__ import annotations

from django.http import HttpResponse

from api.list_files import file_answer
from api.protocol.query import choice
from dashboard.access import ConsoleRequest, page
from dashboard.chosen_rows import rows_of
from dashboard.listing import read_filters
from dashboard.saved_views import parameters_of
from executions.loop.clocks import database_now
from shared.table_files import MEDIA_TYPES
from tenants.choices import Role


@page(Role.VIEWER)
def list_file(request: ConsoleRequest, of: str) -> HttpResponse:
    """Download the list as CSV or JSON lines."""
    formats = {"format": choice(*MEDIA_TYPES, default="csv")}
    query = read_filters(request, {**parameters_of(of), **formats})
    chosen = rows_of(of, request.visitor.tenant.pk, query, database_now())
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
