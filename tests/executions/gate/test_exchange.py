"""A run that a run under way waits for takes the place of one that has not begun."""

from __future__ import annotations

from decimal import Decimal
from typing import Any
from uuid import UUID

import pytest

from executions.changes import changing
from executions.gate import exchange
from executions.loop.clocks import database_now
from executions.models import Execution
from executions.ownership.partitions import Partitions
from tasks.models import Task, TaskBudget
from tasks.transitions import Pause
from tenants.models import Tenant
from tests.factories import ACTOR, make_tenant
from tests.support.child_runs import runs
from tests.support.limits_world import ask, begin, end_all, limit, look, queueing, rest
from tests.support.workflows import EVERYWHERE, calls, go_on, make_workflow
from workflows.begin import begin_due
from workflows.retrying import Retry, retry_run

pytestmark = pytest.mark.django_db


@pytest.fixture
def tenant() -> Tenant:
    return make_tenant()


def world(tenant: Tenant, **parts: Any) -> tuple[Task, UUID]:
    """Let a run wait for its tenant with the place that a run under way needs; return both."""
    task = make_workflow(tenant, [calls("a")], **{"schedule": queueing(1), **parts})
    limit(tenant, runs_in_flight=1)
    ask(make_workflow(tenant, [calls("first"), runs("sub", task, "first")]))
    begin()
    run = ask(task)
    begin()
    end_all()
    return task, run


def needed(task: Task) -> Execution:
    return Execution.objects.get(task_id=task.id, pool="workflow", step__isnull=False)


def test_the_place_goes_to_the_run_that_is_needed_and_the_other_waits_at_the_gate(tenant: Tenant):
    task, run = world(tenant)
    assert needed(task).gated

    look()

    row = Execution.objects.get(pk=run)
    assert (row.gated, row.counted, row.held, row.reason) == (True, False, True, "")
    assert (needed(task).gated, needed(task).counted, needed(task).held) == (False, True, False)


def test_no_more_places_are_given_than_there_are(tenant: Tenant):
    task, _ = world(tenant)

    for _ in range(3):
        look()
        begin()

    assert Execution.objects.filter(task_id=task.id, counted=True).count() == 1


def test_a_run_that_has_begun_keeps_its_place(tenant: Tenant):
    task, run = world(tenant)
    limit(tenant, runs_in_flight=2)
    Execution.objects.filter(pk=run).update(held=False, reason="")
    go_on(*begin_due(EVERYWHERE, 10))
    assert Execution.objects.get(pk=run).status == "RUNNING"

    look()

    assert needed(task).gated


def test_a_run_that_only_has_to_begin_keeps_its_turn(tenant: Tenant):
    task = make_workflow(tenant, [calls("a")], schedule=queueing(1))
    ask(make_workflow(tenant, [calls("first"), runs("sub", task, "first")]))
    begin()
    run = ask(task)
    end_all()

    look()

    assert Execution.objects.get(pk=run).counted
    assert needed(task).gated


def test_a_retry_that_waits_for_its_key_gives_its_place_to_no_other_retry(tenant: Tenant):
    key = {"key": "k", "max": 1}
    task = make_workflow(tenant, [calls("a")], schedule=queueing(1), concurrency=key)
    failed = []
    for _ in range(2):
        failed.append(ask(task))
        begin()
        end_all(lambda row: "FAILED")
    ask(make_workflow(tenant, [calls("a")], concurrency=key))
    begin()
    for run in failed:
        retry_run(tenant.id, run, Retry(), actor=ACTOR)
    look()
    before = list(Execution.objects.filter(counted=True, task_id=task.id, status="PENDING"))
    assert [row.key_place for row in before] == [0]

    look()

    assert list(Execution.objects.filter(counted=True, task_id=task.id, status="PENDING")) == before


def test_a_task_that_is_paused_exchanges_nothing(tenant: Tenant):
    task, run = world(tenant)
    changing.pause_task(tenant.id, task.id, Pause(), actor=ACTOR)

    look()

    assert Execution.objects.get(pk=run).counted


def test_a_scheduler_that_does_not_own_the_partition_exchanges_nothing(tenant: Tenant):
    task, run = world(tenant)
    stranger = Partitions()

    done = exchange.run_once(stranger.parameters({}), [task.id], database_now())

    assert done == 0
    assert Execution.objects.get(pk=run).counted


def test_without_a_full_gate_nothing_is_asked(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(exchange, "rows", None)

    assert exchange.run_once({}, (), database_now()) == 0


@pytest.mark.parametrize("policy", ["skip", "queue_one", "queue_all", "cancel_running"])
def test_a_run_that_gave_its_place_away_is_not_judged_as_if_it_came_now(
    tenant: Tenant, policy: str
):
    schedule = {"every": "P1D", "overlap_policy": policy, "max_concurrent": 1}
    task, run = world(tenant, schedule=schedule)
    Execution.objects.filter(pk=run).update(trigger="schedule")
    look()
    row = Execution.objects.get(pk=run)
    assert (row.status, row.gated, row.gave_way) == ("PENDING", True, True)

    look()

    assert Execution.objects.get(pk=run).status == "PENDING"
    assert needed(task).cancel_requested_at is None
    assert needed(task).counted
    rest()
    row = Execution.objects.get(pk=run)
    assert (row.status, row.gave_way) == ("SUCCEEDED", None)
    assert needed(task).status == "SUCCEEDED"


@pytest.mark.parametrize("trigger", ["manual", "schedule"])
def test_the_budget_counts_each_run_once(tenant: Tenant, trigger: str):
    budget = [{"unit": "runs", "per": "day", "limit": 5}]
    task, run = world(tenant, budget=budget)
    Execution.objects.filter(pk=run).update(trigger=trigger)
    before = TaskBudget.objects.get(task_id=task.id).used
    assert before == Decimal(1)

    look()

    assert needed(task).counted
    assert TaskBudget.objects.get(task_id=task.id).used == 2
    rest()
    assert Execution.objects.get(pk=run).status == "SUCCEEDED"
    assert TaskBudget.objects.get(task_id=task.id).used == 2


def test_a_needed_run_beyond_the_budget_is_skipped_and_nothing_waits_for_it(tenant: Tenant):
    task, run = world(tenant, budget=[{"unit": "runs", "per": "day", "limit": 1}])

    look()

    row = needed(task)
    assert (row.status, row.reason) == ("SKIPPED", "budget_exceeded")
    assert Execution.objects.get(pk=run).counted
    rest()
    assert Execution.objects.get(pk=run).status == "SUCCEEDED"
