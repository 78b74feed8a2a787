"""Alerts, deliveries, notification preferences and event webhooks in the admin, read-only.

Members set their preferences in the console. Anybody who knows a browser's endpoint may push to
it, so only its host is shown.
"""

from __future__ import annotations

from django.contrib import admin

from notifications.models import (
    Alert,
    AlertChannel,
    AlertMute,
    AlertRule,
    AlertRuleChannel,
    AlertTask,
    Delivery,
    EventSubscription,
    MaintenanceWindow,
    NotificationPreference,
    PushSubscription,
    RuleMinute,
)
from notifications.services.push_subscriptions import push_service_of
from shared.admin import ProductAdmin
from tenants.admin import TenantFilter


@admin.register(Alert)
class AlertAdmin(ProductAdmin):
    """Incidents, newest first."""

    list_display = (
        "title", "kind", "count", "task_count", "first_at", "last_at", "closed_at", "tenant",
    )  # fmt: skip
    list_filter = ("kind", TenantFilter)
    list_prefetch = ("tenant",)
    list_scopes = {"tenant": "tenant_id"}
    search_fields = ("=id", "=task_id", "=execution_id", "^error_signature")
    search_help_text = "Id of the alert, its task or execution, or how the cause begins."


@admin.register(AlertRule)
class AlertRuleAdmin(ProductAdmin):
    """Alert rules, and changes of built-in ones; built-in rules as they come have no row."""

    list_display = (
        "name", "kind", "scope", "value", "threshold", "window_seconds", "urgent", "enabled",
        "built_in", "tenant",
    )  # fmt: skip
    list_filter = ("kind", "scope", TenantFilter)
    list_prefetch = ("tenant",)
    list_scopes = {"tenant": "tenant_id"}
    search_fields = ("=id", "^name")
    search_help_text = "Id of the rule, or how its name begins."


@admin.register(MaintenanceWindow)
class MaintenanceWindowAdmin(ProductAdmin):
    """Maintenance windows, which hold back messages about alerts."""

    list_display = (
        "name", "scope", "value", "begins_at", "ends_at", "weekdays", "from_time", "to_time",
        "timezone", "tenant",
    )  # fmt: skip
    list_filter = ("scope", TenantFilter)
    list_prefetch = ("tenant",)
    list_scopes = {"tenant": "tenant_id"}
    search_fields = ("=id", "^name")
    search_help_text = "Id of the window, or how its name begins."


@admin.register(RuleMinute)
class RuleMinuteAdmin(ProductAdmin):
    """Ended and failed executions by rule and minute."""

    list_display = ("id", "rule", "minute", "ended", "failed")
    list_prefetch = ("rule",)


@admin.register(AlertTask)
class AlertTaskAdmin(ProductAdmin):
    """The tasks of an alert."""

    list_display = ("id", "alert", "task_id")
    list_prefetch = ("alert",)


@admin.register(AlertMute)
class AlertMuteAdmin(ProductAdmin):
    """The members' mutes of alerts."""

    list_display = ("id", "alert", "membership", "until")
    list_prefetch = ("alert", "membership")


@admin.register(AlertChannel)
class AlertChannelAdmin(ProductAdmin):
    """Where alerts go besides members; the URLs are sealed and not shown."""

    list_display = ("name", "kind", "service", "host", "last_sent_at", "failed_at", "tenant")
    noun = ("alert channel", "alert channels")
    list_filter = ("kind", TenantFilter)
    list_prefetch = ("tenant",)
    list_scopes = {"tenant": "tenant_id"}
    search_fields = ("=id", "^name")
    search_help_text = "Id of the channel, or how its name begins."


@admin.register(AlertRuleChannel)
class AlertRuleChannelAdmin(ProductAdmin):
    """Which rules' alerts go to which channel."""

    list_display = ("id", "channel", "rule")
    list_prefetch = ("channel", "rule")


@admin.register(Delivery)
class DeliveryAdmin(ProductAdmin):
    """The delivery log: each notice by member and channel, with the reason if it was not sent."""

    list_display = (
        "short_id", "channel", "status", "reason", "alert", "membership", "alert_channel",
        "attempt_count", "error", "sent_at", "created_at",
    )  # fmt: skip
    noun = ("delivery", "deliveries")
    list_filter = ("channel", "status", "reason")
    list_prefetch = ("alert", "membership", "alert_channel")
    search_fields = ("=id", "=alert__id", "=message_id")
    search_help_text = "Id of the delivery, of its alert, or of the message."


@admin.register(NotificationPreference)
class NotificationPreferenceAdmin(ProductAdmin):
    """Each member's preferences: which alerts, by which channels, and the quiet hours."""

    list_display = (
        "membership",
        "email_address",
        "confirmed_email_address",
        "timezone",
        "muted_until",
        "updated_at",
    )
    list_prefetch = ("membership",)


@admin.register(EventSubscription)
class EventSubscriptionAdmin(ProductAdmin):
    """Event webhooks, and how far each is in the feed; the URLs are sealed and not shown."""

    list_display = (
        "origin", "status", "paused_reason", "taken", "read_at", "attempt_count", "last_status",
        "last_error", "tenant",
    )  # fmt: skip
    noun = ("event webhook", "event webhooks")
    list_filter = ("status", TenantFilter)
    list_prefetch = ("tenant",)
    list_scopes = {"tenant": "tenant_id"}
    search_fields = ("=id", "^origin")
    search_help_text = "Id of the event webhook, or how its origin begins."


@admin.register(PushSubscription)
class PushSubscriptionAdmin(ProductAdmin):
    """Browsers that take notifications."""

    list_display = ("id", "membership", "host", "last_used_at", "failed_at", "error")
    list_prefetch = ("membership",)
    fields = (
        "id", "membership", "host", "user_agent", "created_at", "last_used_at", "failed_at",
        "error",
    )  # fmt: skip

    @admin.display(description="Push service")
    def host(self, subscription: PushSubscription) -> str:
        """Return the host of the endpoint."""
        return push_service_of(subscription) or "-"
