"""The calls about alerts, their rules and channels, and who is told: a part of the table."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

_MEMBER = {"member": "{member}"}
_NEW_CHANNEL = {"name": "made", "kind": "webhook", "url": "https://made.example.com/x"}
_NEW_WINDOW = {"name": "made", "weekdays": [1], "from_time": "01:00", "to_time": "02:00"}
_WINDOW = "/v1/maintenance-windows/{window_id}"
_RULE = "/v1/notification-rules/{rule_id}"


def of_alerts(op: Callable[..., Any]) -> tuple[Any, ...]:
    """Return the rows of the table, each made by ``op``."""
    return (
        op("list_alerts", "GET /v1/alerts", "read"),
        op("get_alert", "GET /v1/alerts/{alert_id}", "read"),
        op("mute_alert", "POST /v1/alerts/{alert_id}/mute", "operate", body={}),
        op("list_notification_rules", "GET /v1/notification-rules", "read"),
        op(
            "create_notification_rule",
            "POST /v1/notification-rules",
            "write",
            body={"name": "made", "kind": "failures_in_a_row"},
        ),
        op("get_notification_rule", f"GET {_RULE}", "read"),
        op("edit_notification_rule", f"PATCH {_RULE}", "write", body={}),
        op("edit_notification_rule", f"PATCH {_RULE}", "write", body={"enabled": False}),
        op("delete_notification_rule", f"DELETE {_RULE}", "write"),
        op("list_maintenance_windows", "GET /v1/maintenance-windows", "read"),
        op(
            "create_maintenance_window",
            "POST /v1/maintenance-windows",
            "operate",
            body=_NEW_WINDOW,
        ),
        op("get_maintenance_window", f"GET {_WINDOW}", "read"),
        op("end_maintenance_window", f"DELETE {_WINDOW}", "operate"),
        op("list_notification_preferences", "GET /v1/notification-preferences", "admin"),
        op(
            "change_notification_preference",
            "PATCH /v1/notification-preferences",
            "admin",
            body={**_MEMBER, "timezone": "Asia/Tokyo"},
            foreign=400,
            seen_with="admin",
        ),
        op("acknowledge_alert", "POST /v1/alerts/{alert_id}/acknowledge", "operate", body={}),
        op("assign_alert", "POST /v1/alerts/{alert_id}/assign", "operate", body={"member": None}),
        op("list_channels", "GET /v1/channels", "read"),
        op("get_channel", "GET /v1/channels/{channel_id}", "read"),
        op("create_channel", "POST /v1/channels", "admin", body=_NEW_CHANNEL),
        op("change_channel", "PATCH /v1/channels/{channel_id}", "admin", body={"kinds": []}),
        op("test_channel", "POST /v1/channels/{channel_id}/test", "admin", body={}),
        op("remove_channel", "DELETE /v1/channels/{channel_id}", "admin"),
    )
