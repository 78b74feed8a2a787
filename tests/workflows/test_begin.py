"""Runs begin at their instant, by the scheduler of their partition, and only once."""

from __future__ import annotations

from datetime import timedelta
from uuid import UUID

import pytest
from django.db.models import F

from executions.models import Execution, WorkflowRun
from executions.triggering.triggers import Override, run_task
from shared.encryption import DecryptionFailed
from tasks.models import Task
from tenants.models import Tenant
from tests.factories import ACTOR, make_tenant, release, reload, spoil
from tests.support.workflow_steps import run_step
from tests.support.workflows import EVERYWHERE, begin_run, calls, go_on, make_workflow, states
from workflows import plan
from workflows.begin import begin_due
from workflows.deadlines import RUN_SECONDS
from workflows.retrying import Retry, retry_run
from workflows.sealed import open_input

pytestmark = pytest.mark.django_db


@pytest.fixture
def tenant() -> Tenant:
    return make_tenant()


def ask(task: Task, value: object = None) -> UUID:
    override = None if value is None else Override(value)
    return run_task(task.tenant_id, task.id, override, actor=ACTOR).id


def test_a_due_run_begins_once_and_no_worker_gets_it(tenant: Tenant):
    run_id = ask(make_workflow(tenant, [calls("a")]))
    assert release() == []

    assert begin_due(EVERYWHERE, 10) == [run_id]
    assert begin_due(EVERYWHERE, 10) == []

    row = Execution.objects.get(pk=run_id)
    assert (row.status, row.attempt, row.worker) == ("RUNNING", 1, "")
    assert row.started_at is not None
    assert row.fencing_token is not None


def test_a_run_that_is_not_due_or_of_another_partition_does_not_begin(tenant: Tenant):
    task = make_workflow(tenant, [calls("a")])
    run_id = ask(task)
    Execution.objects.filter(pk=run_id).update(due_at=F("due_at") + timedelta(seconds=60))
    assert begin_due(EVERYWHERE, 10) == []

    Execution.objects.filter(pk=run_id).update(due_at=F("due_at") - timedelta(seconds=60))
    others = [partition for partition in EVERYWHERE if partition != task.partition]
    assert begin_due(others, 10) == []
    assert begin_due([task.partition], 10) == [run_id]


def test_the_limit_bounds_what_begins_at_once(tenant: Tenant):
    task = make_workflow(tenant, [calls("a")])
    runs = {ask(task) for _ in range(3)}

    first = begin_due(EVERYWHERE, 2)
    second = begin_due(EVERYWHERE, 2)

    assert (len(first), len(second)) == (2, 1)
    assert {*first, *second} == runs


def test_a_begun_run_has_its_input_its_deadline_and_all_steps_ahead(tenant: Tenant):
    run_id = ask(make_workflow(tenant, [calls("a"), calls("b")], deadline_seconds=90), {"n": 1})

    begin_due(EVERYWHERE, 10)

    run = WorkflowRun.objects.get(pk=run_id)
    assert open_input(run.sealed_input, tenant.id, run_id) == {"n": 1}
    assert run.deadline_at - run.began_at == timedelta(seconds=90)
    assert (run.take, run.phase, run.execution_id, run.root_id) == (1, "running", run_id, run_id)
    assert states(run_id) == {"a": "PENDING", "b": "PENDING"}


def test_a_run_has_a_week_unless_it_says_so(tenant: Tenant):
    run_id = begin_run(make_workflow(tenant, [calls("a")]))

    run = WorkflowRun.objects.get(pk=run_id)
    assert run.deadline_at - run.began_at == timedelta(seconds=RUN_SECONDS)
    assert run.sealed_input is None


def test_a_next_take_begins_with_the_states_of_what_is_kept(tenant: Tenant):
    run_id = begin_run(make_workflow(tenant, [calls("a"), calls("b", "a")], deadline_seconds=90))
    run_step(run_id, "a")
    run_step(run_id, "b", "FAILED")
    retry_run(tenant.id, run_id, Retry(), actor=ACTOR)

    assert begin_due(EVERYWHERE, 10) == [run_id]
    run = WorkflowRun.objects.get(pk=run_id)
    assert run.deadline_at - run.began_at == timedelta(seconds=90)
    go_on(run_id)

    assert states(run_id) == {"a": "SUCCEEDED", "b": "OPEN"}
    assert run.execution_id != run_id


def test_a_run_keeps_the_version_that_it_was_made_with(tenant: Tenant):
    task = make_workflow(tenant, [calls("a")])
    run_id = begin_run(task)

    assert WorkflowRun.objects.get(pk=run_id).version == reload(task).version == 1


def test_a_run_whose_definition_no_key_opens_holds_up_no_other(tenant: Tenant):
    plan.plan_of.cache_clear()
    spoiled = make_workflow(tenant, [calls("a", payload={"n": 1})])
    ask(spoil(spoiled))
    fine = ask(make_workflow(tenant, [calls("a")]))

    with pytest.raises(DecryptionFailed):
        plan.plan_of(spoiled.id, 1)
    assert fine in begin_due(EVERYWHERE, 10)


@pytest.mark.logs("run.unreadable")
def test_a_run_whose_input_no_key_opens_holds_up_no_other(tenant: Tenant):
    task = make_workflow(tenant, [calls("a")])
    spoiled = ask(task, {"n": 1})
    Execution.objects.filter(pk=spoiled).update(sealed_payload=b"\x01")
    fine = ask(task, {"n": 2})

    assert fine in begin_due(EVERYWHERE, 10)
