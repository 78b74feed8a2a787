"""The ``/v1/`` routes, gathered from each folder."""

from __future__ import annotations

from django.urls import include, path

_FOLDERS = (
    "tenants",
    "tasks",
    "workflows",
    "executions",
    "bulk_jobs",
    "calendars",
    "destinations",
    "pauses",
    "pools",
    "receiver",
    "stats",
    "forecast",
    "schedules",
    "alerts",
    "protocol",
)

urlpatterns = [path("", include(f"api.{folder}.urls")) for folder in _FOLDERS]
