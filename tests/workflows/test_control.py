"""What people do to a run takes effect before the call answers, and is audited."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any
from uuid import UUID

import pytest

from events.models import AuditEntry
from executions.models import Execution, WorkflowRun
from executions.triggering.triggers import run_task
from shared.exceptions import Conflict, NotFound
from shared.ids import new_id
from tenants.models import Tenant
from tests.factories import ACTOR, make_tenant
from tests.support.workflow_steps import (
    claim,
    end,
    ended_run,
    open_keys,
    run_step,
    start_step,
    why,
    work_on,
)
from tests.support.workflows import (
    begin_run,
    calls,
    ends_of,
    go_on,
    make_workflow,
    payloads_of,
    states,
    status_of,
)
from workflows.control import (
    Scope,
    approve_step,
    cancel_run,
    pause_run,
    resume_run,
    skip_step,
    succeed_step,
)

pytestmark = pytest.mark.django_db
CHAIN = [calls("a"), calls("b", "a"), calls("c", "b"), calls("other")]


@pytest.fixture
def tenant() -> Tenant:
    return make_tenant()


def approve(tenant: Tenant, run_id: UUID, key: str = "ask", **parts: Any) -> None:
    wanted: dict[str, Any] = {"approved": True, "take": 1, "note": "", **parts}
    approve_step(tenant.id, run_id, key, actor=ACTOR, **wanted)


def asking() -> list[dict[str, Any]]:
    return [
        calls("a"),
        {"key": "ask", "kind": "approval", "depends_on": ["a"]},
        calls("b", "ask", payload="{{ steps.ask.output }}"),
    ]


def test_a_cancelled_run_has_nothing_open_when_the_call_answers(
    tenant: Tenant, django_capture_on_commit_callbacks: Any
):
    run_id = begin_run(make_workflow(tenant, CHAIN))
    claim(run_id)

    with django_capture_on_commit_callbacks(execute=True):
        cancel_run(tenant.id, run_id, Scope(), actor=ACTOR)

    assert open_keys(run_id) == []
    go_on(run_id)
    assert status_of(run_id) == "CANCELLED"
    assert set(states(run_id).values()) == {"CANCELLED"}
    assert ended_run(run_id).reason == "cancelled"


def test_what_runs_is_asked_to_end_and_the_run_waits_for_it(tenant: Tenant):
    run_id = begin_run(make_workflow(tenant, CHAIN))
    row = claim(run_id)["a"]
    start_step(row)

    cancel_run(tenant.id, run_id, Scope(), actor=ACTOR)
    go_on(run_id)

    assert open_keys(run_id) == ["a"]
    assert Execution.objects.get(pk=row.id).cancel_requested_at is not None
    assert status_of(run_id) == "RUNNING"
    end(row, "CANCELLED")
    go_on(run_id)
    assert status_of(run_id) == "CANCELLED"


def test_a_step_that_succeeds_all_the_same_begins_nothing_more(tenant: Tenant):
    run_id = begin_run(make_workflow(tenant, CHAIN))
    row = claim(run_id)["a"]
    start_step(row)
    cancel_run(tenant.id, run_id, Scope(), actor=ACTOR)

    end(row)
    go_on(run_id)

    assert states(run_id)["a"] == "SUCCEEDED"
    assert status_of(run_id) == "CANCELLED"
    assert len(ends_of(run_id)) == 4


def test_a_cancel_of_what_has_not_started_lets_the_open_steps_end(tenant: Tenant):
    run_id = begin_run(make_workflow(tenant, CHAIN))

    cancel_run(tenant.id, run_id, Scope("not_started"), actor=ACTOR)

    assert states(run_id) == {"a": "OPEN", "b": "CANCELLED", "c": "CANCELLED", "other": "OPEN"}
    work_on(run_id)
    assert status_of(run_id) == "CANCELLED"


def test_a_cancel_downstream_of_a_step_leaves_the_other_branches(tenant: Tenant):
    run_id = begin_run(make_workflow(tenant, CHAIN))
    run_step(run_id, "a")

    # As if the process had died before it took back what is open.
    cancel_run(tenant.id, run_id, Scope("downstream", "b"), actor=ACTOR)
    go_on(run_id)

    assert states(run_id) == {
        "a": "SUCCEEDED",
        "b": "CANCELLED",
        "c": "CANCELLED",
        "other": "OPEN",
    }


def test_a_cancelled_fan_out_begins_no_other_item(tenant: Tenant):
    steps = [calls("load", for_each="{{ input }}", max_parallel=2), calls("sum", "load")]
    run_id = begin_run(make_workflow(tenant, steps), [1, 2, 3, 4])
    row = claim(run_id)["load[0]"]
    start_step(row)

    cancel_run(tenant.id, run_id, Scope(), actor=ACTOR)
    go_on(run_id)
    assert open_keys(run_id) == ["load[0]"]
    end(row)
    go_on(run_id)

    assert status_of(run_id) == "CANCELLED"
    assert {(one.item, one.status) for one in ends_of(run_id) if one.step == 1} == {
        (-1, "CANCELLED"),
        (0, "SUCCEEDED"),
        (1, "CANCELLED"),
    }


def test_a_run_that_has_not_begun_is_cancelled_like_any_execution(tenant: Tenant):
    task = make_workflow(tenant, CHAIN)
    run_id = run_task(tenant.id, task.id, None, actor=ACTOR).id

    cancel_run(tenant.id, run_id, Scope(), actor=ACTOR)

    assert Execution.objects.get(pk=run_id).status == "CANCELLED"
    assert not WorkflowRun.objects.exists()


@pytest.mark.parametrize(
    "call",
    [
        lambda tenant, run_id: cancel_run(tenant.id, run_id, Scope(), actor=ACTOR),
        lambda tenant, run_id: pause_run(tenant.id, run_id, actor=ACTOR),
        lambda tenant, run_id: resume_run(tenant.id, run_id, actor=ACTOR),
        lambda tenant, run_id: skip_step(tenant.id, run_id, "a", actor=ACTOR),
        lambda tenant, run_id: succeed_step(tenant.id, run_id, "a", 1, actor=ACTOR),
        lambda tenant, run_id: approve(tenant, run_id, "a"),
    ],
)
def test_an_ended_run_an_unknown_one_and_one_of_others_are_refused(
    tenant: Tenant, call: Callable[[Tenant, UUID], None]
):
    run_id = begin_run(make_workflow(tenant, [calls("a")]))
    with pytest.raises(NotFound):
        call(make_tenant("Other"), run_id)
    with pytest.raises(NotFound):
        call(tenant, new_id())
    run_step(run_id, "a")

    with pytest.raises(Conflict) as refused:
        call(tenant, run_id)

    assert refused.value.code in ("already_final", "step_ended")
    assert not AuditEntry.objects.filter(action__startswith="run.").exists()


def test_a_paused_run_begins_nothing_until_it_is_resumed(tenant: Tenant):
    run_id = begin_run(make_workflow(tenant, CHAIN))
    pause_run(tenant.id, run_id, actor=ACTOR)

    assert work_on(run_id) == ["a", "other"]

    assert states(run_id)["b"] == "PENDING"
    resume_run(tenant.id, run_id, actor=ACTOR)
    assert work_on(run_id) == ["b", "c"]
    assert status_of(run_id) == "SUCCEEDED"


def test_a_resume_of_a_run_that_is_not_paused_changes_nothing(tenant: Tenant):
    run_id = begin_run(make_workflow(tenant, CHAIN))

    resume_run(tenant.id, run_id, actor=ACTOR)

    assert open_keys(run_id) == ["a", "other"]


def test_a_run_that_is_being_cancelled_cannot_be_paused(tenant: Tenant):
    run_id = begin_run(make_workflow(tenant, CHAIN))
    start_step(claim(run_id)["a"])
    cancel_run(tenant.id, run_id, Scope(), actor=ACTOR)

    with pytest.raises(Conflict):
        pause_run(tenant.id, run_id, actor=ACTOR)


def test_a_step_that_waits_can_be_skipped_and_its_dependents_are_judged(tenant: Tenant):
    steps = [calls("a"), calls("b", "a"), calls("c", "b", condition="none_failed")]
    run_id = begin_run(make_workflow(tenant, steps))

    skip_step(tenant.id, run_id, "b", actor=ACTOR)
    run_step(run_id, "a")

    assert why(run_id, 2) == ("SKIPPED", "skipped")
    assert [one.actor for one in ends_of(run_id)] == [ACTOR.name, ""]
    assert open_keys(run_id) == ["c"] or states(run_id)["c"] == "SUCCEEDED"


def test_a_step_that_waits_can_be_marked_succeeded_with_an_output(tenant: Tenant):
    run_id = begin_run(
        make_workflow(
            tenant, [calls("a"), calls("b", "a"), calls("c", "b", payload="{{ steps.b.output.n }}")]
        )
    )

    succeed_step(tenant.id, run_id, "b", {"n": 3}, actor=ACTOR)

    assert payloads_of(run_id, 3) == [3]
    assert why(run_id, 2) == ("SUCCEEDED", "marked_succeeded")


def test_an_output_that_cannot_be_kept_is_refused(tenant: Tenant):
    run_id = begin_run(make_workflow(tenant, CHAIN))

    with pytest.raises(Conflict) as refused:
        succeed_step(tenant.id, run_id, "b", "\0", actor=ACTOR)

    assert refused.value.code == "output_invalid"


def test_a_step_that_calls_or_has_ended_is_not_decided_about(tenant: Tenant):
    run_id = begin_run(make_workflow(tenant, CHAIN))
    with pytest.raises(Conflict) as refused:
        skip_step(tenant.id, run_id, "a", actor=ACTOR)
    assert refused.value.code == "still_running"

    run_step(run_id, "a")
    with pytest.raises(Conflict) as refused:
        succeed_step(tenant.id, run_id, "a", None, actor=ACTOR)
    assert refused.value.code == "step_ended"
    with pytest.raises(NotFound):
        skip_step(tenant.id, run_id, "nothing", actor=ACTOR)


def test_an_approval_lets_its_dependents_begin_with_who_and_why(tenant: Tenant):
    run_id = begin_run(make_workflow(tenant, asking()))
    run_step(run_id, "a")

    approve(tenant, run_id, note="Looks right.")

    assert payloads_of(run_id, 3) == [{"approved_by": ACTOR.name, "note": "Looks right."}]
    one = next(one for one in ends_of(run_id) if one.step == 2)
    assert (one.actor, one.note, one.reason) == (ACTOR.name, "Looks right.", "approved")


def test_a_refused_approval_fails_its_step(tenant: Tenant):
    run_id = begin_run(make_workflow(tenant, asking()))
    run_step(run_id, "a")

    approve(tenant, run_id, approved=False, note="Not today.")

    assert why(run_id, 2) == ("FAILED", "approval_rejected")
    assert status_of(run_id) == "FAILED"
    assert Execution.objects.get(pk=run_id).error_message == "Not today."


@pytest.mark.parametrize(("key", "take"), [("ask", 2), ("ask", 0), ("a", 1)])
def test_an_approval_names_a_step_that_waits_and_its_take(tenant: Tenant, key: str, take: int):
    run_id = begin_run(make_workflow(tenant, asking()))
    run_step(run_id, "a")

    with pytest.raises(Conflict):
        approve(tenant, run_id, key, take=take)


def test_an_approval_is_decided_once_and_not_before_it_is_asked(tenant: Tenant):
    run_id = begin_run(make_workflow(tenant, asking()))
    with pytest.raises(Conflict):
        approve(tenant, run_id)
    run_step(run_id, "a")
    approve(tenant, run_id)

    with pytest.raises(Conflict):
        approve(tenant, run_id, approved=False)

    assert open_keys(run_id) == ["b"]


def test_each_call_is_audited_with_what_it_did(tenant: Tenant):
    run_id = begin_run(make_workflow(tenant, asking()))
    pause_run(tenant.id, run_id, actor=ACTOR)
    resume_run(tenant.id, run_id, actor=ACTOR)
    skip_step(tenant.id, run_id, "b", actor=ACTOR)
    run_step(run_id, "a")
    approve(tenant, run_id)

    found = AuditEntry.objects.filter(object_id=run_id).order_by("id")

    assert [entry.action for entry in found] == [
        "run.paused",
        "run.resumed",
        "run.step_skipped",
        "run.step_decided",
    ]
