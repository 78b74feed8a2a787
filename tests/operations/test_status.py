from __future__ import annotations

from datetime import timedelta

import pytest
from django.contrib.postgres.functions import TransactionNow
from django.db import connection

from executions.changes import changing
from executions.loop.clocks import database_now
from executions.models import Execution
from executions.ownership import fence
from executions.ownership.partitions import Partitions
from insight.statistics import overview
from insight.statistics.minutes import wire_bound
from operations import health, status
from shared.clock_watch import Skew
from shared.redis_client import OUTCOME_STREAM, client
from tasks.transitions import Pause
from tests.executions.leasing import call, take_one, work
from tests.factories import ACTOR, make_dead_letter, make_execution, make_tenant
from tests.support.recorder import ask_for_outcomes
from wire import heartbeats
from wire.heartbeats import WorkerInfo

pytestmark = pytest.mark.django_db


@pytest.fixture
def waiting(db: None) -> Execution:
    """Return an execution that is due since half a minute."""
    return _due_since(make_execution(make_tenant()), 30)


@pytest.fixture
def running(monkeypatch):
    """Let a scheduler, a worker and a recorder live."""
    worker = WorkerInfo("worker-1@host:1", 1.0, "default", 512, 4000, {})
    monkeypatch.setattr(heartbeats, "workers", lambda: [worker])
    monkeypatch.setattr(health, "workers", lambda: [worker])
    ask_for_outcomes()
    Partitions().run_once()


def test_an_idle_installation_is_healthy(running):
    found = status.read_status()

    assert found.healthy
    assert (found.schedulers, found.workers, found.worker_slots, found.recorders) == (1, 1, 512, 1)
    assert found.partitions_owned == found.partitions_total == 256
    assert found.start_delay_ms == {"p50": None, "p95": None, "p99": None}


def test_open_work_is_counted_by_what_it_does():
    tenant = make_tenant()
    for state in ("QUEUED", "RUNNING", "SUCCEEDED"):
        make_execution(tenant, state)
    make_dead_letter(tenant)
    _due_since(make_execution(tenant), 0.5)

    found = status.read_status()

    assert (found.due, found.queued, found.running) == (1, 1, 1)
    assert (found.succeeded_last_hour, found.failed_last_hour) == (1, 1)
    assert found.dead_letters_open == 1
    assert found.start_delay_ms["p99"] is not None


@pytest.mark.parametrize("state", ["PENDING", "QUEUED"])
def test_work_counts_as_late_from_a_second_on(state):
    execution = make_execution(make_tenant(), state)
    assert status.read_status().late == 0

    _due_since(execution, 2)
    assert status.read_status().late == 1


def test_nothing_alive_is_said_in_words(monkeypatch):
    found = status.read_status()

    assert not found.healthy
    assert found.problems == [
        "0 of 256 partitions have a live scheduler",
        "no live worker takes work",
        "no live recorder writes outcomes",
    ]


def test_work_that_is_stuck_makes_it_unhealthy(waiting, running):
    (problem,) = status.read_status().problems

    assert problem.startswith(f"execution {waiting.id} is due since ")


@pytest.fixture(params=["PENDING", "QUEUED"])
def unleased(db, request):
    """Return the state of work that a tenant's workers leave lying for five minutes."""
    late = _due_since(make_execution(make_tenant(), request.param), 300)
    Execution.objects.filter(pk=late.id).update(pool="pull.nightly")
    return request.param


def test_a_pull_pool_that_nobody_leases_from_leaves_the_installation_healthy(unleased, running):
    found = status.read_status()

    assert found.healthy
    assert found.late == 0
    assert found.due == found.tenants["own_workers"] == (1 if unleased == "PENDING" else 0)


@pytest.fixture
def parked(db):
    """Leave work that waits for its destination since five minutes."""
    late = _due_since(make_execution(make_tenant()), 300)
    Execution.objects.filter(pk=late.id).update(parked=True)


def test_work_that_waits_for_its_destination_is_its_tenants_matter(parked, running):
    found = status.read_status()

    assert found.healthy
    assert (found.due, found.late) == (1, 0)
    assert found.tenants == {"parked": 1, "own_workers": 0}


def test_the_delays_of_a_tenants_own_workers_are_not_the_installations():
    alpha = make_tenant()
    work(alpha)
    Execution.objects.update(due_at=database_now() - timedelta(hours=1))
    lease = take_one(alpha)
    call(lease.execution_id, "complete", lease.token)

    found = status.read_status()

    assert found.succeeded_last_hour == 1
    assert found.start_delay_ms == {"p50": None, "p95": None, "p99": None}


def test_the_last_hour_is_the_sum_of_what_the_tenants_see():
    tenants = [make_tenant("One"), make_tenant("Two")]
    for tenant in tenants:
        for state in ("SUCCEEDED", "FAILED", "RETRYING"):
            make_execution(tenant, state)
    held = make_execution(tenants[0], "RETRYING")
    changing.pause_task(tenants[0].id, held.task_id, Pause(), actor=ACTOR)

    found, seen = status.read_status(), [overview(tenant.id) for tenant in tenants]

    assert found.succeeded_last_hour == sum(one.succeeded_last_hour for one in seen) == 2
    assert found.failed_last_hour == sum(one.failed_last_hour for one in seen) == 2
    assert found.retrying == sum(one.retrying for one in seen) == 3
    assert found.as_json()["start_delay_ms"]["p99"] == max(
        wire_bound(one.start_delay.p99) or 0.0 for one in seen
    )


def test_outcomes_that_nobody_writes_make_it_unhealthy(running, monkeypatch):
    minute_ago = int((database_now() - timedelta(minutes=1)).timestamp() * 1000)
    client().xadd(OUTCOME_STREAM, {"d": b"{}"}, id=f"{minute_ago}-0")
    monkeypatch.setattr("operations.doctor.runtime._redis_time", lambda: minute_ago / 1000 + 60)

    assert status.read_status().problems == ["outcomes are not written since 60 s"]


def _due_since(execution: Execution, seconds: float) -> Execution:
    # By the clock of the reading: the time at which the test's transaction began.
    due = TransactionNow() - timedelta(seconds=seconds)
    Execution.objects.filter(pk=execution.id).update(due_at=due)
    return execution


def test_clock_that_is_off_is_a_problem(running, monkeypatch):
    monkeypatch.setattr(status, "skews", lambda: [Skew("web@host", -0.4)])

    assert status.read_status().problems == ["the clock of web@host is 0.4 s behind"]


def test_a_fence_is_a_problem(running):
    with connection.cursor() as cursor:
        fence.hold(cursor)

    (problem,) = status.read_status().problems

    assert "restore --confirm" in problem
