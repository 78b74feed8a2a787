"""The notifications app."""

from __future__ import annotations

from django.apps import AppConfig


class NotificationsConfig(AppConfig):
    """Alerts: rules, channels, transports, live push."""

    name = "notifications"

    def ready(self) -> None:
        """Have sockets checked after a change of their member or key, and closed with a session."""
        from notifications.live import close_sockets_of, publish_key_change, publish_recheck
        from tenants import right_changes
        from tenants.services import sign_ins

        right_changes.of_keys.follow(publish_key_change)
        right_changes.of_members.follow(publish_recheck)
        sign_ins.ended.follow(close_sockets_of)
