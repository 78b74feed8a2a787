from __future__ import annotations

from dataclasses import replace
from datetime import timedelta
from typing import Any

import pytest
from django.db import OperationalError

from executions.engine import housekeeping, ledger
from executions.engine.clocks import database_now
from executions.models import Execution, LedgerFloor, MinuteStat
from shared.conf import conf
from shared.ids import execution_id, first_id_at
from shared.sql import rows
from tenants.models import IdempotencyRecord, Tenant
from tests.executions.workers.test_registry import beat, silence
from tests.factories import make_execution

pytestmark = pytest.mark.django_db

DAY = timedelta(days=1)


@pytest.fixture(autouse=True)
def _ten_days_kept(settings: Any) -> None:
    settings.PUNCTUAL = replace(conf(), retention_days=10)


def days_of(parent: str = "executions") -> list[str]:
    return [row[0].rpartition("_")[2] for row in rows("prune/existing_days", {"parent": parent})]


def day(ago: int) -> str:
    return f"{database_now() - ago * DAY:%Y%m%d}"


def make_days(*ago: int) -> None:
    ledger.make_days([database_now() - days * DAY for days in ago])


def test_finished_days_past_the_retention_are_dropped():
    make_days(9, 10, 11, 12, 30)

    # Three kinds of tables for each of three days.
    assert housekeeping.drop_old_days() == 9

    for parent in ledger.DAILY_TABLES:
        found = days_of(parent)
        assert day(9) in found
        assert day(10) in found
        assert not {day(11), day(12), day(30)} & set(found)


def test_a_day_with_unfinished_work_stays_and_so_do_younger_ones(alpha: Tenant):
    make_days(20, 30, 40)
    made = make_execution(alpha)
    at = database_now() - 30 * DAY
    Execution.objects.update(id=execution_id(made.task_id, at))
    LedgerFloor.objects.update(floor_id=first_id_at(database_now() - 50 * DAY))
    for back in range(50, 11, -1):
        make_days(back)

    done = housekeeping.run_once()

    assert done["days_dropped"] > 0
    assert day(40) not in days_of()
    assert {day(30), day(20)} <= set(days_of())
    assert Execution.objects.count() == 1


def test_a_day_that_somebody_reads_is_left_for_the_next_time(monkeypatch: pytest.MonkeyPatch):
    make_days(20)
    locked = ledger.lock_floor

    def busy() -> Any:
        locked()
        raise OperationalError("canceling statement due to lock timeout")

    monkeypatch.setattr(ledger, "lock_floor", busy)
    assert housekeeping.drop_old_days() == 0

    monkeypatch.undo()
    assert day(20) in days_of()


def test_days_ahead_are_made_and_the_floor_is_raised():
    LedgerFloor.objects.update(floor_id=first_id_at(database_now() - 5 * DAY))

    housekeeping.run_once()

    assert f"{database_now() + conf().partition_days_ahead * DAY:%Y%m%d}" in days_of()
    assert ledger.floor_id() > first_id_at(database_now() - 3 * DAY)


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
    make_days(20)
    housekeeping.run_once()

    assert housekeeping.run_once() == {
        "days_made": 0,
        "days_dropped": 0,
        "minutes_dropped": 0,
        "keys": 0,
        "workers": 0,
        "worker_minutes": 0,
    }
