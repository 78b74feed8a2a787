"""Routes of calendars under ``/v1/``."""

from __future__ import annotations

from django.urls import path

from api.calendars import views as views

urlpatterns = [
    path("calendars", views.CalendarsView.as_view(), name="calendars"),
    path("calendars/<uuid:calendar_id>", views.CalendarView.as_view(), name="calendar"),
    path(
        "calendars/<uuid:calendar_id>/import",
        views.ImportCalendarView.as_view(),
        name="calendar-import",
    ),
]
