"""The route of concurrency keys under ``/v1/``."""

from __future__ import annotations

from django.urls import path

from api.concurrency_keys import views

urlpatterns = [
    path("concurrency-keys", views.ConcurrencyKeysView.as_view(), name="concurrency-keys"),
]
