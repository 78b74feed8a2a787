"""``manage.py run_scheduler``: Celery beat with our class: materialize, dispatch, rescue."""

from __future__ import annotations

from typing import Any

from launcher.long_lived_command import LongLivedCommand
from scheduler_site.celery import app
from shared.clock_watch import ClockWatch
from shared.garbage import collect_seldom


class Command(LongLivedCommand):
    """Run a scheduler until stopped; any number may run."""

    help = "Own partitions, materialize schedules and dispatch due work."

    def handle(self, *args: Any, **options: Any) -> None:
        """Start beat; its scheduler class comes from the settings."""
        beat = app.Beat(quiet=True, schedule=None, pidfile=None, loglevel="INFO")
        ClockWatch("scheduler").start()
        collect_seldom()
        beat.run()
