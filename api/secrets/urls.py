"""Routes of named secrets under ``/v1/``."""

from __future__ import annotations

from django.urls import path

from api.secrets import views

urlpatterns = [
    path("secrets", views.SecretsView.as_view(), name="secrets"),
    path("secrets/<str:name>", views.SecretView.as_view(), name="secret"),
]
