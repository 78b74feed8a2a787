"""The events app."""

from __future__ import annotations

from django.apps import AppConfig


class EventsConfig(AppConfig):
    """Append-only record: domain events (the outbox) and audit entries."""

    name = "events"
