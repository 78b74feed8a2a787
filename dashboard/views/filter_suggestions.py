"""The suggestions of a filter that is being typed: a fragment for the field itself."""

from __future__ import annotations

from django.http import HttpResponse
from django.shortcuts import render

from api.protocol.query import choice, text
from dashboard.access import ConsoleRequest, page
from dashboard.listing import read_filters
from insight.filter_language.fields import VOCABULARIES
from insight.filter_language.suggestions import suggest
from insight.filter_language.tokens import MAX_LENGTH
from tenants.choices import Role

_PARAMETERS = {
    "list": choice(*VOCABULARIES, default="executions"),
    "filter": text(max_length=MAX_LENGTH),
}


@page(Role.VIEWER)
def filter_suggestions(request: ConsoleRequest) -> HttpResponse:
    """List what the text may become, as options of the field."""
    query = read_filters(request, _PARAMETERS)
    vocabulary = VOCABULARIES[query["list"]]
    found = suggest(query["filter"] or "", vocabulary, request.visitor.tenant.pk)
    return render(request, "dashboard/_filter_options.html", {"options": found})
