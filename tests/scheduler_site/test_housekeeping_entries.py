from __future__ import annotations

import pytest
from django_celery_beat.models import PeriodicTask

from scheduler_site.housekeeping_entries import NAME, ensure_entries

pytestmark = pytest.mark.django_db


def test_an_entry_is_made_once_and_an_operators_choice_stays():
    assert ensure_entries() == [NAME]
    PeriodicTask.objects.update(enabled=False)

    assert ensure_entries() == []

    entry = PeriodicTask.objects.get()
    assert (entry.enabled, entry.task, entry.queue) == (False, "executions.keep_house", "system")
