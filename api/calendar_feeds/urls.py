"""Routes of calendar feeds under ``/v1/``."""

from __future__ import annotations

from django.urls import path

from api.calendar_feeds import views

urlpatterns = [
    path("calendar-feeds", views.CalendarFeedsView.as_view(), name="calendar-feeds"),
    path("calendar-feeds/<uuid:feed_id>", views.CalendarFeedView.as_view(), name="calendar-feed"),
]
