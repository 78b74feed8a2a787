"""The operations app."""

from __future__ import annotations

from django.apps import AppConfig


class OperationsConfig(AppConfig):
    """The commands of operators."""

    name = "operations"
