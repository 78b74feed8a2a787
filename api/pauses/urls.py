"""Routes of standing pauses under ``/v1/``."""

from __future__ import annotations

from django.urls import path

from api.pauses import views as pauses

urlpatterns = [
    path("pauses", pauses.PausesView.as_view(), name="pauses"),
    path("pauses/<uuid:pause_id>", pauses.PauseView.as_view(), name="pause"),
    path("pauses/<uuid:pause_id>/end", pauses.EndPauseView.as_view(), name="pause-end"),
]
