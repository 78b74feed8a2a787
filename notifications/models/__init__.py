"""The models of notifications."""

from __future__ import annotations

from notifications.models.alert import Alert, AlertTask
from notifications.models.alert_channel import AlertChannel, AlertRuleChannel
from notifications.models.alert_mute import AlertMute
from notifications.models.alert_rule import AlertRule, RuleMinute
from notifications.models.delivery import Delivery
from notifications.models.event_subscription import EventSubscription
from notifications.models.maintenance_window import MaintenanceWindow
from notifications.models.notification_preference import NotificationPreference
from notifications.models.push_subscription import PushSubscription

__all__ = [
    "Alert",
    "AlertChannel",
    "AlertMute",
    "AlertRule",
    "AlertRuleChannel",
    "AlertTask",
    "Delivery",
    "EventSubscription",
    "MaintenanceWindow",
    "NotificationPreference",
    "PushSubscription",
    "RuleMinute",
]
