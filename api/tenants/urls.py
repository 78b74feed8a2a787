"""Routes of tenants under ``/v1/``."""

from __future__ import annotations

from django.urls import path

from api.tenants import views

urlpatterns = [
    path("me", views.MeView.as_view(), name="me"),
    path("api-keys", views.ApiKeysView.as_view(), name="api-keys"),
    path("api-keys/<uuid:key_id>", views.ApiKeyView.as_view(), name="api-key"),
    path("signing-secrets", views.SigningSecretsView.as_view(), name="signing-secrets"),
    path(
        "signing-secrets/rotate",
        views.RotateSigningSecretView.as_view(),
        name="signing-secrets-rotate",
    ),
]
