"""Routes of the built-in test receiver, under ``/v1/``."""

from __future__ import annotations

from django.urls import path

from executions.api import receiver_views as receiver

urlpatterns = [
    path("receiver", receiver.ReceiverView.as_view(), name="receiver"),
    path("receiver/requests", receiver.ReceiverRequestsView.as_view(), name="receiver-requests"),
]
