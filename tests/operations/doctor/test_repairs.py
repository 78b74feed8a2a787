from __future__ import annotations

import pytest
from django.db import OperationalError
from django_celery_beat.models import PeriodicTask

from executions.ledger import days as ledger
from operations.doctor import runtime
from operations.doctor.repairs import repair_all

pytestmark = pytest.mark.django_db


def test_what_is_missing_is_made_and_told_once():
    PeriodicTask.objects.all().delete()

    first = {item.repair: item.done for item in repair_all()}
    second = {item.repair: item.done for item in repair_all()}

    assert first == {
        "day tables": "nothing was missing",
        "housekeeping": "made Keep house, Follow the zone database",
        "outcome group": "made the recorders' group",
    }
    assert set(second.values()) == {"nothing was missing"}
    assert PeriodicTask.objects.count() == 2
    assert runtime.live_recorders() == 0


def test_missing_days_are_made(monkeypatch):
    monkeypatch.setattr(ledger, "ensure_days_ahead", lambda now: 3)

    assert next(repair_all()).done == "made 3 day tables"


def test_a_repair_that_cannot_be_done_does_not_stop_the_others(monkeypatch):
    def away(now: object) -> int:
        raise OperationalError("connection refused\nmore")

    monkeypatch.setattr(ledger, "ensure_days_ahead", away)

    days, *others = repair_all()

    assert (days.done, days.failed) == ("", "connection refused")
    assert all(item.done for item in others)


def test_without_an_address_of_redis_the_rest_is_repaired(settings):
    settings.REDIS_URL = ""

    *others, group = repair_all()

    assert group.failed == "No address of Redis is known."
    assert all(item.done for item in others)
