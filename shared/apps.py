"""Registers ``shared`` with Django; it has no models, only building blocks."""

from __future__ import annotations

from django.apps import AppConfig
from django.db.backends.signals import connection_created


class SharedConfig(AppConfig):
    """The domain-free bottom layer."""

    name = "shared"

    def ready(self) -> None:
        """Make every session of the database read timestamps by the fast loader."""
        from shared.moments import read_fast

        connection_created.connect(read_fast)
