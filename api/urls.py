"""The ``/v1/`` routes, gathered from each folder."""

from __future__ import annotations

from django.urls import include, path

_FOLDERS = (
    "tenants",
    "members",
    "tasks",
    "workflows",
    "executions",
    "bulk_jobs",
    "erasures",
    "encryption_keys",
    "calendar_feeds",
    "calendars",
    "secrets",
    "saved_views",
    "concurrency_keys",
    "destinations",
    "pauses",
    "pools",
    "receiver",
    "stats",
    "forecast",
    "schedules",
    "alerts",
    "audit",
    "events",
    "event_subscriptions",
    "protocol",
)

urlpatterns = [path("", include(f"api.{folder}.urls")) for folder in _FOLDERS]
