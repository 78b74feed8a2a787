"""The tenants app."""

from __future__ import annotations

from django.apps import AppConfig


class TenantsConfig(AppConfig):
    """Tenants, their members, keys, signing secrets and idempotent answers."""

    name = "tenants"
