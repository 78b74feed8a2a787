"""A retry is the next take of the same run: what has succeeded stays, the rest runs again."""

from __future__ import annotations

from datetime import timedelta
from typing import Any
from uuid import UUID

import pytest

from executions.changes import changing
from executions.gate import stage as gate
from executions.loop.clocks import database_now
from executions.models import DeadLetter, EndedWorkflowRun, Execution, WorkflowRun
from executions.ownership.partitions import Partitions
from executions.triggering.triggers import Override, run_task
from shared.exceptions import Conflict, InvalidInput, NotFound
from shared.ids import execution_id, new_id
from tasks.limits import current_limits
from tasks.models import Task
from tasks.validation.workflow import parse_workflow_patch
from tenants.models import Tenant
from tests.executions.changes.changes import delete
from tests.factories import ACTOR, make_tenant
from tests.support.workflow_steps import claim, end, open_keys, run_step, work_on
from tests.support.workflows import (
    EVERYWHERE,
    begin_run,
    calls,
    ends_of,
    go_on,
    make_workflow,
    payloads_of,
    states,
    status_of,
)
from workflows.begin import begin_due
from workflows.control import Scope, cancel_run
from workflows.retrying import Retry, retry_run

pytestmark = pytest.mark.django_db
CHAIN = [
    calls("a"),
    calls("b", "a", payload="{{ steps.a.output }}"),
    calls("c", "b"),
    calls("other"),
]


@pytest.fixture
def tenant() -> Tenant:
    return make_tenant()


def failed_run(tenant: Tenant, at: str = "b", steps: Any = CHAIN, value: Any = None) -> UUID:
    """Return a run of which one step has failed, and all others have done what they could."""
    run_id = begin_run(make_workflow(tenant, steps, on_failure="continue"), value)
    work_on(run_id, lambda key, item: "FAILED" if key == at else ("SUCCEEDED", f"of {key}"))
    assert status_of(run_id) == "FAILED"
    return run_id


def retry(tenant: Tenant, run_id: UUID, **parts: Any) -> int:
    take = retry_run(tenant.id, run_id, Retry(**parts), actor=ACTOR)
    begin_due(EVERYWHERE, 1000)
    go_on(run_id)
    return take


def edit(task: Task, steps: Any) -> None:
    def change(current: Any, now: Any) -> Any:
        limits = current_limits()
        return parse_workflow_patch({"steps": steps}, now=now, limits=limits, current=current)

    changing.edit_task(task.tenant_id, task.id, change, actor=ACTOR)


def pass_gate() -> None:
    partitions = Partitions()
    partitions.run_once()
    gate.run_once(partitions)
    partitions.release_all()


def begin_limited(task: Task) -> UUID:
    run_id = run_task(task.tenant_id, task.id, None, actor=ACTOR).id
    pass_gate()
    assert begin_due(EVERYWHERE, 10) == [run_id]
    go_on(run_id)
    return run_id


def test_a_retry_runs_what_failed_and_what_comes_behind_it(tenant: Tenant):
    run_id = failed_run(tenant)

    assert retry(tenant, run_id) == 2

    assert work_on(run_id) == ["b", "c"]
    assert status_of(run_id) == "SUCCEEDED"
    assert payloads_of(run_id, 2) == ["of a", "of a"]


def test_a_retry_from_a_step_runs_it_and_all_behind_it_also_what_had_succeeded(tenant: Tenant):
    run_id = failed_run(tenant, "c")

    retry(tenant, run_id, key="b")

    assert states(run_id) == {
        "a": "SUCCEEDED",
        "b": "OPEN",
        "c": "PENDING",
        "other": "SUCCEEDED",
    }
    assert work_on(run_id) == ["b", "c"]


def test_a_succeeded_run_is_retried_only_from_a_step(tenant: Tenant):
    run_id = begin_run(make_workflow(tenant, CHAIN))
    work_on(run_id)

    with pytest.raises(Conflict) as refused:
        retry(tenant, run_id)
    assert refused.value.code == "nothing_to_retry"

    retry(tenant, run_id, key="c")
    assert work_on(run_id) == ["c"]


def test_each_take_stays_as_it_ended_and_has_a_letter_of_its_own(tenant: Tenant):
    run_id = failed_run(tenant)
    retry(tenant, run_id)
    work_on(run_id, lambda key, item: "FAILED")

    takes = EndedWorkflowRun.objects.filter(pk=run_id).order_by("take")
    assert [(row.take, row.status) for row in takes] == [(1, "FAILED"), (2, "FAILED")]
    assert Execution.objects.get(pk=takes[1].execution_id).parent_id == run_id
    letters = DeadLetter.objects.values_list("execution_id", flat=True)
    assert set(letters) == {row.execution_id for row in takes}
    assert [(one.step, one.take) for one in ends_of(run_id) if one.take == 2] == [(2, 2), (3, 2)]


def test_an_open_run_is_not_retried(tenant: Tenant):
    run_id = failed_run(tenant)
    retry(tenant, run_id)

    with pytest.raises(Conflict) as refused:
        retry_run(tenant.id, run_id, Retry(), actor=ACTOR)

    assert refused.value.code == "still_running"


def test_what_is_unknown_is_refused(tenant: Tenant):
    run_id = failed_run(tenant)

    with pytest.raises(NotFound):
        retry(tenant, new_id())
    with pytest.raises(NotFound):
        retry(make_tenant("Other"), run_id)
    with pytest.raises(InvalidInput):
        retry(tenant, run_id, key="nothing")
    assert not WorkflowRun.objects.exists()


def test_a_run_of_a_deleted_workflow_is_not_retried(tenant: Tenant):
    run_id = failed_run(tenant)
    delete(Task.objects.get())

    with pytest.raises(Conflict) as refused:
        retry(tenant, run_id)

    assert refused.value.code == "task_deleted"


def test_a_run_has_a_bounded_number_of_takes(tenant: Tenant, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr("workflows.retrying.MOST_TAKES", 2)
    run_id = failed_run(tenant)
    retry(tenant, run_id)
    work_on(run_id, lambda key, item: "FAILED")

    with pytest.raises(Conflict) as refused:
        retry(tenant, run_id)

    assert refused.value.code == "too_many_takes"


def test_a_retry_keeps_the_input_or_takes_another(tenant: Tenant):
    steps = [calls("a", payload="{{ input }}")]
    run_id = failed_run(tenant, "a", steps, {"n": 1})

    retry(tenant, run_id)
    work_on(run_id, lambda key, item: "FAILED")
    retry(tenant, run_id, override=Override({"n": 2}))
    work_on(run_id, lambda key, item: "FAILED")
    retry(tenant, run_id)

    assert payloads_of(run_id, 1) == [{"n": 1}, {"n": 1}, {"n": 2}, {"n": 2}]


def test_a_retry_by_the_latest_version_runs_its_steps(tenant: Tenant):
    run_id = failed_run(tenant)
    task = Task.objects.get()
    edit(task, [*CHAIN, calls("new", "c")])

    retry(tenant, run_id, latest=True)

    assert WorkflowRun.objects.get().version == 2
    assert work_on(run_id) == ["b", "c", "new"]


def test_a_retry_by_the_original_version_knows_nothing_of_an_edit(tenant: Tenant):
    run_id = failed_run(tenant)
    edit(Task.objects.get(), [calls("b"), calls("new")])

    retry(tenant, run_id)

    assert WorkflowRun.objects.get().version == 1
    assert work_on(run_id) == ["b", "c"]


def test_a_latest_version_with_a_new_step_before_what_is_retried_is_refused(tenant: Tenant):
    run_id = failed_run(tenant)
    edit(Task.objects.get(), [calls("a"), calls("new", "a"), calls("b", "new"), calls("c", "b")])

    with pytest.raises(Conflict, match="new") as refused:
        retry(tenant, run_id, latest=True)

    assert refused.value.code == "version_differs"


def test_a_step_that_the_latest_version_lost_does_not_run_again(tenant: Tenant):
    run_id = failed_run(tenant)
    edit(Task.objects.get(), [calls("a"), calls("b", "a"), calls("other")])

    retry(tenant, run_id, latest=True)

    assert work_on(run_id) == ["b"]
    assert status_of(run_id) == "SUCCEEDED"


def test_a_cancelled_run_goes_on_where_it_was(tenant: Tenant):
    run_id = begin_run(make_workflow(tenant, CHAIN))
    run_step(run_id, "a", result="of a")
    cancel_run(tenant.id, run_id, Scope(), actor=ACTOR)
    go_on(run_id)

    retry(tenant, run_id)

    assert open_keys(run_id) == ["b", "other"]
    assert payloads_of(run_id, 2) == ["of a", "of a"]


def test_a_step_that_mended_a_failure_does_not_mend_it_twice(tenant: Tenant):
    steps = [calls("a"), calls("mend", "a", condition="one_failed"), calls("b", "a")]
    run_id = failed_run(tenant, "a", steps)

    retry(tenant, run_id)

    assert work_on(run_id) == ["a", "b"]


def test_a_take_of_a_limited_workflow_waits_for_its_place(tenant: Tenant):
    task = make_workflow(tenant, [calls("a")], max_concurrent=1)
    failed = begin_limited(task)
    run_step(failed, "a", "FAILED")
    running = begin_limited(task)
    retry_run(tenant.id, failed, Retry(), actor=ACTOR)

    pass_gate()
    assert begin_due(EVERYWHERE, 10) == []

    run_step(running, "a")
    pass_gate()
    assert begin_due(EVERYWHERE, 10) == [failed]


def test_a_run_whose_day_has_left_is_not_kept(tenant: Tenant):
    gone = execution_id(new_id(), database_now() - timedelta(days=200))
    Tenant.objects.filter(pk=tenant.id).update(created_at=database_now() - timedelta(days=300))

    with pytest.raises(Conflict) as refused:
        retry_run(tenant.id, gone, Retry(), actor=ACTOR)

    assert refused.value.code == "run_not_kept"


def test_an_id_of_a_time_before_the_tenant_is_of_no_run(tenant: Tenant):
    with pytest.raises(NotFound):
        retry_run(
            tenant.id,
            execution_id(new_id(), database_now() - timedelta(days=200)),
            Retry(),
            actor=ACTOR,
        )


def test_a_failure_that_a_retry_from_a_step_keeps_does_not_fail_the_take_at_once(tenant: Tenant):
    steps = [calls("a"), calls("b"), calls("c", "b")]
    run_id = begin_run(make_workflow(tenant, steps))
    rows = claim(run_id)
    end(rows["b"])
    end(rows["a"], "FAILED")
    go_on(run_id)

    retry(tenant, run_id, key="b")

    assert work_on(run_id) == ["b", "c"]
    assert states(run_id) == {"a": "FAILED", "b": "SUCCEEDED", "c": "SUCCEEDED"}
    assert status_of(run_id) == "FAILED"


@pytest.mark.parametrize("key", ["b", "c"])
def test_a_retry_from_a_step_runs_what_was_undone_before_it(tenant: Tenant, key: str):
    undo = {"compensate": {"target": {"url": "https://api.example.com/undo"}}}
    steps = [calls("a", **undo), calls("b", "a"), calls("c", "b")]
    run_id = begin_run(make_workflow(tenant, steps, on_failure="compensate"))
    run_step(run_id, "a")
    run_step(run_id, "b")
    run_step(run_id, "c", "FAILED")
    assert work_on(run_id) == ["a"]
    assert states(run_id) == {"a": "COMPENSATED", "b": "SUCCEEDED", "c": "FAILED"}

    retry_run(tenant.id, run_id, Retry(key), actor=ACTOR)
    begin_due(EVERYWHERE, 1000)
    go_on(run_id)

    assert work_on(run_id) == (["a", "b", "c"] if key == "b" else ["a", "c"])
    assert status_of(run_id) == "SUCCEEDED"
