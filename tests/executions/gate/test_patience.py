"""Runs of workflows that were asked for wait at the gate under every policy."""

from __future__ import annotations

import pytest

from executions.models import Execution
from tasks.models import Task
from tenants.models import Tenant
from tests.factories import ACTOR, make_tenant
from tests.support.workflows import (
    begin_children,
    begin_run,
    begin_take,
    calls,
    make_workflow,
    status_of,
    work,
)
from workflows.retrying import Retry, retry_run

pytestmark = pytest.mark.django_db
POLICIES = ("skip", "queue_one", "queue_all", "cancel_running", "allow")


@pytest.fixture
def tenant() -> Tenant:
    return make_tenant()


def limited(tenant: Tenant, policy: str) -> Task:
    schedule = {"every": "PT1H", "overlap_policy": policy, "max_concurrent": 1}
    return make_workflow(tenant, [calls("a")], schedule=schedule)


def statuses(task: Task) -> list[str]:
    own = Execution.objects.filter(task_id=task.id, pool="workflow").order_by("created_at", "id")
    return [row.status for row in own]


@pytest.mark.parametrize("policy", POLICIES)
def test_asked_runs_go_one_after_the_other(tenant: Tenant, policy: str):
    task = limited(tenant, policy)
    runs = [begin_run(task) for _ in range(3)]

    assert sorted(statuses(task)) == ["PENDING", "PENDING", "RUNNING"]
    for _ in runs:
        work(runs[0])
        begin_children()

    assert [status_of(run) for run in runs] == ["SUCCEEDED"] * 3


@pytest.mark.parametrize("policy", POLICIES)
def test_a_retry_waits_for_the_run_under_way_and_ends_none(tenant: Tenant, policy: str):
    task = limited(tenant, policy)
    first = begin_run(task)
    work(first, lambda key, item: "FAILED")
    second = begin_run(task)

    retry_run(tenant.id, first, Retry(), actor=ACTOR)
    begin_take(first)
    assert statuses(task).count("RUNNING") == 1
    assert status_of(second) == "RUNNING"

    work(second)
    begin_take(first)
    work(first)
    assert (status_of(first), status_of(second)) == ("SUCCEEDED", "SUCCEEDED")
