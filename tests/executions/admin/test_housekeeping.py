from __future__ import annotations

import pytest
from django.contrib import admin
from django_celery_beat.models import (
    ClockedSchedule,
    CrontabSchedule,
    IntervalSchedule,
    PeriodicTask,
    SolarSchedule,
)

pytestmark = pytest.mark.django_db


def test_only_what_housekeeping_uses_is_in_the_admin():
    assert admin.site.is_registered(PeriodicTask)
    assert admin.site.is_registered(CrontabSchedule)
    assert admin.site.is_registered(IntervalSchedule)
    assert not admin.site.is_registered(ClockedSchedule)
    assert not admin.site.is_registered(SolarSchedule)


def test_housekeeping_pages_are_plain(browser):
    every = IntervalSchedule.objects.create(every=1, period="minutes")
    job = PeriodicTask.objects.create(name="sweep", task="sweep", interval=every)

    assert browser.list(PeriodicTask).status_code == 200
    page = browser.page(job).content.decode()

    assert "periodic-task-overrides" not in page
    assert 'name="clocked"' not in page
    assert 'name="interval"' in page
