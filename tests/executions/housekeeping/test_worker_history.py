from __future__ import annotations

from datetime import datetime, timedelta
from typing import Any

import pytest

from executions.external import pull_leases
from executions.external.pull_leases import Ask, Load
from executions.housekeeping import worker_history
from executions.loop.clocks import database_now
from executions.models import WorkerHour, WorkerMinute
from executions.ownership.partitions import Partitions
from shared.sql import run
from tenants.models import Tenant
from tests.executions.leasing import POOL, call, take, work
from tests.factories import make_tenant
from tests.support.beats import beat, silence
from wire import heartbeats

pytestmark = pytest.mark.django_db
HOUR = timedelta(hours=1)
MINUTE = timedelta(minutes=1)


@pytest.fixture
def partitions():
    held = Partitions()
    held.run_once()
    yield held
    held.release_all()


@pytest.fixture
def at(monkeypatch: pytest.MonkeyPatch) -> datetime:
    """Let it be some seconds after a full minute; return the minute that is over."""
    now = database_now().replace(second=7, microsecond=0)
    monkeypatch.setattr(worker_history, "database_now", lambda: now)
    return now.replace(second=0) - MINUTE


def ended(minute: datetime, count: int) -> dict[str, int]:
    return {str(int(minute.timestamp()) // 60): count}


def keep(minute: datetime, **parts: Any) -> WorkerMinute:
    return WorkerMinute.objects.create(**{"worker": "w", "minute": minute, "pool": "p", **parts})


def test_every_worker_that_is_heard_has_a_row_for_the_minute_that_is_over(
    partitions: Partitions, at: datetime
):
    beat("w1@host:1", host="host", running=3, held=2, ended=10, cpu_percent=12.5, version="1.0.0")
    beat("w2@host:2", pool="handlers")
    beat("gone@host:3")
    silence("gone@host:3", 70)

    counts = worker_history.run_once(partitions)
    beat("w1@host:1", running=1, held=0, ended=12)
    worker_history.run_once(partitions)

    assert counts.done == 2
    assert counts.next_in == 58
    (first,) = worker_history.minutes_of("w1@host:1", 1)
    assert (first.running, first.ended, first.minute) == (1, 12, at)
    assert worker_history.minutes_of("w2@host:2", 1)[0].pool == "handlers"
    assert worker_history.minutes_of("gone@host:3", 1) == []


def test_a_minute_counts_what_ended_within_it_and_no_running_total(
    partitions: Partitions, at: datetime, monkeypatch: pytest.MonkeyPatch
):
    told = {**ended(at - MINUTE, 13), **ended(at, 26), **ended(at + MINUTE, 3)}
    beat("w1", ended=42, ended_by_minute=told)
    beat("idle", ended=42, ended_by_minute={})
    beat("older version", ended=42)

    worker_history.run_once(partitions)

    rows = {row.worker: row.ended_in_minute for row in WorkerMinute.objects.filter(minute=at)}
    assert rows == {"w1": 26, "idle": 0, "older version": None}


def test_a_pull_workers_minute_has_its_leases_its_load_and_what_it_ended(
    alpha: Tenant, at: datetime, monkeypatch: pytest.MonkeyPatch
):
    work(alpha, 3)
    ask = Ask(pool=POOL, worker="a/b", load=Load("2.1", 8, 12.5, 1024))
    leases = take(alpha, 3, worker="a/b")
    pull_leases.noticed(alpha.id, ask, "192.0.2.1")
    call(leases[0].execution_id, "complete", leases[0].token)
    # The same call again ends nothing more.
    call(leases[0].execution_id, "complete", leases[0].token)
    monkeypatch.setattr(heartbeats, "ended_in", _counts_of_now)
    partitions = Partitions()
    partitions.run_once()

    worker_history.run_once(partitions)

    [row] = WorkerMinute.objects.filter(tenant_id=alpha.id)
    assert (row.running, row.slots, row.ended_in_minute) == (2, 8, 1)
    assert (row.version, row.cpu_percent, row.memory_bytes) == ("2.1", 12.5, 1024)
    assert "/" not in row.worker


def test_a_pull_worker_of_a_removed_tenant_has_no_row(partitions: Partitions, at: datetime):
    tenant = make_tenant("Gone")
    beat("theirs", tenant=str(tenant.id))
    beat("ours")
    tenant.delete()

    worker_history.run_once(partitions)

    assert [row.worker for row in WorkerMinute.objects.all()] == ["ours"]


def _counts_of_now(minute: datetime, read: Any = heartbeats.ended_in) -> dict[str, int]:
    """Return what was counted in this minute or, where it has just turned, in the last one."""
    now = database_now()
    return {**read(now - MINUTE), **read(now)}


def test_the_history_of_a_pull_worker_is_its_tenants_alone(alpha: Tenant):
    beta, now = make_tenant("Beta"), database_now()
    keep(now, tenant_id=alpha.id)
    WorkerHour.objects.create(
        worker="w", hour=now, tenant_id=alpha.id, pool="p", minutes=1, slots=1, running=1,
        most_running=1, held=0, most_held=0, cpu_percent=1, most_cpu_percent=1,
    )  # fmt: skip

    for tenant, seen in ((alpha.id, 1), (beta.id, 0), (None, 1)):
        assert len(worker_history.minutes_of("w", 1, tenant)) == seen
        assert len(worker_history.hours_of("w", 1, tenant)) == seen
        assert worker_history.is_known("w", tenant) == bool(seen)
        assert len(worker_history.earlier_workers(1, tenant_id=tenant)) == seen


def test_hours_are_made_of_their_minutes_and_the_current_one_waits():
    now = database_now()
    hour = now.replace(minute=0, second=0, microsecond=0) - 2 * HOUR
    for place, (running, cpu, count) in enumerate(((1, 10.0, 5), (4, 40.0, None), (1, 10.0, 7))):
        keep(
            hour + place * MINUTE, running=running, held=place, slots=8, cpu_percent=cpu,
            memory_bytes=place * 100 or None, ended_in_minute=count, version=f"1.{place}",
        )  # fmt: skip
    keep(hour + HOUR, running=9)
    keep(hour + 2 * HOUR, running=100)

    run("workers/roll_up", {"now": now})
    run("workers/roll_up", {"now": now})

    first, second = worker_history.hours_of("w", 3)
    assert (first.hour, first.minutes, first.slots, first.version) == (hour, 3, 8, "1.2")
    assert (first.running, first.most_running, first.held, first.most_held) == (2.0, 4, 1.0, 2)
    assert (first.cpu_percent, first.most_cpu_percent) == (20.0, 40.0)
    assert (first.most_memory_bytes, first.ended) == (200, 12)
    assert (second.running, second.ended) == (9.0, None)


def test_the_minutes_of_an_hour_are_read_once_it_is_over():
    hour = database_now().replace(minute=0, second=0, microsecond=0)
    keep(hour, running=3)
    run("workers/roll_up", {"now": hour + HOUR - MINUTE})
    assert not WorkerHour.objects.exists()

    run("workers/roll_up", {"now": hour + HOUR})

    assert WorkerHour.objects.get().running == 3


def test_earlier_workers_are_those_of_the_last_days_by_their_hours():
    now = database_now().replace(minute=0, second=0, microsecond=0)
    for worker, ago, count in (("a@x", 50, 1), ("a@x", 49, 2), ("b@x", 3, None), ("c@x", 800, 5)):
        keep(now - ago * HOUR, worker=worker, ended_in_minute=count)
    run("workers/roll_up", {"now": now})

    found = worker_history.earlier_workers(7)

    assert [(one.id, one.ended) for one in found] == [("b@x", None), ("a@x", 3)]
    assert (found[1].first_hour, found[1].last_hour) == (now - 50 * HOUR, now - 49 * HOUR)
    assert [one.id for one in worker_history.earlier_workers(90, q="C@")] == ["c@x"]
    assert len(worker_history.earlier_workers(90, limit=1)) == 1


def test_only_one_scheduler_writes():
    beat("w1@host:1")

    assert worker_history.run_once(Partitions()).done == 0
    assert not WorkerMinute.objects.exists()


def test_minutes_of_the_last_hours_come_in_order():
    now = database_now()
    for ago in (0, 30, 90):
        keep(now - ago * MINUTE)

    found = worker_history.minutes_of("w", 1)

    assert [row.minute for row in found] == sorted(row.minute for row in found)
    assert len(found) == 2
    assert len(worker_history.minutes_of("w", 2)) == 3


def test_a_long_id_finds_what_is_stored_of_it(partitions: Partitions, at: datetime):
    name = f"worker@{'h' * 200}:1"
    beat(name)

    worker_history.run_once(partitions)

    assert len(worker_history.minutes_of(name, 1)) == 1


def test_old_minutes_and_hours_are_forgotten():
    now = database_now()
    for days in (0, 6, 8, 89, 91):
        keep(now - timedelta(days=days))
    run("workers/roll_up", {"now": now + HOUR})

    assert worker_history.prune(now - worker_history.KEPT) == 3
    assert worker_history.prune_hours(now - worker_history.HOURS_KEPT) == 1
    assert (WorkerMinute.objects.count(), WorkerHour.objects.count()) == (2, 4)
