"""Routes of event subscriptions under ``/v1/``."""

from __future__ import annotations

from django.urls import path

from api.event_subscriptions import views

urlpatterns = [
    path(
        "event-subscriptions",
        views.EventSubscriptionsView.as_view(),
        name="event-subscriptions",
    ),
    path(
        "event-subscriptions/<uuid:event_subscription_id>",
        views.EventSubscriptionView.as_view(),
        name="event-subscription",
    ),
    path(
        "event-subscriptions/<uuid:event_subscription_id>/redrive",
        views.RedriveEventSubscriptionView.as_view(),
        name="event-subscription-redrive",
    ),
    path(
        "event-subscriptions/<uuid:event_subscription_id>/test",
        views.TestEventSubscriptionView.as_view(),
        name="event-subscription-test",
    ),
]
