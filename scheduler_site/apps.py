"""The scheduler_site app."""

from __future__ import annotations

from django.apps import AppConfig
from django.conf import settings
from django.core import checks

from scheduler_site.checks import TOKENS, jwt_issuers, oidc_providers


class SchedulerSiteConfig(AppConfig):
    """The project: settings, routing, the web and Celery applications."""

    name = "scheduler_site"

    def ready(self) -> None:
        """Register the checks; make our Celery application the default of every thread."""
        checks.register(jwt_issuers, TOKENS)
        checks.register(oidc_providers, TOKENS)
        if settings.IS_BARE:
            return
        from scheduler_site.celery import app

        app.set_default()
