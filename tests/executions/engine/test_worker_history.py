from __future__ import annotations

from datetime import timedelta

import pytest

from executions.engine import worker_history
from executions.engine.clocks import database_now
from executions.engine.partitions import Partitions
from executions.models import WorkerMinute
from tests.executions.workers.test_registry import beat, silence

pytestmark = pytest.mark.django_db


@pytest.fixture
def partitions():
    held = Partitions()
    held.run_once()
    yield held
    held.release_all()


def test_every_worker_that_is_heard_has_one_row_a_minute(partitions: Partitions):
    beat("w1@host:1", host="host", running=3, held=2, ended=10, cpu_percent=12.5, version="1.0.0")
    beat("w2@host:2", pool="handlers")
    beat("gone@host:3")
    silence("gone@host:3", 61)

    counts = worker_history.run_once(partitions)
    beat("w1@host:1", running=1, held=0, ended=12)
    worker_history.run_once(partitions)

    assert counts.done == 2
    assert 0 < counts.next_in <= 60
    (first,) = worker_history.minutes_of("w1@host:1", 1)
    assert (first.running, first.ended, first.minute.second) == (1, 12, 0)
    assert worker_history.minutes_of("w2@host:2", 1)[0].pool == "handlers"
    assert worker_history.minutes_of("gone@host:3", 1) == []


def test_only_one_scheduler_writes():
    beat("w1@host:1")

    assert worker_history.run_once(Partitions()).done == 0
    assert not WorkerMinute.objects.exists()


def test_minutes_of_the_last_hours_come_in_order():
    now = database_now()
    for ago in (0, 30, 90):
        WorkerMinute.objects.create(worker="w", minute=now - timedelta(minutes=ago), pool="p")

    found = worker_history.minutes_of("w", 1)

    assert [row.minute for row in found] == sorted(row.minute for row in found)
    assert len(found) == 2
    assert len(worker_history.minutes_of("w", 2)) == 3


def test_old_minutes_are_forgotten():
    now = database_now()
    for days in (0, 6, 8):
        WorkerMinute.objects.create(worker="w", minute=now - timedelta(days=days), pool="p")

    assert worker_history.prune(now - worker_history.KEPT) == 1
    assert WorkerMinute.objects.count() == 2
