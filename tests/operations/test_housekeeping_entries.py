from __future__ import annotations

import pytest
from django_celery_beat.models import PeriodicTask

from executions.broker import CHECK_ZONES
from operations.housekeeping_entries import NAME, ZONES, ensure_entries
from scheduler_site.celery import app

pytestmark = pytest.mark.django_db


def test_entries_are_made_once_and_an_operators_choice_stays():
    assert ensure_entries() == [NAME, ZONES]
    PeriodicTask.objects.update(enabled=False)

    assert ensure_entries() == []

    entry = PeriodicTask.objects.get(name=NAME)
    assert (entry.enabled, entry.task, entry.queue) == (False, "executions.keep_house", "system")


def test_the_zone_database_is_followed_daily_by_the_system_worker():
    ensure_entries()
    # As a worker does at its start.
    app.loader.import_default_modules()

    entry = PeriodicTask.objects.get(name=ZONES)
    assert (entry.task, entry.queue) == (CHECK_ZONES, "system")
    assert (entry.interval.every, entry.interval.period) == (1, "days")
    assert CHECK_ZONES in app.tasks
