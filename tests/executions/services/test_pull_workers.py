from __future__ import annotations

import pytest

from executions.engine import guard
from executions.services import pull_workers
from executions.services.pull_workers import Ask, labels_text, noticed
from executions.services.triggering import Override, run_task
from executions.workers import registry
from tenants.models import Tenant
from tests.executions.leasing import POOL, call, take, take_one, work
from tests.factories import ACTOR
from tests.support.closed_redis import closed_redis


def test_leased_work_has_started_for_whoever_takes_work_back(alpha: Tenant):
    work(alpha)
    lease = take_one(alpha, worker="etl-7")

    assert guard.void([lease.fencing_token]) == ["etl-7"]


def test_a_payload_of_its_own_goes_before_the_tasks(alpha: Tenant):
    [task] = work(alpha, payload={"n": 1})
    run_task(alpha.id, task.id, Override({"n": 2}), actor=ACTOR)

    payloads = [lease.payload for lease in take(alpha)]

    assert sorted(payloads, key=str) == [{"n": 1}, {"n": 2}]


def test_a_worker_that_sends_heartbeats_lives(alpha: Tenant):
    work(alpha)
    noticed(alpha.id, Ask(pool=POOL, worker="w-1", lease_seconds=5), "192.0.2.1")
    lease = take_one(alpha)
    before = registry.workers(alpha.id)[0].silent_seconds

    call(lease.execution_id, "heartbeat", lease.token)

    [worker] = registry.workers(alpha.id)
    assert worker.live
    assert worker.silent_seconds <= before + 1
    assert registry.workers() == []


def test_without_redis_a_heartbeat_still_counts(alpha: Tenant, monkeypatch: pytest.MonkeyPatch):
    work(alpha)
    lease = take_one(alpha)
    closed = closed_redis()
    monkeypatch.setattr("executions.workers.registry.client", lambda: closed)

    assert call(lease.execution_id, "heartbeat", lease.token).status_code == 200


def test_what_waiting_workers_could_lease_is_told_for_each_group(alpha: Tenant, beta: Tenant):
    work(alpha, 3)
    work(alpha, 1, target={"requires": {"gpu": "a"}})
    pool = f"pull.{POOL}"

    found = pull_workers.ready(
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
