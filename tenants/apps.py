"""The tenants app."""

from __future__ import annotations

from django.apps import AppConfig


class TenantsConfig(AppConfig):
    """Tenants, their members, keys, signing secrets and idempotent answers."""

    name = "tenants"

    def ready(self) -> None:
        """Find data keys in the database, and record sign-ins in the audit log."""
        from shared.data_keys import use_source
        from tenants.data_keys import Stored
        from tenants.services.sign_in_audit import follow_sign_ins

        use_source(Stored())
        follow_sign_ins()
