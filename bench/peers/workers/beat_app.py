"""The same Celery application with Django set up, for beat, which calls its task by name."""

from __future__ import annotations

import django

from bench.peers.workers.celery_app import app

__all__ = ["app"]

# Beat's clocks ask the current application for the time, and would make themselves another.
app.set_default()
django.setup()
