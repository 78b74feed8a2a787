"""Routes of tasks alone under ``/v1/``."""

from __future__ import annotations

from django.urls import path

from api.schedules import views

urlpatterns = [
    path("schedules/preview", views.SchedulePreviewView.as_view(), name="schedule-preview"),
    path("zone-moves", views.ZoneMovesView.as_view(), name="zone-moves"),
]
