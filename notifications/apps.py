"""The notifications app."""

from __future__ import annotations

from django.apps import AppConfig


class NotificationsConfig(AppConfig):
    """Alerts: rules, channels, transports, live push."""

    name = "notifications"
