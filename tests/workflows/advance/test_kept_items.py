"""A retry keeps the items of a fan-out that have succeeded, where its list is the same."""

from __future__ import annotations

from typing import Any
from uuid import UUID

import pytest

from executions.changes import changing
from executions.models import Execution, WorkflowRun
from executions.triggering.triggers import Override
from insight import workflow_runs
from insight.run_items import item_counts_of, items_of
from insight.workflow_runs import SeenRun
from tasks.limits import current_limits
from tasks.validation.workflow import parse_workflow_patch
from tenants.models import Tenant
from tests.factories import ACTOR, make_tenant
from tests.support.workflow_steps import claim, end, open_keys, work_on
from tests.support.workflows import (
    EVERYWHERE,
    begin_run,
    calls,
    go_on,
    make_workflow,
    payloads_of,
    states,
    status_of,
)
from workflows.begin import begin_due
from workflows.control import Scope, cancel_run, succeed_step
from workflows.retrying import Retry, retry_run

pytestmark = pytest.mark.django_db

LOAD = calls("load", for_each="{{ input }}", payload="{{ item }}")
SUM = calls("sum", "load", payload="{{ steps.load.output }}")
STEPS = [LOAD, SUM]


@pytest.fixture
def tenant() -> Tenant:
    return make_tenant()


def failed(tenant: Tenant, *wrong: int, steps: Any = STEPS, of: int = 3, **parts: Any) -> UUID:
    """Return a run whose fan-out ``load`` has failed at these items."""
    run_id = begin_run(make_workflow(tenant, steps, **parts), list(range(of)))
    work_on(run_id, fails_at(*wrong))
    assert states(run_id)["load"] == "FAILED"
    return run_id


def fails_at(*wrong: int, said: str = "first") -> Any:
    def answer(key: str, item: int) -> Any:
        return "FAILED" if key == "load" and item in wrong else ("SUCCEEDED", f"{said} {item}")

    return answer


def retry(tenant: Tenant, run_id: UUID, **parts: Any) -> None:
    retry_run(tenant.id, run_id, Retry(**parts), actor=ACTOR)
    begin_due(EVERYWHERE, 1000)
    go_on(run_id)


def edit(tenant: Tenant, run_id: UUID, steps: Any) -> None:
    def change(current: Any, now: Any) -> Any:
        limits = current_limits()
        return parse_workflow_patch({"steps": steps}, now=now, limits=limits, current=current)

    task_id = Execution.objects.get(pk=run_id).task_id
    changing.edit_task(tenant.id, task_id, change, actor=ACTOR)


def seen(tenant: Tenant, run_id: UUID) -> SeenRun:
    [found] = workflow_runs.see([workflow_runs.find_take(tenant.id, run_id)])
    return found


def test_a_retry_runs_only_the_items_that_have_not_succeeded(tenant: Tenant):
    run_id = failed(tenant, 1)

    retry(tenant, run_id)
    assert open_keys(run_id) == ["load[1]"]
    done = work_on(run_id, fails_at(said="again"))

    assert done == ["load[1]", "sum"]
    assert status_of(run_id) == "SUCCEEDED"
    outputs = ["first 0", "again 1", "first 2"]
    counts = {"succeeded": 3, "failed": 0, "skipped": 0}
    assert payloads_of(run_id, 2) == [{**counts, "outputs": outputs}]


def test_what_is_kept_stays_kept_in_later_takes(tenant: Tenant):
    run_id = failed(tenant, 1, 2)

    retry(tenant, run_id)
    work_on(run_id, fails_at(2, said="second"))
    retry(tenant, run_id)
    done = work_on(run_id, fails_at(said="third"))

    assert done == ["load[2]", "sum"]
    assert payloads_of(run_id, 2)[0]["outputs"] == ["first 0", "second 1", "third 2"]


def test_kept_items_take_no_place_in_the_window(tenant: Tenant):
    narrow = [{**LOAD, "max_parallel": 1}]
    run_id = failed(tenant, 1, 3, steps=narrow, of=5, on_failure="continue")

    retry(tenant, run_id)

    assert open_keys(run_id) == ["load[1]"]
    assert work_on(run_id) == ["load[1]", "load[3]"]
    assert status_of(run_id) == "SUCCEEDED"


def test_items_of_a_cancelled_run_are_kept(tenant: Tenant):
    run_id = begin_run(make_workflow(tenant, STEPS), [0, 1, 2])
    end(claim(run_id)["load[0]"], result="first 0")
    go_on(run_id)
    cancel_run(tenant.id, run_id, Scope(), actor=ACTOR)
    go_on(run_id)

    retry(tenant, run_id)

    assert open_keys(run_id) == ["load[1]", "load[2]"]


def test_a_mark_of_another_step_keeps_items(tenant: Tenant):
    steps = [calls("a"), LOAD, calls("b", "a", "load")]
    run_id = begin_run(make_workflow(tenant, steps), [0, 1])
    rows = claim(run_id)
    end(rows["load[0]"])
    end(rows["a"], "FAILED")
    go_on(run_id)
    assert states(run_id) == {"a": "FAILED", "load": "CANCELLED", "b": "BLOCKED"}

    succeed_step(tenant.id, run_id, "a", None, actor=ACTOR)
    begin_due(EVERYWHERE, 1000)
    go_on(run_id)

    assert open_keys(run_id) == ["load[1]"]


def test_the_step_that_a_retry_begins_from_runs_as_a_whole(tenant: Tenant):
    run_id = failed(tenant, 1)

    retry(tenant, run_id, key="load")

    assert open_keys(run_id) == ["load[0]", "load[1]", "load[2]"]


def test_another_input_keeps_nothing(tenant: Tenant):
    run_id = failed(tenant, 1)

    retry(tenant, run_id, override=Override([7, 8]))

    assert open_keys(run_id) == ["load[0]", "load[1]"]


def test_a_list_that_is_made_anew_keeps_nothing(tenant: Tenant):
    load = calls("load", "list", for_each="{{ input }}", condition="all_done")
    run_id = begin_run(make_workflow(tenant, [calls("list"), load], on_failure="continue"), [0, 1])
    work_on(run_id, lambda key, item: "FAILED" if key == "list" or item == 1 else "SUCCEEDED")

    retry(tenant, run_id)
    work_on(run_id, lambda key, item: "SUCCEEDED")

    assert Execution.objects.filter(run_id=run_id, step=2, item=0).count() == 2


def test_the_latest_version_keeps_items_of_the_same_list(tenant: Tenant):
    run_id = failed(tenant, 1)
    mended = {**LOAD, "target": {"url": "https://api.example.com/mended"}}
    edit(tenant, run_id, [mended, SUM])

    retry(tenant, run_id, latest=True)

    assert open_keys(run_id) == ["load[1]"]


def test_the_latest_version_with_another_list_keeps_nothing(tenant: Tenant):
    run_id = failed(tenant, 1)
    edit(tenant, run_id, [{**LOAD, "for_each": [5, 6]}, SUM])

    retry(tenant, run_id, latest=True)

    assert open_keys(run_id) == ["load[0]", "load[1]"]


def test_a_fan_out_that_ends_as_it_begins_has_the_outputs_of_what_was_kept(tenant: Tenant):
    run_id = failed(tenant, 1)
    edit(tenant, run_id, [{**LOAD, "when": "item != 1"}, SUM])

    retry(tenant, run_id, latest=True)

    assert open_keys(run_id) == ["sum"]
    counts = {"succeeded": 2, "failed": 0, "skipped": 1}
    assert payloads_of(run_id, 2) == [{**counts, "outputs": ["first 0", None, "first 2"]}]


def cancelled_before_it_begins(tenant: Tenant, run_id: UUID) -> None:
    """Begin the next take of a run, and cancel it before its first advance."""
    retry_run(tenant.id, run_id, Retry(), actor=ACTOR)
    cancel_run(tenant.id, run_id, Scope(), actor=ACTOR)
    go_on(run_id)
    assert status_of(run_id) == "CANCELLED"


def test_a_take_that_was_cancelled_before_it_began_loses_nothing(tenant: Tenant):
    run_id = failed(tenant, 1)
    cancelled_before_it_begins(tenant, run_id)

    retry(tenant, run_id)

    assert open_keys(run_id) == ["load[1]"]
    work_on(run_id, fails_at(said="again"))
    assert payloads_of(run_id, 2)[0]["outputs"] == ["first 0", "again 1", "first 2"]


def test_behind_such_a_take_another_input_keeps_nothing(tenant: Tenant):
    run_id = failed(tenant, 1)
    cancelled_before_it_begins(tenant, run_id)

    retry(tenant, run_id, override=Override([7, 8]))

    assert open_keys(run_id) == ["load[0]", "load[1]"]


def test_what_ends_before_it_begins_again_keeps_its_items_for_a_later_take(tenant: Tenant):
    other = calls("other", payload="{{ input }}")
    run_id = begin_run(make_workflow(tenant, [LOAD, other, SUM]), [0, 1])
    rows = claim(run_id)
    end(rows["load[0]"], result="first 0")
    end(rows["load[1]"], "FAILED")
    go_on(run_id)
    assert status_of(run_id) == "FAILED"
    retry_run(tenant.id, run_id, Retry(), actor=ACTOR)
    begin_due(EVERYWHERE, 1000)
    cancel_run(tenant.id, run_id, Scope(), actor=ACTOR)
    go_on(run_id)
    assert states(run_id)["load"] == "CANCELLED"

    retry(tenant, run_id)

    assert "load[0]" not in open_keys(run_id)
    assert "load[1]" in open_keys(run_id)


def test_items_whose_outputs_were_not_kept_run_again_where_they_are_named_now(tenant: Tenant):
    run_id = failed(tenant, 1, steps=[LOAD])
    edit(tenant, run_id, STEPS)

    retry(tenant, run_id, latest=True)

    assert open_keys(run_id) == ["load[0]", "load[1]", "load[2]"]


def test_a_kept_item_is_shown_as_it_ran(tenant: Tenant):
    run_id = failed(tenant, 1)
    first = {row.item: row.pk for row in Execution.objects.filter(run_id=run_id, step=1)}
    retry(tenant, run_id)

    run = seen(tenant, run_id)
    ended, under_way = items_of(run, 1, [0, 1, 2])

    assert {item: (row.reason, row.execution_id) for item, row in ended.items()} == {
        0: ("kept", first[0]),
        2: ("kept", first[2]),
    }
    assert [row.take for row in ended.values()] == [1, 1]
    assert all(row.sealed_output for row in ended.values())
    assert list(under_way) == [1]
    assert item_counts_of(run)[1] == {"SUCCEEDED": 2, "QUEUED": 1}


def test_before_it_begins_again_a_fan_out_shows_no_items(tenant: Tenant):
    run_id = failed(tenant, 1)
    retry_run(tenant.id, run_id, Retry(), actor=ACTOR)

    assert WorkflowRun.objects.get(pk=run_id).takes[1] == 1
    assert seen(tenant, run_id).take_of(1) == 0
    assert item_counts_of(seen(tenant, run_id)) == {}
