"""The last takeovers, and the work and workers that were lost: within bounds, from what is kept."""

from __future__ import annotations

from dataclasses import replace
from datetime import datetime, timedelta
from typing import Any
from uuid import UUID

import pytest

from executions.loop.clocks import database_now
from executions.models import ObjectiveCount, SchedulerNode, UnownedStretch
from executions.ownership.partitions import Partitions
from insight import takeovers
from insight.takeovers import Takeover
from shared.conf import conf
from tests.factories import make_tenant
from tests.support.beats import beat, silence
from tests.support.closed_redis import closed_redis
from tests.support.recounting import recounts

pytestmark = pytest.mark.django_db


def test_a_takeover_names_both_schedulers_and_how_long_partitions_had_none():
    first, second = Partitions(), Partitions()
    first.name, second.name = "scheduler-1@a", "scheduler-2@b"
    first.run_once()
    assert takeovers.read().takeovers == []
    died = database_now() - timedelta(seconds=20)
    SchedulerNode.objects.update(lease_expires_at=died, heartbeat_at=died)

    second.run_once()

    now = UnownedStretch.objects.values_list("until", flat=True).first()
    assert now is not None
    unowned = (now - died).total_seconds() + conf().partition_lease_seconds
    (found,) = takeovers.read().takeovers
    assert found.unowned_seconds == pytest.approx(unowned)
    assert replace(found, unowned_seconds=0.0) == Takeover(
        now, "scheduler-1@a", "scheduler-2@b", 256, 0.0
    )


@recounts("takeover.partitions")
def test_the_latest_takeovers_are_shown_and_no_more(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(takeovers, "MOST", 2)
    now = database_now()
    for minutes in (3, 2, 1):
        at = now - timedelta(minutes=minutes)
        for partition in range(minutes):
            UnownedStretch.objects.create(
                partition=partition, since=at - timedelta(seconds=9 + partition), until=at
            )

    found = takeovers.read().takeovers

    # Of an older version they have no names.
    assert found == [
        Takeover(now - timedelta(minutes=1), "", "", 1, 9.0),
        Takeover(now - timedelta(minutes=2), "", "", 2, 10.0),
    ]


@recounts("lost.attempts")
def test_attempts_lost_with_workers_are_added_up_over_tenants():
    minute = database_now().replace(second=0, microsecond=0)
    for name in ("Alpha", "Beta"):
        tenant = make_tenant(name)
        _lost(tenant.pk, minute, 2)
        _lost(tenant.pk, minute, 7, cause="internal")
        _lost(tenant.pk, minute, 7, objective="start")
        _lost(tenant.pk, minute - timedelta(hours=9), 5, hourly=True)
        _lost(tenant.pk, minute - timedelta(hours=25), 7, hourly=True)

    found = takeovers.read()

    assert [(one.by_hour, one.attempts) for one in found.attempts] == [(False, 4), (True, 10)]
    assert found.attempt_count == 14


def test_workers_that_fell_silent_are_named_the_latest_first(monkeypatch: pytest.MonkeyPatch):
    beat("w1", pool="slow")
    beat("w2")
    beat("w3")
    silence("w1", 3600)
    silence("w2", 600)

    found = takeovers.read().workers

    assert found is not None
    assert [(one.id, one.pool) for one in found] == [("w2", "default"), ("w1", "slow")]
    monkeypatch.setattr("wire.heartbeats.client", closed_redis)
    assert takeovers.read().workers is None


def _lost(tenant_id: UUID, at: datetime, bad: int, **other: Any) -> None:
    fields: dict[str, Any] = {
        "objective": "success",
        "cause": "worker_lost",
        "counted": 0,
        "hourly": False,
    }
    ObjectiveCount.objects.create(tenant_id=tenant_id, at=at, bad=bad, **{**fields, **other})
