"""The Django app of the console."""

from __future__ import annotations

from django.apps import AppConfig


class DashboardConfig(AppConfig):
    """Pages only; the apps below hold the data and the services."""

    name = "dashboard"
