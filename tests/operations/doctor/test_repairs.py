from __future__ import annotations

import pytest
from django.db import OperationalError
from django_celery_beat.models import PeriodicTask

from events.audit import INSTALLATION
from events.models import AuditEntry
from executions.ledger import days as ledger
from operations.doctor import runtime
from operations.doctor.repairs import repair_all
from operations.housekeeping_entries import HEADS, NAME, QUOTAS, ZONES

pytestmark = pytest.mark.django_db


def test_what_is_missing_is_made_and_told_once():
    PeriodicTask.objects.all().delete()

    first = {item.repair: item.done for item in repair_all()}
    second = {item.repair: item.done for item in repair_all()}

    assert first == {
        "day tables": "nothing was missing",
        "housekeeping": f"made {NAME}, {ZONES}, {QUOTAS}, {HEADS}",
        "outcome group": "made the recorders' group",
    }
    assert set(second.values()) == {"nothing was missing"}
    assert PeriodicTask.objects.count() == 4
    assert runtime.live_recorders() == 0
    repaired = AuditEntry.objects.filter(tenant_id=INSTALLATION, action="doctor.repaired")
    assert sorted(repaired.values_list("object_id", flat=True)) == ["housekeeping", "outcome group"]


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
