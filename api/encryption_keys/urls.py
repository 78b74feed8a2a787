"""Routes of encryption keys under ``/v1/``."""

from __future__ import annotations

from django.urls import path

from api.encryption_keys import views as keys

urlpatterns = [
    path("encryption-keys", keys.EncryptionKeysView.as_view(), name="encryption-keys"),
    path(
        "encryption-keys/rotate",
        keys.RotateEncryptionKeyView.as_view(),
        name="encryption-keys-rotate",
    ),
]
