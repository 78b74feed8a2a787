"""Routes of the signed links in messages."""

from __future__ import annotations

from django.urls import path

from notifications import views

urlpatterns = [
    path("notifications/unsubscribe/<str:token>", views.unsubscribe, name="unsubscribe"),
    path("notifications/confirm/<str:token>", views.confirm, name="confirm-address"),
    path("notifications/mute/<str:token>", views.mute, name="mute-alert"),
]
