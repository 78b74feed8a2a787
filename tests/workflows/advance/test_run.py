"""A run applies what has happened to it, in any order, and judges what that leads to."""

from __future__ import annotations

from typing import Any
from uuid import UUID

import pytest
from django.db import connection

from executions.loop.clocks import database_now
from executions.models import DeadLetter, Execution, WorkflowRun
from shared.encryption import DecryptionFailed
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
    EVERYWHERE,
    begin_run,
    calls,
    ends_of,
    go_on,
    make_workflow,
    pass_time,
    states,
    status_of,
)
from workflows.advance import run as run_module
from workflows.control import pause_run, resume_run
from workflows.stages import fire

pytestmark = pytest.mark.django_db


@pytest.fixture
def tenant() -> Tenant:
    return make_tenant()


def let_be_over(run_id: Any, step: int) -> None:
    """Let what a step waits for be over now; step 0 is the run."""
    with connection.cursor() as cursor:
        cursor.execute(
            "UPDATE workflow_waits SET due_at = %s WHERE run_id = %s AND step = %s",
            [database_now(), run_id, step],
        )


def test_fail_fast_cancels_what_is_open_and_runs_the_steps_for_failures(tenant: Tenant):
    steps = [
        calls("a"),
        calls("b"),
        calls("after", "b"),
        calls("mend", "a", condition="one_failed"),
        calls("tell", "mend"),
    ]
    run_id = begin_run(make_workflow(tenant, steps))

    run_step(run_id, "a", "FAILED")

    assert open_keys(run_id) == ["mend"] or open_keys(run_id) == ["b", "mend"]
    work_on(run_id, lambda key, item: "CANCELLED" if key == "b" else "SUCCEEDED")
    assert states(run_id) == {
        "a": "FAILED",
        "b": "CANCELLED",
        "after": "CANCELLED",
        "mend": "SUCCEEDED",
        "tell": "SUCCEEDED",
    }
    assert status_of(run_id) == "FAILED"


def test_continue_lets_independent_branches_end(tenant: Tenant):
    steps = [calls("a"), calls("b"), calls("after", "b"), calls("never", "a")]
    run_id = begin_run(make_workflow(tenant, steps, on_failure="continue"))

    work_on(run_id, lambda key, item: "FAILED" if key == "a" else "SUCCEEDED")

    assert states(run_id) == {
        "a": "FAILED",
        "b": "SUCCEEDED",
        "after": "SUCCEEDED",
        "never": "BLOCKED",
    }
    assert status_of(run_id) == "FAILED"


def test_a_cancelled_step_makes_a_cancelled_run_without_a_letter(tenant: Tenant):
    run_id = begin_run(make_workflow(tenant, [calls("a"), calls("b", "a")]))

    run_step(run_id, "a", "CANCELLED")

    assert states(run_id) == {"a": "CANCELLED", "b": "CANCELLED"}
    assert status_of(run_id) == "CANCELLED"
    assert not DeadLetter.objects.exists()


def test_an_output_that_cannot_be_kept_fails_its_step_only_where_it_is_named(tenant: Tenant):
    steps = [
        calls("a"),
        calls("b"),
        calls("c", "a", condition="all_done", payload="{{ steps.a.output }}"),
    ]
    run_id = begin_run(make_workflow(tenant, steps, on_failure="continue"))
    rows = claim(run_id)

    for key in ("a", "b"):
        end(rows[key], result="x" * 300_000)
    go_on(run_id)

    assert why(run_id, 1) == ("FAILED", "output_too_large")
    assert why(run_id, 2)[0] == "SUCCEEDED"


def test_a_result_that_no_key_opens_fails_its_step(tenant: Tenant, monkeypatch: pytest.MonkeyPatch):
    steps = [calls("a"), calls("b", "a", payload="{{ steps.a.output }}")]
    run_id = begin_run(make_workflow(tenant, steps))

    def cut(ended: Any, tenant_id: UUID) -> Any:
        raise DecryptionFailed("The key is gone.")

    monkeypatch.setattr(run_module, "output_of", cut)
    run_step(run_id, "a", result=1)

    assert why(run_id, 1) == ("FAILED", "decryption_failed")
    assert status_of(run_id) == "FAILED"


def test_an_output_of_an_item_that_no_key_opens_fails_the_fan_out(
    tenant: Tenant, monkeypatch: pytest.MonkeyPatch
):
    steps = [
        calls("list"),
        calls("load", "list", for_each="{{ steps.list.output }}"),
        calls("sum", "load", payload="{{ steps.load.output }}"),
    ]
    run_id = begin_run(make_workflow(tenant, steps))
    other = begin_run(make_workflow(tenant, [calls("a"), calls("b", "a")]))
    run_step(run_id, "list", result=[1])
    rows, others = claim(run_id), claim(other)

    def cut(*place: Any) -> Any:
        raise DecryptionFailed("The key is gone.")

    monkeypatch.setattr("workflows.advance.scope.open_output", cut)
    end(rows["load[0]"], result=1)
    end(others["a"])
    go_on(run_id, other)

    assert open_keys(other) == ["b"]
    assert why(run_id, 2) == ("FAILED", "decryption_failed")
    assert status_of(run_id) == "FAILED"


def test_items_that_no_key_opens_fail_the_fan_out(tenant: Tenant, monkeypatch: pytest.MonkeyPatch):
    steps = [
        calls("list"),
        calls("load", "list", for_each="{{ steps.list.output }}", max_parallel=1),
    ]
    run_id = begin_run(make_workflow(tenant, steps))
    other = begin_run(make_workflow(tenant, [calls("a"), calls("b", "a")]))
    run_step(run_id, "list", result=[1, 2])
    rows, others = claim(run_id), claim(other)

    def cut(*place: Any) -> Any:
        raise DecryptionFailed("The key is gone.")

    monkeypatch.setattr("workflows.advance.reading.open_items", cut)
    end(rows["load[0]"])
    end(others["a"])
    go_on(run_id, other)

    assert open_keys(other) == ["b"]
    assert states(run_id)["load"] == "FAILED"
    assert status_of(run_id) == "FAILED"


def test_a_delay_ends_with_its_time(tenant: Tenant):
    steps = [{"key": "delay", "kind": "delay", "delay_seconds": 0}, calls("b", "delay")]
    run_id = begin_run(make_workflow(tenant, steps))
    assert open_keys(run_id) == []

    pass_time()

    assert states(run_id) == {"delay": "SUCCEEDED", "b": "OPEN"}


@pytest.mark.parametrize(
    ("step", "code"),
    [
        ({"kind": "approval", "timeout_seconds": 60}, "approval_timeout"),
        ({"kind": "wait_for_event", "event": "paid", "timeout_seconds": 60}, "event_timeout"),
        ({"kind": "approval", "deadline_seconds": 60}, "deadline_exceeded"),
        ({"kind": "delay", "delay_seconds": 900, "deadline_seconds": 60}, "deadline_exceeded"),
    ],
)
def test_what_is_not_decided_in_time_fails(tenant: Tenant, step: Any, code: str):
    run_id = begin_run(make_workflow(tenant, [{"key": "a", **step}, calls("b", "a")]))
    with connection.cursor() as cursor:
        cursor.execute(
            "UPDATE workflow_waits SET due_at = now() "
            "WHERE step = 1 AND kind <> 'delay' AND due_at IS NOT NULL"
        )

    pass_time()

    assert why(run_id, 1) == ("FAILED", code)
    assert status_of(run_id) == "FAILED"


def test_a_step_that_calls_is_taken_back_at_its_deadline_and_fails(tenant: Tenant):
    run_id = begin_run(make_workflow(tenant, [calls("a", deadline_seconds=60)]))
    let_be_over(run_id, 1)

    pass_time()

    assert why(run_id, 1) == ("FAILED", "deadline_exceeded")
    assert status_of(run_id) == "FAILED"
    assert ended_run(run_id).reason == "step_failed"


def test_a_step_that_succeeds_after_its_deadline_all_the_same_has_succeeded(tenant: Tenant):
    run_id = begin_run(make_workflow(tenant, [calls("a", deadline_seconds=60)]))
    row = claim(run_id)["a"]
    start_step(row)
    let_be_over(run_id, 1)
    pass_time()
    assert states(run_id) == {"a": "OPEN"}

    end(row)
    go_on(run_id)

    assert status_of(run_id) == "SUCCEEDED"


@pytest.mark.parametrize("policy", ["fail_fast", "continue"])
def test_a_fan_out_begins_no_item_after_its_deadline(tenant: Tenant, policy: str):
    steps = [calls("load", for_each="{{ input }}", max_parallel=2, deadline_seconds=60)]
    run_id = begin_run(make_workflow(tenant, steps, on_failure=policy), [1, 2, 3, 4, 5])
    let_be_over(run_id, 1)

    pass_time()
    go_on(run_id)

    assert open_keys(run_id) == []
    assert why(run_id, 1) == ("FAILED", "deadline_exceeded")
    assert status_of(run_id) == "FAILED"
    assert {one.item for one in ends_of(run_id)} == {-1, 0, 1}


def test_the_deadline_of_a_run_fires_once_and_fails_it(tenant: Tenant):
    run_id = begin_run(make_workflow(tenant, [calls("a"), calls("b", "a")], deadline_seconds=60))
    row = claim(run_id)["a"]
    start_step(row)
    let_be_over(run_id, 0)

    assert fire(EVERYWHERE) == [run_id]
    go_on(run_id)
    assert fire(EVERYWHERE) == []
    assert WorkflowRun.objects.get().phase == "cancelling"
    assert states(run_id) == {"a": "OPEN", "b": "CANCELLED"}

    end(row, "CANCELLED")
    go_on(run_id)
    assert status_of(run_id) == "FAILED"
    assert ended_run(run_id).reason == "deadline_exceeded"
    assert [one.status for one in Execution.objects.filter(pk=run_id)] == ["FAILED"]


def test_a_deadline_goes_on_while_a_run_is_paused(tenant: Tenant):
    run_id = begin_run(make_workflow(tenant, [calls("a")], deadline_seconds=60))
    pause_run(tenant.id, run_id, actor=ACTOR)
    let_be_over(run_id, 0)

    pass_time()

    assert status_of(run_id) == "FAILED"


def test_what_ends_during_a_pause_is_judged_when_it_is_over(tenant: Tenant):
    steps = [calls("a"), calls("b"), calls("c", "a"), calls("mend", "b", condition="one_failed")]
    run_id = begin_run(make_workflow(tenant, steps))
    rows = claim(run_id)
    pause_run(tenant.id, run_id, actor=ACTOR)

    end(rows["a"])
    end(rows["b"], "FAILED")
    go_on(run_id)
    assert open_keys(run_id) == []

    resume_run(tenant.id, run_id, actor=ACTOR)
    go_on(run_id)
    assert open_keys(run_id) == ["mend"]
    assert states(run_id)["c"] == "CANCELLED"


def test_a_run_whose_last_step_ends_during_a_pause_has_ended(tenant: Tenant):
    run_id = begin_run(make_workflow(tenant, [calls("a")]))
    row = claim(run_id)["a"]
    pause_run(tenant.id, run_id, actor=ACTOR)

    end(row)
    go_on(run_id)

    assert status_of(run_id) == "SUCCEEDED"
