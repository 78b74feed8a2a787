"""Routes of the API's own description under ``/v1/``."""

from __future__ import annotations

from django.urls import path

from api.protocol import docs

urlpatterns = [
    path("schema/", docs.SchemaView.as_view(), name="schema"),
    path("docs/", docs.DocsView.as_view(), name="docs"),
]
