"""Routes of notifications under ``/v1/``."""

from __future__ import annotations

from django.urls import path

from api.alerts import (
    channel_views,
    maintenance_views,
    preference_views,
    rule_views,
    ticket_views,
    views,
)

urlpatterns = [
    path("alerts", views.AlertsView.as_view(), name="alerts"),
    path("alerts/<uuid:alert_id>", views.AlertView.as_view(), name="alert"),
    path("alerts/<uuid:alert_id>/mute", views.MuteAlertView.as_view(), name="alert-mute"),
    path(
        "alerts/<uuid:alert_id>/acknowledge",
        views.AcknowledgeAlertView.as_view(),
        name="alert-acknowledge",
    ),
    path("alerts/<uuid:alert_id>/assign", views.AssignAlertView.as_view(), name="alert-assign"),
    path("channels", channel_views.ChannelsView.as_view(), name="channels"),
    path("channels/<uuid:channel_id>", channel_views.ChannelView.as_view(), name="channel"),
    path(
        "channels/<uuid:channel_id>/test",
        channel_views.TestChannelView.as_view(),
        name="channel-test",
    ),
    path(
        "maintenance-windows",
        maintenance_views.MaintenanceWindowsView.as_view(),
        name="maintenance-windows",
    ),
    path(
        "maintenance-windows/<uuid:window_id>",
        maintenance_views.MaintenanceWindowView.as_view(),
        name="maintenance-window",
    ),
    path(
        "notification-rules", rule_views.NotificationRulesView.as_view(), name="notification-rules"
    ),
    path(
        "notification-rules/<uuid:rule_id>",
        rule_views.NotificationRuleView.as_view(),
        name="notification-rule",
    ),
    path(
        "notification-preferences",
        preference_views.NotificationPreferencesView.as_view(),
        name="notification-preferences",
    ),
    path(
        "push-subscriptions",
        preference_views.PushSubscriptionsView.as_view(),
        name="push-subscriptions",
    ),
    path(
        "push-subscriptions/<uuid:subscription_id>",
        preference_views.PushSubscriptionView.as_view(),
        name="push-subscription",
    ),
    path("push-key", preference_views.PushKeyView.as_view(), name="push-key"),
    path("ws-tickets", ticket_views.WsTicketsView.as_view(), name="ws-tickets"),
]
