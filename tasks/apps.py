"""The tasks app."""

from __future__ import annotations

from django.apps import AppConfig


class TasksConfig(AppConfig):
    """Definitions: what to call, when, with which policies."""

    name = "tasks"
