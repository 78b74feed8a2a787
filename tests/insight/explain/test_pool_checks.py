from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest

from executions.external.pools import change_pool
from executions.external.pull_leases import Ask, noticed
from executions.loop.clocks import database_now
from executions.models import Execution
from insight.explain.answer import Check
from insight.explain.checks import first_to_wait_for, run_checks
from insight.explain.evidence import Situation
from tasks.models import Task
from tenants.models import Tenant
from tests.executions.leasing import POOL, accepted, call, reread, take, take_one, work
from tests.factories import ACTOR, ApiClient
from tests.support.closed_redis import closed_redis


def situation(execution: Execution) -> Situation:
    task = Task.objects.get(pk=execution.task_id)
    return Situation(task, execution.scheduled_for, database_now(), execution)


def waiting(task: Task) -> Situation:
    return situation(Execution.objects.get(task_id=task.id))


def check(found: Situation, name: str) -> Check:
    return next(one for one in run_checks(found) if one.name == name)


def serve(tenant: Tenant, **labels: str) -> None:
    noticed(tenant.id, Ask(pool=POOL, worker="w-1", labels=labels), "192.0.2.1")


def test_a_paused_pool_keeps_its_work(client: ApiClient, alpha: Tenant):
    [task] = work(alpha)
    change_pool(alpha.id, POOL, {"paused": True}, actor=ACTOR)

    found = check(waiting(task), "pool")

    assert (found.ok, found.says) == (False, "the pool batch is paused")
    execution = Execution.objects.get(task_id=task.id)
    shown = client.get(f"/v1/executions/{execution.id}").json()["waiting_for"]
    assert shown["what"] in ("pool", "scheduler")


def test_a_pool_at_its_limit_keeps_the_rest(alpha: Tenant):
    work(alpha, 2)
    change_pool(alpha.id, POOL, {"max_in_flight": 1}, actor=ACTOR)
    take(alpha)
    row = Execution.objects.get(status="PENDING")

    found = check(situation(row), "pool")

    assert (found.ok, found.says) == (False, "1 of at most 1 leases of the pool batch are out")


def test_a_pool_with_room_is_passed(alpha: Tenant):
    [task] = work(alpha)
    assert check(waiting(task), "pool").ok is True
    change_pool(alpha.id, POOL, {"max_in_flight": 1}, actor=ACTOR)
    assert check(waiting(task), "pool").ok is True


def test_without_a_live_worker_of_the_pool_it_waits(alpha: Tenant, beta: Tenant):
    [task] = work(alpha)
    serve(beta)

    found = check(waiting(task), "workers")

    assert (found.ok, found.says) == (False, "no live worker leases from the pool batch")
    assert found.fix is not None
    assert found.fix.call == "POST /v1/pools/batch/lease"


def test_labels_that_nobody_has_are_named(alpha: Tenant):
    [task] = work(alpha, target={"requires": {"gpu": "a100", "zone": "b"}})
    serve(alpha, gpu="t4")

    found = check(waiting(task), "workers")

    assert found.ok is False
    assert "has the labels gpu=a100, zone=b" in found.says


def test_a_worker_that_fits_will_lease_it(alpha: Tenant):
    [task] = work(alpha, target={"requires": {"gpu": "a100"}})
    serve(alpha, gpu="a100", zone="b")

    found = check(waiting(task), "workers")

    assert (found.ok, found.says) == (True, "1 live workers lease from the pool batch")


def test_without_redis_the_workers_are_not_known(alpha: Tenant, monkeypatch: pytest.MonkeyPatch):
    [task] = work(alpha)
    closed = closed_redis()
    monkeypatch.setattr("wire.heartbeats.client", lambda: closed)

    assert check(waiting(task), "workers").ok is None


def test_leased_work_waits_for_its_worker_until_the_lease_ends(alpha: Tenant):
    work(alpha)
    lease = take_one(alpha, worker="etl-7")

    found = first_to_wait_for(situation(reread(lease.execution_id)))

    assert found is not None
    assert (found.name, found.until) == ("lease", reread(lease.execution_id).lease_expires_at)
    assert found.says.startswith("etl-7 has leased it")


def test_what_goes_on_elsewhere_says_where_and_until_when(alpha: Tenant):
    execution, _ = accepted(alpha)
    work(alpha)
    lease = take_one(alpha)
    call(lease.execution_id, "heartbeat", lease.token)

    receiver = check(situation(execution), "running")
    worker = check(situation(reread(lease.execution_id)), "running")

    assert "goes on at the receiver, which answered 202" in receiver.says
    assert "Without a heartbeat its lease ends at" in receiver.more
    assert "goes on with w-1, which leased it" in worker.says


def test_a_cancel_says_when_it_is_ended(client: ApiClient, alpha: Tenant):
    execution, _ = accepted(alpha)
    client.post(f"/v1/executions/{execution.id}/cancel")

    found = check(situation(reread(execution)), "running")

    assert "is being cancelled" in found.more


def test_work_of_our_own_workers_asks_no_pool(alpha: Tenant):
    execution, _ = accepted(alpha)

    assert check(situation(execution), "pool").ok is None


@pytest.mark.parametrize("path", ["explain", ""])
def test_the_api_shows_it_for_any_state(client: ApiClient, alpha: Tenant, path: str):
    states: list[Any] = [Execution.objects.get(task_id=work(alpha)[0].id)]
    states.append(reread(take_one(alpha).execution_id))
    states.append(accepted(alpha)[0])

    for execution in states:
        answer = client.get(f"/v1/executions/{execution.id}/{path}".rstrip("/"))
        assert answer.status_code == 200, answer.content


def test_a_lease_far_off_is_told_with_its_time(alpha: Tenant):
    work(alpha)
    lease = take_one(alpha, lease_seconds=3600)

    found = check(situation(reread(lease.execution_id)), "lease")

    assert found.until is not None
    assert found.until - database_now() > timedelta(minutes=50)
