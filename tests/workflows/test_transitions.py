"""Runs move from PENDING to RUNNING to their end; each end is told, counted and kept once."""

from __future__ import annotations

import pytest

from events.models import Event
from executions.choices import FINAL
from executions.models import DeadLetter, EndedWorkflowRun, Execution, MinuteStat, WorkflowRun
from tenants.models import Tenant
from tests.factories import ACTOR, make_tenant, reload
from tests.support.suspending import resume, suspend
from tests.support.workflow_steps import claim, end, open_keys, run_step, start_step, work_on
from tests.support.workflows import begin_run, calls, go_on, make_workflow, states, status_of
from workflows.advance import reading
from workflows.advance.records import RunEnd
from workflows.control import Scope, cancel_run
from workflows.retrying import Retry, retry_run
from workflows.transitions import end_runs

pytestmark = pytest.mark.django_db


@pytest.fixture
def tenant() -> Tenant:
    return make_tenant()


def test_an_ended_run_is_in_the_history_with_the_cause_of_its_first_failed_step(tenant: Tenant):
    steps = [calls("a"), calls("b"), calls("c")]
    run_id = begin_run(make_workflow(tenant, steps, on_failure="continue"))
    rows = claim(run_id)

    end(rows["b"], "FAILED", error_code="first", error_message="The first one.")
    go_on(run_id)
    end(rows["a"], "FAILED", error_code="second", error_message="The second one.")
    end(rows["c"])
    go_on(run_id)

    row = Execution.objects.get(pk=run_id)
    assert (row.status, row.reason) == ("FAILED", "step_failed")
    assert (row.error_code, row.error_message) == ("first", "The first one.")
    [letter] = DeadLetter.objects.all()
    assert (letter.execution_id, letter.error_code) == (run_id, "first")


def test_the_cause_of_a_failed_fan_out_is_that_of_its_first_failed_item(tenant: Tenant):
    steps = [calls("load", for_each="{{ input }}")]
    run_id = begin_run(make_workflow(tenant, steps), [1, 2])

    end(claim(run_id)["load[1]"], "FAILED", error_code="item", error_message="Item 1.")
    go_on(run_id)

    row = Execution.objects.get(pk=run_id)
    assert (row.error_code, row.error_message) == ("item", "Item 1.")


def test_a_second_end_of_a_run_changes_nothing(tenant: Tenant):
    run_id = begin_run(make_workflow(tenant, [calls("a")]))
    [row] = reading.lock([run_id])
    run_step(run_id, "a", "FAILED")

    end_runs([RunEnd(row, "SUCCEEDED", "")])

    assert status_of(run_id) == "FAILED"
    assert EndedWorkflowRun.objects.filter(pk=run_id).count() == 1
    assert DeadLetter.objects.count() == 1


def test_each_end_has_its_event_once(tenant: Tenant):
    run_id = begin_run(make_workflow(tenant, [calls("a")]))
    run_step(run_id, "a")

    named = Event.objects.filter(name="execution.succeeded")
    about = [one for event in named for one in (event.subject_id, *(event.subjects or ()))]
    assert about.count(run_id) == 1


def test_a_run_settles_its_task_and_a_step_does_not(tenant: Tenant):
    task = make_workflow(
        tenant, [calls("a"), calls("b", "a")], schedule={"cron_expression": "0 8 * * *"}
    )
    run_id = begin_run(task)
    before = reload(task).last_execution_id

    run_step(run_id, "a")
    assert reload(task).last_execution_id == before
    run_step(run_id, "b")

    assert reload(task).last_execution_id == run_id


def test_calls_of_steps_count_in_their_minute(tenant: Tenant):
    run_id = begin_run(make_workflow(tenant, [calls("a"), calls("b")]))

    work_on(run_id)

    assert sum(row.succeeded for row in MinuteStat.objects.filter(tenant_id=tenant.id)) == 2


def test_steps_of_a_suspended_tenant_are_on_hold_until_its_end(tenant: Tenant):
    run_id = begin_run(make_workflow(tenant, [calls("a"), calls("b", "a"), calls("c", "b")]))
    row = claim(run_id)["a"]
    start_step(row)
    suspend(tenant)

    end(row)
    go_on(run_id)

    assert open_keys(run_id) == ["b"]
    assert claim(run_id) == {}
    resume(tenant)
    assert work_on(run_id) == ["b", "c"]
    assert status_of(run_id) == "SUCCEEDED"


def test_a_take_that_is_cancelled_before_its_begin_can_be_retried(tenant: Tenant):
    run_id = begin_run(make_workflow(tenant, [calls("a"), calls("b", "a")]))
    run_step(run_id, "a")
    run_step(run_id, "b", "FAILED")
    retry_run(tenant.id, run_id, Retry(), actor=ACTOR)

    cancel_run(tenant.id, run_id, Scope(), actor=ACTOR)
    go_on(run_id)

    assert not WorkflowRun.objects.exists()
    assert status_of(run_id) == "CANCELLED"
    assert retry_run(tenant.id, run_id, Retry(), actor=ACTOR) == 3
    takes = EndedWorkflowRun.objects.filter(pk=run_id).order_by("take")
    assert [(row.take, row.status) for row in takes] == [(1, "FAILED"), (2, "CANCELLED")]
    assert states(run_id) == {"a": "SUCCEEDED", "b": "PENDING"}


@pytest.mark.parametrize("status", ["SUCCEEDED", "FAILED", "CANCELLED"])
def test_a_run_ends_as_its_only_step(tenant: Tenant, status: str):
    run_id = begin_run(make_workflow(tenant, [calls("a")]))

    run_step(run_id, "a", status)

    assert status_of(run_id) == status
    assert status in FINAL
