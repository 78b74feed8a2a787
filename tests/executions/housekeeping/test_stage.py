from __future__ import annotations

from dataclasses import replace
from datetime import timedelta
from typing import Any

import pytest

from executions.housekeeping import stage as housekeeping
from executions.ledger import retention
from executions.loop.clocks import database_now
from executions.models import MinuteStat
from shared.conf import conf
from shared.sql import rows
from tenants.models import IdempotencyRecord, Tenant
from tests.support.beats import beat, silence

pytestmark = pytest.mark.django_db

DAY = timedelta(days=1)


@pytest.fixture(autouse=True)
def _ten_days_kept(settings: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    settings.PUNCTUAL = replace(conf(), retention_days=10)
    # A day that another test has left would wait for the transaction of this one.
    monkeypatch.setattr(retention, "drop_days", lambda before: 0)


def days_of(parent: str = "ended_executions") -> list[str]:
    return [row[0].rpartition("_")[2] for row in rows("prune/existing_days", {"parent": parent})]


def test_the_days_before_the_retention_are_let_go(monkeypatch: pytest.MonkeyPatch):
    asked: list[str] = []

    def drop_days(before: str) -> int:
        asked.append(before)
        return 6

    monkeypatch.setattr(retention, "drop_days", drop_days)

    assert housekeeping.run_once()["days_dropped"] == 6

    assert asked == [f"{database_now() - 10 * DAY:%Y%m%d}"]


@pytest.mark.logs("house.kept")
def test_days_ahead_are_made():
    housekeeping.run_once()

    assert f"{database_now() + conf().partition_days_ahead * DAY:%Y%m%d}" in days_of()


def test_expired_idempotency_keys_and_old_workers_are_forgotten(alpha: Tenant):
    now = database_now()
    fields: dict[str, Any] = {
        field.name: field.get_default()
        for field in IdempotencyRecord._meta.fields
        if field.has_default()
    }
    assert "expires_at" not in fields
    beat("old")
    silence("old", 100_000)

    done = housekeeping.run_once()

    assert done["workers"] == 1
    assert done["keys"] == IdempotencyRecord.objects.filter(expires_at__lt=now).count() == 0


def test_statistics_past_the_retention_are_deleted(alpha: Tenant):
    now = database_now().replace(second=0, microsecond=0)
    for ago in (9, 11):
        minute = now - ago * DAY
        MinuteStat.objects.create(tenant_id=alpha.id, minute=minute, start_delays=[])

    assert housekeeping.run_once()["minutes_dropped"] == 1

    assert MinuteStat.objects.get().minute == now - 9 * DAY


def test_keeping_house_twice_does_no_harm():
    housekeeping.run_once()

    assert housekeeping.run_once() == {
        "days_made": 0,
        "days_dropped": 0,
        "outages": 0,
        "minutes_dropped": 0,
        "usage_days_dropped": 0,
        "objective_rows_folded": 0,
        "objective_rows_dropped": 0,
        "share_minutes": 0,
        "tenant_rows_dropped": 0,
        "keys": 0,
        "secret_uses": 0,
        "workers": 0,
        "worker_minutes": 0,
        "worker_hours": 0,
    }
