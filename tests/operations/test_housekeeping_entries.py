from __future__ import annotations

import pytest
from django_celery_beat.models import PeriodicTask

from executions.broker import CHECK_ZONES, RECOUNT_QUOTAS, WRITE_HEADS
from operations.housekeeping_entries import HEADS, NAME, QUOTAS, ZONES, ensure_entries
from scheduler_site.celery import app

pytestmark = pytest.mark.django_db


def test_entries_are_made_once_and_an_operators_choice_stays():
    assert ensure_entries() == [NAME, ZONES, QUOTAS, HEADS]
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


def test_what_tenants_with_quotas_store_is_counted_each_minute():
    ensure_entries()
    app.loader.import_default_modules()

    entry = PeriodicTask.objects.get(name=QUOTAS)
    assert (entry.task, entry.queue) == (RECOUNT_QUOTAS, "system")
    assert (entry.interval.every, entry.interval.period) == (1, "minutes")
    assert RECOUNT_QUOTAS in app.tasks


def test_the_heads_of_the_audit_log_are_kept_hourly_by_the_system_worker():
    ensure_entries()
    app.loader.import_default_modules()

    entry = PeriodicTask.objects.get(name=HEADS)
    assert (entry.task, entry.queue) == (WRITE_HEADS, "system")
    assert (entry.interval.every, entry.interval.period) == (1, "hours")
    assert WRITE_HEADS in app.tasks
