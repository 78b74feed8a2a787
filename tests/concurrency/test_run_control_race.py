"""What people do to runs meets steps that run, start and end, in two sessions at once."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from threading import Barrier
from typing import Any
from uuid import UUID

import pytest
from django.db import transaction

from executions.models import EndedWorkflowRun, Execution, WorkflowRun
from shared.exceptions import Conflict
from tenants.models import Tenant
from tests.factories import ACTOR
from tests.support.child_runs import runs
from tests.support.tables_of_runs import tables_with_rows
from tests.support.workflow_steps import claim, end, start_step, work_on
from tests.support.workflows import (
    EVERYWHERE,
    begin_run,
    begin_take,
    calls,
    go_on,
    make_workflow,
    states,
    status_of,
)
from workflows.begin import begin_due
from workflows.control import pause_run, resume_run, skip_step, succeed_step
from workflows.pausing import settle_pauses_in
from workflows.retry_requests import begin_wanted, request_retry
from workflows.retrying import Retry, retry_run

Beside = Callable[[Callable[[], Any]], Any]
STEPS = [calls("a"), calls("b", "a"), calls("other")]
#: Each pair meets in another order of locks and commits.
ROUNDS = 3
CANCELLING = Retry(cancel_running=True)


def starts_of(run_id: UUID, step: int) -> int:
    return Execution.objects.filter(run_id=run_id, step=step).count()


def held(run_id: UUID) -> set[bool]:
    open_ = Execution.objects.filter(run_id=run_id, step__isnull=False, finished_at__isnull=True)
    return set(open_.values_list("held", flat=True))


def at_once(beside: Beside, *calls_: Callable[[], Any]) -> list[str]:
    """Make the calls in sessions of their own at one moment; return the codes of refusals."""
    barrier = Barrier(len(calls_), timeout=20)
    codes: list[str] = []

    def make(call: Callable[[], Any]) -> None:
        barrier.wait()
        try:
            call()
        except Conflict as refused:
            codes.append(refused.code)

    for one in [beside(partial(make, call)) for call in calls_]:
        one.join()
    return codes


def failed_run(alpha: Tenant) -> UUID:
    run_id = begin_run(make_workflow(alpha, STEPS, on_failure="continue"))
    work_on(run_id, lambda key, item: "FAILED" if key == "a" else "SUCCEEDED")
    assert status_of(run_id) == "FAILED"
    return run_id


def test_a_pause_takes_back_a_step_that_is_handed_out_in_this_moment(alpha: Tenant, beside: Beside):
    run_id = begin_run(make_workflow(alpha, STEPS))

    with transaction.atomic():
        claim(run_id)
        pausing = beside(lambda: pause_run(alpha.id, run_id, actor=ACTOR))
        assert pausing.waits_for_a_lock()
        assert WorkflowRun.objects.get(pk=run_id).phase == "paused"
    pausing.join()

    assert held(run_id) == {True}
    assert claim(run_id) == {}


@pytest.mark.parametrize("round_", range(ROUNDS))
def test_a_pause_and_an_end_at_once_start_nothing_more(alpha: Tenant, beside: Beside, round_: int):
    run_id = begin_run(make_workflow(alpha, STEPS))
    rows = claim(run_id)
    start_step(rows["a"])

    at_once(beside, lambda: end(rows["a"]), lambda: pause_run(alpha.id, run_id, actor=ACTOR))
    go_on(run_id)

    # Behind the end b may have begun before the pause: then it is taken back as well.
    assert (held(run_id), claim(run_id)) == ({True}, {})
    resume_run(alpha.id, run_id, actor=ACTOR)
    work_on(run_id)
    assert status_of(run_id) == "SUCCEEDED"
    assert [starts_of(run_id, step) for step in (1, 2, 3)] == [1, 1, 1]


@pytest.mark.parametrize("round_", range(ROUNDS))
def test_a_pause_and_a_resume_at_once_leave_the_steps_as_the_phase_says(
    alpha: Tenant, beside: Beside, round_: int
):
    run_id = begin_run(make_workflow(alpha, STEPS))
    claim(run_id)

    at_once(
        beside,
        lambda: pause_run(alpha.id, run_id, actor=ACTOR),
        lambda: resume_run(alpha.id, run_id, actor=ACTOR),
        lambda: settle_pauses_in(EVERYWHERE),
    )

    is_paused = WorkflowRun.objects.get(pk=run_id).phase == "paused"
    assert held(run_id) == {is_paused}


@pytest.mark.parametrize("round_", range(ROUNDS))
def test_a_retry_that_cancels_and_an_end_at_once_run_no_succeeded_step_again(
    alpha: Tenant, beside: Beside, round_: int
):
    run_id = begin_run(make_workflow(alpha, STEPS))
    rows = claim(run_id)
    for row in rows.values():
        start_step(row)

    at_once(
        beside,
        lambda: end(rows["a"]),
        lambda: request_retry(alpha.id, run_id, CANCELLING, actor=ACTOR),
    )
    end(rows["other"], "CANCELLED")
    go_on(run_id)
    begin_wanted([run_id])
    begin_take(run_id)

    assert WorkflowRun.objects.get(pk=run_id).take == 2
    work_on(run_id)
    assert set(states(run_id).values()) == {"SUCCEEDED"}
    assert (starts_of(run_id, 1), starts_of(run_id, 3)) == (1, 2)


def test_what_has_not_started_is_cancelled_and_the_take_is_there_when_the_call_answers(
    alpha: Tenant,
):
    run_id = begin_run(make_workflow(alpha, STEPS))
    claim(run_id)

    assert request_retry(alpha.id, run_id, CANCELLING, actor=ACTOR) == 2

    assert WorkflowRun.objects.get(pk=run_id).take == 2
    begin_take(run_id)
    work_on(run_id)
    assert status_of(run_id) == "SUCCEEDED"


@pytest.mark.parametrize("round_", range(ROUNDS))
def test_two_retries_that_cancel_make_no_take_twice(alpha: Tenant, beside: Beside, round_: int):
    run_id = begin_run(make_workflow(alpha, STEPS))
    row = claim(run_id)["a"]
    start_step(row)

    codes = at_once(
        beside,
        *[lambda: request_retry(alpha.id, run_id, CANCELLING, actor=ACTOR) for _ in range(2)],
    )
    end(row, "CANCELLED")
    go_on(run_id)
    at_once(beside, lambda: begin_wanted([run_id]), lambda: begin_wanted([run_id]))

    assert codes == []
    assert WorkflowRun.objects.get(pk=run_id).take == 2
    assert EndedWorkflowRun.objects.filter(pk=run_id).count() == 1
    assert Execution.objects.filter(run_id=run_id, step__isnull=True).count() == 1
    assert "workflow_retries" not in tables_with_rows()


@pytest.mark.parametrize("round_", range(ROUNDS))
def test_a_mark_and_a_retry_at_once_make_one_take(alpha: Tenant, beside: Beside, round_: int):
    run_id = failed_run(alpha)

    codes = at_once(
        beside,
        lambda: succeed_step(alpha.id, run_id, "a", None, actor=ACTOR),
        lambda: retry_run(alpha.id, run_id, Retry(), actor=ACTOR),
    )

    # Of an open take, a step that waits to begin may be marked.
    assert codes in (["still_running"], ["not_begun"], [])
    assert WorkflowRun.objects.get(pk=run_id).take == 2
    assert Execution.objects.filter(run_id=run_id, step__isnull=True).count() == 1


@pytest.mark.parametrize("round_", range(ROUNDS))
def test_two_marks_of_one_step_at_once_make_one_take(alpha: Tenant, beside: Beside, round_: int):
    run_id = failed_run(alpha)

    codes = at_once(
        beside,
        lambda: succeed_step(alpha.id, run_id, "a", None, actor=ACTOR),
        lambda: skip_step(alpha.id, run_id, "a", actor=ACTOR),
    )
    begin_take(run_id)
    work_on(run_id)

    assert len(codes) == 1
    assert status_of(run_id) == "SUCCEEDED"
    assert EndedWorkflowRun.objects.filter(pk=run_id).count() == 2


@pytest.mark.parametrize("round_", range(ROUNDS))
def test_a_mark_and_the_end_of_its_run_at_once_lose_neither(
    alpha: Tenant, beside: Beside, round_: int
):
    run_id = begin_run(make_workflow(alpha, STEPS, on_failure="continue"))
    rows = claim(run_id)
    end(rows["a"], "FAILED")
    go_on(run_id)

    codes = at_once(
        beside,
        lambda: end(rows["other"]),
        lambda: succeed_step(alpha.id, run_id, "a", None, actor=ACTOR),
    )
    go_on(run_id)

    if codes:
        assert codes[0] in ("step_ended", "already_final", "still_running")
        assert status_of(run_id) == "FAILED"
        succeed_step(alpha.id, run_id, "a", None, actor=ACTOR)
    begin_take(run_id)
    assert work_on(run_id) == ["b"]
    assert status_of(run_id) == "SUCCEEDED"


def asked(alpha: Tenant) -> UUID:
    """Return a run whose step has asked for another run."""
    child = make_workflow(alpha, [calls("a")], name="Child")
    return begin_run(make_workflow(alpha, [runs("inner", child)]))


def test_a_pause_waits_for_a_child_that_begins_in_this_moment(alpha: Tenant, beside: Beside):
    run_id = asked(alpha)

    with transaction.atomic():
        begun = begin_due(EVERYWHERE, 10)
        pausing = beside(lambda: pause_run(alpha.id, run_id, actor=ACTOR))
        assert pausing.waits_for_a_lock()
    pausing.join()

    assert len(begun) == 1
    assert held(run_id) == {False}
    go_on(*begun)
    assert work_on(begun[0]) == ["a"]


@pytest.mark.parametrize("round_", range(ROUNDS))
def test_a_pause_and_the_begin_of_a_child_at_once_begin_it_once(
    alpha: Tenant, beside: Beside, round_: int
):
    run_id = asked(alpha)

    at_once(
        beside,
        lambda: pause_run(alpha.id, run_id, actor=ACTOR),
        lambda: begin_due(EVERYWHERE, 10),
    )

    child = Execution.objects.get(run_id=run_id, step=1)
    assert (child.status, child.held) in {("RUNNING", False), ("PENDING", True)}
    if child.status == "PENDING":
        assert begin_due(EVERYWHERE, 10) == []
    resume_run(alpha.id, run_id, actor=ACTOR)
    begin_due(EVERYWHERE, 10)
    go_on(child.id)
    work_on(child.id)
    go_on(run_id)
    assert (status_of(run_id), starts_of(run_id, 1)) == ("SUCCEEDED", 1)
