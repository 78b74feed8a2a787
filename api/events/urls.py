"""Routes of the event feed under ``/v1/``."""

from __future__ import annotations

from django.urls import path

from api.events import views

urlpatterns = [path("events", views.EventsView.as_view(), name="events")]
