from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest
from django.db.models import F

from executions.external import pull_leases
from executions.external.pull_leases import Ask, labels_text, noticed
from executions.models import Execution
from executions.triggering.triggers import Override, run_task
from tenants.models import Tenant
from tests.executions.leasing import POOL, call, take, take_one, work
from tests.factories import ACTOR
from tests.support.beats import silence
from tests.support.closed_redis import closed_redis
from wire import heartbeats, start_guard


def test_leased_work_has_started_for_whoever_takes_work_back(alpha: Tenant):
    work(alpha)
    lease = take_one(alpha, worker="etl-7")

    assert start_guard.void([lease.fencing_token]) == ["etl-7"]


def test_a_payload_of_its_own_goes_before_the_tasks(alpha: Tenant):
    [task] = work(alpha, payload={"n": 1})
    run_task(alpha.id, task.id, Override({"n": 2}), actor=ACTOR)

    payloads = [lease.payload for lease in take(alpha)]

    assert sorted(payloads, key=str) == [{"n": 1}, {"n": 2}]


def test_a_worker_that_sends_heartbeats_lives(alpha: Tenant):
    work(alpha)
    noticed(alpha.id, Ask(pool=POOL, worker="w-1", lease_seconds=5), "192.0.2.1")
    lease = take_one(alpha)
    [before] = heartbeats.workers(alpha.id)
    silence(before.id, 600)
    assert not heartbeats.workers(alpha.id)[0].live

    call(lease.execution_id, "heartbeat", lease.token)

    [worker] = heartbeats.workers(alpha.id)
    assert worker.live
    assert worker.silent_seconds < 300
    assert heartbeats.workers() == []


@pytest.mark.logs("pull_worker.not_noted")
def test_without_redis_a_heartbeat_still_counts(alpha: Tenant, monkeypatch: pytest.MonkeyPatch):
    work(alpha)
    lease = take_one(alpha)
    closed = closed_redis()
    monkeypatch.setattr("wire.heartbeats.client", lambda: closed)

    assert call(lease.execution_id, "heartbeat", lease.token).status_code == 200


def test_what_waiting_workers_could_lease_is_told_for_each_group(alpha: Tenant, beta: Tenant):
    work(alpha, 3)
    work(alpha, 1, target={"requires": {"gpu": "a"}})
    pool = f"pull.{POOL}"

    found = pull_leases.ready(
        {
            0: (alpha.id, pool, labels_text({}), 2),
            1: (alpha.id, pool, labels_text({"gpu": "a", "b": "c"}), 10),
            2: (beta.id, pool, labels_text({}), 10),
            3: (alpha.id, "pull.other", labels_text({}), 10),
        }
    )

    assert found == {0: 2, 1: 4}


def test_equal_labels_are_one_group():
    assert labels_text({"a": "1", "b": "2"}) == labels_text({"b": "2", "a": "1"})


def _work_of(tenant: Tenant, priority: int, count: int, age: int, **target: Any) -> None:
    """Let so much work of the pool be due since some seconds."""
    made = work(tenant, count, priority=priority, target=target)
    rows = Execution.objects.filter(task_id__in=[task.id for task in made])
    rows.update(due_at=F("due_at") - timedelta(seconds=age))


def _leased(tenant: Tenant, most: int) -> list[int]:
    """Return the priorities of what a worker is handed."""
    ids = [one.execution_id for one in take(tenant, most)]
    return sorted(Execution.objects.filter(id__in=ids).values_list("priority", flat=True))


def test_a_lease_takes_the_lower_number_first(alpha: Tenant):
    for priority in (6, 5, 4, 3):
        _work_of(alpha, priority, 2, 60 * priority)

    assert _leased(alpha, 4) == [3, 3, 4, 4]
    assert _leased(alpha, 4) == [5, 5, 6, 6]


def test_one_lease_in_ten_is_of_the_oldest_that_the_worker_may_have(alpha: Tenant):
    _work_of(alpha, 3, 30, 60)
    _work_of(alpha, 5, 1, 600)
    _work_of(alpha, 6, 1, 900, requires={"gpu": "a"})

    assert _leased(alpha, 10) == [3] * 9 + [5]
    assert _leased(alpha, 10) == [3] * 10


def test_places_for_the_oldest_add_up_in_small_leases(alpha: Tenant):
    _work_of(alpha, 7, 12, 60)
    _work_of(alpha, 9, 1, 600)

    assert [_leased(alpha, 1) for _ in range(11)] == [*[[7]] * 9, [9], [7]]
