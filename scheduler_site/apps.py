"""The scheduler_site app."""

from __future__ import annotations

from django.apps import AppConfig
from django.conf import settings


class SchedulerSiteConfig(AppConfig):
    """The project: settings, routing, the web and Celery applications."""

    name = "scheduler_site"

    def ready(self) -> None:
        """Make our Celery application the default of every thread in any process."""
        if settings.IS_BARE:
            return
        from scheduler_site.celery import app

        app.set_default()
