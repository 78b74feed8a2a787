"""Routes of tenants under ``/v1/``."""

from __future__ import annotations

from django.urls import path

from api.tenants import key_views, quota_views, views

urlpatterns = [
    path("me", views.MeView.as_view(), name="me"),
    path("quotas", quota_views.QuotasView.as_view(), name="quotas"),
    path("api-keys", key_views.ApiKeysView.as_view(), name="api-keys"),
    path("api-keys/<uuid:key_id>", key_views.ApiKeyView.as_view(), name="api-key"),
    path(
        "api-keys/<uuid:key_id>/rotate",
        key_views.RotateApiKeyView.as_view(),
        name="api-key-rotate",
    ),
    path("signing-secrets", views.SigningSecretsView.as_view(), name="signing-secrets"),
    path(
        "signing-secrets/rotate",
        views.RotateSigningSecretView.as_view(),
        name="signing-secrets-rotate",
    ),
]
