"""Runs of workflows whose steps end, are cancelled and are retried in two sessions at once."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Callable
from threading import Barrier
from typing import Any
from uuid import UUID

import pytest
from django.db import transaction

from executions.models import DeadLetter, EndedWorkflowRun, Execution, WorkflowRun
from executions.triggering.triggers import run_task
from shared.exceptions import Conflict
from tenants.models import Tenant
from tests.factories import ACTOR
from tests.support.workflow_steps import claim, claim_all, end, ended_run, open_keys
from tests.support.workflows import (
    EVERYWHERE,
    begin_run,
    calls,
    ends_of,
    go_on,
    make_workflow,
    states,
    status_of,
)
from workflows.advance.stage import advance
from workflows.begin import begin_due
from workflows.control import Scope, cancel_run, pause_run
from workflows.retrying import Retry, retry_run
from workflows.stages import advance_told
from workflows.taking_back import take_back

Beside = Callable[[Callable[[], Any]], Any]
JOIN = [calls("a"), calls("b"), calls("join", "a", "b")]
#: Each pair meets in another order of locks and commits.
ROUNDS = 3
#: ``python -m bench.workflows joins`` asks for more.
JOIN_ROUNDS, AT_ONCE = int(os.environ.get("WORKFLOW_ROUNDS", "500")), 250


def sizes(count: int, most: int) -> list[Any]:
    """Split a number of rounds into parts; all but the first are of the long tests."""
    return [
        pytest.param(min(most, count - begin), marks=pytest.mark.slow if begin else ())
        for begin in range(0, count, most)
    ]


def join_of(number: int) -> list[dict[str, Any]]:
    """Return two parents and their join."""
    parents = [f"a{number}", f"b{number}"]
    return [*map(calls, parents), calls(f"join{number}", *parents)]


def starts_of(run_id: UUID, step: int) -> int:
    return Execution.objects.filter(run_id=run_id, step=step).count()


@pytest.mark.parametrize("size", sizes(JOIN_ROUNDS, AT_ONCE))
def test_two_parents_that_end_in_two_transactions_start_their_join_once(
    alpha: Tenant, beside: Beside, size: int
):
    # A round is a join: all of them are of one run, since making a run takes longer than a round.
    steps = [step for number in range(size) for step in join_of(number)]
    run_id = begin_run(make_workflow(alpha, steps))
    rows = claim_all(run_id)
    barrier = Barrier(2, timeout=60)

    def end_each(parent: str) -> None:
        for number in range(size):
            barrier.wait()
            # The rows of their minute let one commit after the other; the advances race.
            with transaction.atomic():
                end(rows[f"{parent}{number}"])

    pair = [beside(lambda: end_each("a")), beside(lambda: end_each("b"))]
    for one in pair:
        one.join(patience=600)

    found = Counter(states(run_id).values())
    assert found == {"SUCCEEDED": 2 * size, "OPEN": size}
    begun = Execution.objects.filter(run_id=run_id).exclude(step=None).values_list("step")
    assert max(Counter(begun).values()) == 1
    assert len(begun) == 3 * size


def test_an_advance_that_waits_for_another_sees_what_that_has_written(
    alpha: Tenant, beside: Beside
):
    run_id = begin_run(make_workflow(alpha, JOIN))
    rows = claim(run_id)

    with transaction.atomic():
        end(rows["a"])
        advance([run_id])
        # It ends its step and waits for the run.
        other = beside(lambda: end(rows["b"]))
        assert other.waits_for_a_lock()
    other.join()

    assert states(run_id) == {"a": "SUCCEEDED", "b": "SUCCEEDED", "join": "OPEN"}
    assert starts_of(run_id, 3) == 1


def test_an_end_waits_for_no_run(alpha: Tenant, beside: Beside):
    run_id = begin_run(make_workflow(alpha, JOIN))
    rows = claim(run_id)

    with transaction.atomic():
        advance([run_id])

        def record() -> None:
            with transaction.atomic():
                end(rows["a"])
                end(rows["b"])
                transaction.set_rollback(True)

        beside(record).join()

    assert states(run_id)["join"] == "PENDING"


def test_a_cancel_and_an_end_at_once_start_nothing_more(alpha: Tenant, beside: Beside):
    run_id = begin_run(make_workflow(alpha, JOIN))
    rows = claim(run_id)

    with transaction.atomic():
        end(rows["a"])
        end(rows["b"])
        # The cancel commits its phase, and waits for the open rows only to take them back.
        cancelling = beside(lambda: cancel_run(alpha.id, run_id, Scope(), actor=ACTOR))
        assert cancelling.waits_for_a_lock()
        assert WorkflowRun.objects.get(pk=run_id).phase == "cancelling"
    cancelling.join()

    assert starts_of(run_id, 3) == 0
    assert status_of(run_id) == "CANCELLED"
    assert states(run_id)["join"] == "CANCELLED"


@pytest.mark.parametrize("round_", range(ROUNDS))
@pytest.mark.parametrize("verb", ["cancel", "pause", "take back"])
def test_an_end_meets_another_verb_without_a_deadlock(
    alpha: Tenant, beside: Beside, verb: str, round_: int
):
    run_id = begin_run(make_workflow(alpha, JOIN, on_failure="continue"))
    rows = claim(run_id)
    barrier = Barrier(2, timeout=20)

    def end_both() -> None:
        barrier.wait()
        with transaction.atomic():
            # In the order of their ids, as the recorder does.
            for row in sorted(rows.values()):
                end(row)

    def do() -> None:
        barrier.wait()
        try:
            if verb == "cancel":
                cancel_run(alpha.id, run_id, Scope(), actor=ACTOR)
            elif verb == "pause":
                pause_run(alpha.id, run_id, actor=ACTOR)
            else:
                take_back({run_id: {2}})
        except Conflict:
            pass

    pair = [beside(end_both), beside(do)]
    for one in pair:
        one.join()
    go_on(run_id)

    assert starts_of(run_id, 3) <= 1
    if verb == "cancel":
        assert open_keys(run_id) == []
        assert status_of(run_id) == "CANCELLED"
    if verb == "pause":
        assert WorkflowRun.objects.get(pk=run_id).phase == "paused"


def test_two_retries_at_once_make_one_take(alpha: Tenant, beside: Beside):
    run_id = begin_run(make_workflow(alpha, JOIN))
    for row in claim(run_id).values():
        end(row, "FAILED")
    go_on(run_id)

    with transaction.atomic():
        retry_run(alpha.id, run_id, Retry(), actor=ACTOR)
        second = beside(lambda: retry_run(alpha.id, run_id, Retry(), actor=ACTOR))
        assert second.waits_for_a_lock()
    with pytest.raises(Conflict) as refused:
        second.join()

    assert refused.value.code == "still_running"
    assert Execution.objects.filter(run_id=run_id, step__isnull=True).count() == 1
    assert EndedWorkflowRun.objects.filter(pk=run_id).count() == 1


def test_two_schedulers_begin_a_run_once(alpha: Tenant, beside: Beside):
    task = make_workflow(alpha, JOIN)
    run_id = run_task(alpha.id, task.id, None, actor=ACTOR).id

    with transaction.atomic():
        assert begin_due(EVERYWHERE, 10) == [run_id]
        assert beside(lambda: begin_due(EVERYWHERE, 10)).join() == []
    go_on(run_id)

    assert open_keys(run_id) == ["a", "b"]


def test_two_advances_that_end_a_run_end_it_once(alpha: Tenant, beside: Beside):
    run_id = begin_run(make_workflow(alpha, JOIN))
    rows = claim(run_id)

    with transaction.atomic():
        for key in ("a", "b"):
            end(rows[key], "FAILED")
        advance([run_id])
        other = beside(lambda: advance_told([run_id]))
        assert other.waits_for_a_lock()
    other.join()

    assert status_of(run_id) == "FAILED"
    assert DeadLetter.objects.count() == 1
    assert ended_run(run_id).take == 1
    assert [one.place for one in ends_of(run_id)] == [1, 2, 3]
