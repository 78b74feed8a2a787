"""``manage.py run_scheduler``: Celery beat with our class: materialize, dispatch, rescue."""

from __future__ import annotations

from typing import Any

from django.core.management.base import BaseCommand

from scheduler_site.celery import app
from shared.clock_watch import ClockWatch
from shared.garbage import collect_seldom


class Command(BaseCommand):
    """Run a scheduler until stopped; any number may run."""

    help = "Own partitions, materialize schedules and dispatch due work."
    requires_system_checks = ()

    def handle(self, *args: Any, **options: Any) -> None:
        """Start beat; its scheduler class comes from the settings."""
        beat = app.Beat(quiet=True, schedule=None, pidfile=None, loglevel="INFO")
        ClockWatch("scheduler").start()
        collect_seldom()
        beat.run()
