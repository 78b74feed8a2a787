"""Registers ``shared`` with Django; it has no models, only building blocks."""

from __future__ import annotations

from django.apps import AppConfig
from django.conf import settings
from django.db.backends.signals import connection_created


class SharedConfig(AppConfig):
    """The domain-free bottom layer."""

    name = "shared"

    def ready(self) -> None:
        """Read timestamps by the fast loader; let no statement of the web forget its tenant."""
        from shared import tenant_scope
        from shared.moments import read_fast

        connection_created.connect(read_fast)
        if settings.PROCESS_KIND == "web":
            tenant_scope.require_everywhere()
        if settings.IS_WALLED:
            role = settings.DATABASES["default"]["USER"]
            tenant_scope.ROLES.across = tenant_scope.across_of(role)
