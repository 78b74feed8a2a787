"""The Django app of the console."""

from __future__ import annotations

from django.apps import AppConfig


class DashboardConfig(AppConfig):
    """Pages only; everything they show and do belongs to the apps below."""

    name = "dashboard"
