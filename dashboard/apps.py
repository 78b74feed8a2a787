"""The Django app of the console."""

from __future__ import annotations

from django.apps import AppConfig


class DashboardConfig(AppConfig):
    """Pages only; the apps below hold the data and the services."""

    name = "dashboard"

    def ready(self) -> None:
        """Record the sessions that begin and end; tell saved views what the lists understand."""
        from api import list_pages  # models are loaded by now
        from dashboard import sign_in_guard
        from tenants import list_queries

        sign_in_guard.connect()
        list_queries.register(list_pages.read_saved_query, list_pages.names_of)
