"""The Django app of the console."""

from __future__ import annotations

from django.apps import AppConfig


class DashboardConfig(AppConfig):
    """Pages only; the apps below hold the data and the services."""

    name = "dashboard"

    def ready(self) -> None:
        """Record the sessions that begin and end."""
        from dashboard import sign_in_guard  # models are loaded by now

        sign_in_guard.connect()
