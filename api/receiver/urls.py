"""Routes of the built-in test receiver, under ``/v1/``."""

from __future__ import annotations

from django.urls import path

from api.receiver import views as receiver

urlpatterns = [
    path("receiver", receiver.ReceiverView.as_view(), name="receiver"),
    path("receiver/requests", receiver.ReceiverRequestsView.as_view(), name="receiver-requests"),
]
