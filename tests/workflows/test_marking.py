"""A failed step of an ended run that was done by hand lets the run go on behind it."""

from __future__ import annotations

import json
from typing import Any
from uuid import UUID

import pytest

from events.models import AuditEntry
from executions.models import EndedWorkflowRun, Execution, WorkflowRun
from shared.exceptions import Conflict, NotFound
from tasks.models import Task
from tenants.models import Tenant
from tests.executions.changes.changes import delete
from tests.factories import ACTOR, make_tenant
from tests.support.workflow_steps import claim, end, run_step, start_step, why, work_on
from tests.support.workflows import (
    begin_children,
    begin_run,
    begin_take,
    calls,
    ends_of,
    go_on,
    make_workflow,
    payloads_of,
    states,
    status_of,
)
from workflows.control import Scope, cancel_run, skip_step, succeed_step

pytestmark = pytest.mark.django_db
CHAIN = [
    calls("a"),
    calls("b", "a"),
    calls("c", "b", payload="{{ steps.b.output.n }}"),
    calls("d", "c"),
    calls("other"),
]


@pytest.fixture
def tenant() -> Tenant:
    return make_tenant()


def failed_run(tenant: Tenant, steps: Any = CHAIN, at: str = "b", **parts: Any) -> UUID:
    run_id = begin_run(make_workflow(tenant, steps, **parts))
    work_on(run_id, lambda key, item: "FAILED" if key == at else "SUCCEEDED")
    assert status_of(run_id) == "FAILED"
    return run_id


def succeed(tenant: Tenant, run_id: UUID, key: str = "b", output: Any = None) -> None:
    succeed_step(tenant.id, run_id, key, output, actor=ACTOR)
    begin_take(run_id)


def test_what_comes_behind_runs_with_the_output_and_nothing_else_runs_again(tenant: Tenant):
    run_id = failed_run(tenant)

    succeed(tenant, run_id, output={"n": 3})

    assert work_on(run_id) == ["c", "d"]
    assert status_of(run_id) == "SUCCEEDED"
    assert payloads_of(run_id, 3) == [3]
    assert [Execution.objects.filter(run_id=run_id, step=n).count() for n in (1, 2, 5)] == [1, 1, 1]
    assert why(run_id, 2) == ("SUCCEEDED", "marked_succeeded")
    marked = [one for one in ends_of(run_id) if one.reason == "marked_succeeded"]
    assert [(one.take, one.actor) for one in marked] == [(2, ACTOR.name)]


def test_the_take_before_stays_as_it_ended(tenant: Tenant):
    run_id = failed_run(tenant)

    succeed(tenant, run_id, output={"n": 3})
    work_on(run_id)

    takes = EndedWorkflowRun.objects.filter(pk=run_id).order_by("take")
    assert [(one.take, one.status) for one in takes] == [(1, "FAILED"), (2, "SUCCEEDED")]
    places = [one.place for one in ends_of(run_id)]
    assert places == sorted(set(places))


def test_a_skipped_step_is_no_success(tenant: Tenant):
    steps = [calls("a"), calls("b", "a"), calls("c", "b"), calls("d", "b", condition="none_failed")]
    run_id = failed_run(tenant, steps)

    skip_step(tenant.id, run_id, "b", actor=ACTOR)
    begin_take(run_id)

    assert work_on(run_id) == ["d"]
    assert states(run_id) == {"a": "SUCCEEDED", "b": "SKIPPED", "c": "SKIPPED", "d": "SUCCEEDED"}
    assert status_of(run_id) == "SUCCEEDED"


def test_the_last_step_ends_the_run(tenant: Tenant):
    run_id = failed_run(tenant, [calls("a"), calls("b", "a")])

    succeed(tenant, run_id)

    assert work_on(run_id) == []
    assert status_of(run_id) == "SUCCEEDED"


def test_a_branch_that_the_failure_has_stopped_goes_on(tenant: Tenant):
    steps = [calls("a"), calls("b"), calls("c", "b")]
    run_id = begin_run(make_workflow(tenant, steps))
    rows = claim(run_id)
    end(rows["a"], "FAILED")
    go_on(run_id)
    go_on(run_id)
    assert states(run_id) == {"a": "FAILED", "b": "CANCELLED", "c": "CANCELLED"}

    succeed(tenant, run_id, "a")

    assert work_on(run_id) == ["b", "c"]
    assert status_of(run_id) == "SUCCEEDED"


def test_another_failed_step_stays_until_it_is_marked_or_retried(tenant: Tenant):
    steps = [calls("a"), calls("x", "a"), calls("b"), calls("y", "b")]
    run_id = begin_run(make_workflow(tenant, steps, on_failure="continue"))
    work_on(run_id, lambda key, item: "FAILED")

    succeed(tenant, run_id, "a")
    assert work_on(run_id) == ["x"]
    assert states(run_id) == {"a": "SUCCEEDED", "x": "SUCCEEDED", "b": "FAILED", "y": "BLOCKED"}
    assert status_of(run_id) == "FAILED"

    succeed(tenant, run_id, "b")
    assert work_on(run_id) == ["y"]
    assert status_of(run_id) == "SUCCEEDED"


def test_a_step_that_a_person_has_skipped_stays_skipped(tenant: Tenant):
    steps = [calls("a"), calls("b", "a"), calls("c", "b", condition="all_done")]
    run_id = begin_run(make_workflow(tenant, steps))
    skip_step(tenant.id, run_id, "c", actor=ACTOR)
    work_on(run_id, lambda key, item: "FAILED" if key == "b" else "SUCCEEDED")

    succeed(tenant, run_id)

    assert work_on(run_id) == []
    assert (states(run_id)["c"], status_of(run_id)) == ("SKIPPED", "SUCCEEDED")


def test_a_cancelled_step_can_be_marked_too(tenant: Tenant):
    run_id = begin_run(make_workflow(tenant, CHAIN))
    run_step(run_id, "a")
    row = claim(run_id)["b"]
    start_step(row)
    cancel_run(tenant.id, run_id, Scope(), actor=ACTOR)
    go_on(run_id)
    end(row, "CANCELLED")
    go_on(run_id)

    succeed(tenant, run_id, output={"n": 1})

    assert sorted(work_on(run_id)) == ["c", "d", "other"]
    assert status_of(run_id) == "SUCCEEDED"


def test_a_fan_out_is_marked_whole(tenant: Tenant):
    steps = [
        calls("load", for_each=[1, 2]),
        calls("sum", "load", payload="{{ steps.load.output }}"),
    ]
    run_id = failed_run(tenant, steps, "load")

    succeed(tenant, run_id, "load", {"outputs": [5]})

    assert work_on(run_id) == ["sum"]
    assert payloads_of(run_id, 2) == [{"outputs": [5]}]


def test_a_run_that_a_step_began_is_mended_as_well(tenant: Tenant):
    child = make_workflow(tenant, [calls("x"), calls("y", "x")])
    steps = [{"key": "sub", "kind": "workflow", "workflow_id": str(child.id)}]
    parent = begin_run(make_workflow(tenant, steps))
    begin_children()
    run_id = Execution.objects.get(run_id=parent, step=1).id
    work_on(run_id, lambda key, item: "FAILED")
    go_on(parent)
    assert status_of(parent) == "FAILED"

    succeed(tenant, run_id, "x")

    assert work_on(run_id) == ["y"]
    assert (status_of(run_id), status_of(parent)) == ("SUCCEEDED", "FAILED")


def test_a_second_mark_of_one_step_finds_the_first(tenant: Tenant):
    run_id = failed_run(tenant)
    succeed(tenant, run_id, output={"n": 3})

    with pytest.raises(Conflict) as refused:
        succeed(tenant, run_id, output={"n": 4})

    assert refused.value.code == "step_ended"


@pytest.mark.parametrize("key", ["a", "c"])
def test_a_step_that_has_not_failed_is_refused(tenant: Tenant, key: str):
    run_id = failed_run(tenant)

    with pytest.raises(Conflict) as refused:
        succeed(tenant, run_id, key)

    assert refused.value.code == "step_ended"
    assert not WorkflowRun.objects.exists()


def test_what_cannot_be_and_what_is_unknown_is_refused(tenant: Tenant):
    run_id = failed_run(tenant)

    with pytest.raises(NotFound):
        succeed(tenant, run_id, "nothing")
    with pytest.raises(NotFound):
        succeed(make_tenant("Other"), run_id)
    with pytest.raises(Conflict) as refused:
        succeed(tenant, run_id, output="\0")
    assert refused.value.code == "output_invalid"
    delete(Task.objects.get())
    with pytest.raises(Conflict) as refused:
        succeed(tenant, run_id)
    assert refused.value.code == "task_deleted"
    assert not WorkflowRun.objects.exists()
    assert not AuditEntry.objects.filter(action__startswith="run.").exists()


def test_a_run_whose_success_was_undone_is_retried_instead(tenant: Tenant):
    undo = {"compensate": {"target": {"url": "https://api.example.com/undo"}}}
    run_id = failed_run(
        tenant, [calls("a", **undo), calls("b", "a"), calls("c", "b")], on_failure="compensate"
    )
    assert states(run_id)["a"] == "COMPENSATED"

    with pytest.raises(Conflict) as refused:
        succeed(tenant, run_id)

    assert refused.value.code == "run_compensated"


def test_the_mark_is_audited_with_its_take(tenant: Tenant):
    run_id = failed_run(tenant)

    succeed(tenant, run_id, output={"n": 3})

    entry = AuditEntry.objects.get(object_id=run_id)
    assert (entry.action, entry.actor) == ("run.step_succeeded", ACTOR.name)
    assert json.loads(entry.after or "") == {"key": "b", "take": 2}
