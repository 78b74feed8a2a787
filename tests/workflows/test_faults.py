"""Faults that other engines of workflows had: each is a test. The numbers are the design's."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any
from uuid import UUID

import pytest
from django.db import IntegrityError, connection

from executions.models import DeadLetter, Execution, WorkflowRun
from executions.transitions import skip
from shared.exceptions import Conflict
from shared.sql import Asked
from shared.sql_arrays import of_texts
from tenants.models import Tenant
from tests.factories import ACTOR, make_tenant
from tests.support.lost_workers import lose_worker
from tests.support.workflow_steps import (
    claim,
    end,
    ended_run,
    open_keys,
    reply,
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
    payloads_of,
    states,
    status_of,
)
from workflows.advance import begins, stage, writing
from workflows.advance.run import Run
from workflows.advance.stage import advance
from workflows.begin import begin_due
from workflows.control import Scope, cancel_run, skip_step
from workflows.retrying import Retry, retry_run
from workflows.taking_back import take_back

pytestmark = pytest.mark.django_db
EMPTY = {"succeeded": 0, "failed": 0, "skipped": 0, "outputs": []}
JOIN = [calls("a"), calls("b"), calls("join", "a", "b")]
ONCE: dict[str, Any] = {"retry_policy": {"max_attempts": 1}}


@pytest.fixture
def tenant() -> Tenant:
    return make_tenant()


def fan(*more: dict[str, Any], **parts: Any) -> list[dict[str, Any]]:
    """Return steps: a fan-out over the input, and what comes behind it."""
    return [calls("load", for_each="{{ input }}", **parts), *more]


# 1, with two sessions: tests/concurrency/test_workflow_race.py
def test_two_ends_in_one_batch_start_their_join_once(tenant: Tenant):
    run_id = begin_run(make_workflow(tenant, JOIN))

    for row in claim(run_id).values():
        end(row)
    go_on(run_id)

    assert open_keys(run_id) == ["join"]
    assert Execution.objects.filter(run_id=run_id, step=3).count() == 1


# 2
@pytest.mark.parametrize("first", ["a", "b"])
def test_the_end_of_a_sibling_overwrites_nothing(tenant: Tenant, first: str):
    payload = ["{{ steps.a.output }}", "{{ steps.b.output }}"]
    run_id = begin_run(make_workflow(tenant, [*JOIN[:2], calls("join", "a", "b", payload=payload)]))
    rows = claim(run_id)

    second = "b" if first == "a" else "a"
    end(rows[first], result=f"of {first}")
    go_on(run_id)
    end(rows[second], result=f"of {second}")
    go_on(run_id)
    advance([run_id])

    assert states(run_id) == {"a": "SUCCEEDED", "b": "SUCCEEDED", "join": "OPEN"}
    assert payloads_of(run_id, 3) == [["of a", "of b"]]


# 3
@pytest.mark.parametrize("condition", ["all_success", "all_done", "none_failed", "any_success"])
def test_a_fan_out_over_nothing_starts_its_join_at_once_with_an_empty_list(
    tenant: Tenant, condition: str
):
    steps = [
        calls("list"),
        calls("load", "list", for_each="{{ steps.list.output }}"),
        calls("join", "load", condition=condition, payload="{{ steps.load.output }}"),
    ]
    run_id = begin_run(make_workflow(tenant, steps))

    run_step(run_id, "list", result=[])

    assert payloads_of(run_id, 3) == [EMPTY]
    work_on(run_id)
    assert status_of(run_id) == "SUCCEEDED"


def test_a_fan_out_over_nothing_does_not_start_what_waits_for_a_failure(tenant: Tenant):
    steps = fan(calls("mend", "load", condition="one_failed"), calls("after", "mend"))
    run_id = begin_run(make_workflow(tenant, steps), [])

    assert states(run_id) == {"load": "SUCCEEDED", "mend": "SKIPPED", "after": "SKIPPED"}
    assert status_of(run_id) == "SUCCEEDED"


def test_fan_outs_over_nothing_behind_each_other_end_in_one_advance(tenant: Tenant):
    steps = [
        calls("one", for_each="{{ input }}"),
        calls("two", "one", for_each="{{ steps.one.output.outputs }}"),
        calls("three", "two", for_each="{{ steps.two.output.outputs }}"),
    ]

    run_id = begin_run(make_workflow(tenant, steps), [])

    assert set(states(run_id).values()) == {"SUCCEEDED"}
    assert status_of(run_id) == "SUCCEEDED"
    assert not Execution.objects.filter(run_id=run_id).exists()


# 4
def test_items_and_their_total_are_written_together_or_not_at_all(
    tenant: Tenant, monkeypatch: pytest.MonkeyPatch
):
    steps = [
        calls("list"),
        calls("load", "list", for_each="{{ steps.list.output }}"),
        calls("sum", "load"),
    ]
    run_id = begin_run(make_workflow(tenant, steps))
    end(claim(run_id)["list"], result=[1, 2, 3])

    update = writing._update_of

    def refused(runs: Sequence[Run]) -> Asked:
        path, columns = update(runs)
        return path, {**columns, "phases": of_texts([None])}

    # It follows the items in one round trip.
    with monkeypatch.context() as patch:
        patch.setattr(writing, "_update_of", refused)
        with pytest.raises(IntegrityError):
            advance([run_id])
    assert (open_keys(run_id), states(run_id)["load"]) == ([], "PENDING")

    go_on(run_id)

    assert open_keys(run_id) == ["load[0]", "load[1]", "load[2]"]
    assert work_on(run_id)[-1] == "sum"


def test_a_fan_out_behind_another_counts_its_own_items(tenant: Tenant):
    steps = [
        calls("one", for_each="{{ input }}"),
        calls("two", "one", for_each="{{ steps.one.output.outputs }}"),
        calls("sum", "two", payload=["{{ steps.one.output }}", "{{ steps.two.output }}"]),
    ]
    run_id = begin_run(make_workflow(tenant, steps), [1, 2])

    work_on(run_id, lambda key, item: ("SUCCEEDED", f"{key} {item}"))

    counts = {"succeeded": 2, "failed": 0, "skipped": 0}
    [payload] = payloads_of(run_id, 3)
    assert payload == [
        {**counts, "outputs": ["one 0", "one 1"]},
        {**counts, "outputs": ["two 0", "two 1"]},
    ]


# 5
def test_nothing_behind_a_fan_out_is_judged_before_all_its_items_have_begun(
    tenant: Tenant, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr(begins, "MOST_BEGINS", 1)
    run_id = begin_run(make_workflow(tenant, fan(calls("sum", "load"), max_parallel=1)), [1, 2, 3])

    for item in range(3):
        assert open_keys(run_id) == [f"load[{item}]"]
        assert states(run_id)["sum"] == "PENDING"
        run_step(run_id, f"load[{item}]")

    assert open_keys(run_id) == ["sum"]


# 6
@pytest.mark.parametrize("policy", ["fail_fast", "continue"])
def test_a_group_is_not_judged_while_an_item_has_retries_left(tenant: Tenant, policy: str):
    steps = fan(calls("sum", "load", condition="all_done"))
    run_id = begin_run(make_workflow(tenant, steps, on_failure=policy), [1, 2])
    rows = claim(run_id)

    end(rows["load[0]"])
    end(rows["load[1]"], "RETRYING", retry_in=0.0)
    go_on(run_id)
    assert states(run_id) == {"load": "OPEN", "sum": "PENDING"}
    assert WorkflowRun.objects.get(pk=run_id).phase == "running"

    assert work_on(run_id) == ["load[1]", "sum"]
    assert status_of(run_id) == "SUCCEEDED"


def test_a_step_with_retries_left_decides_nothing(tenant: Tenant):
    steps = [calls("a"), calls("b", "a"), calls("mend", "a", condition="one_failed")]
    run_id = begin_run(make_workflow(tenant, steps))

    run_step(run_id, "a", "RETRYING")

    assert states(run_id) == {"a": "OPEN", "b": "PENDING", "mend": "PENDING"}


# 7
def test_a_skipped_item_skips_no_sibling_and_a_skipped_group_blocks_no_follower(tenant: Tenant):
    steps = fan(
        calls("none", "load", for_each="{{ input }}", when="item > 9"),
        calls("never", "load", for_each="{{ input }}", condition="one_failed"),
        calls("report", "none", "never", condition="all_done"),
        when="item > 1",
    )
    run_id = begin_run(make_workflow(tenant, steps), [1, 2, 3])

    done = work_on(run_id)

    assert done == ["load[1]", "load[2]", "report"]
    assert states(run_id) == {
        "load": "SUCCEEDED",
        "none": "SUCCEEDED",
        "never": "SKIPPED",
        "report": "SUCCEEDED",
    }


# 8
def test_a_shared_parent_releases_all_its_dependents(tenant: Tenant):
    children = [calls(f"c{number}", "a") for number in range(20)]
    run_id = begin_run(make_workflow(tenant, [calls("a"), *children]))

    run_step(run_id, "a")

    assert open_keys(run_id) == [f"c{number}" for number in range(20)]


# 9
@pytest.mark.parametrize("status", ["FAILED", "CANCELLED"])
@pytest.mark.parametrize("policy", ["fail_fast", "continue"])
@pytest.mark.parametrize("condition", ["all_success", "none_failed", "any_success", "one_failed"])
def test_a_prerequisite_that_did_not_succeed_leaves_nothing_waiting(
    tenant: Tenant, status: str, policy: str, condition: str
):
    steps = [
        calls("a"),
        calls("b", "a", condition=condition),
        calls("c", "b"),
        calls("report", "c", condition="all_done"),
    ]
    run_id = begin_run(make_workflow(tenant, steps, on_failure=policy))

    run_step(run_id, "a", status)
    done = work_on(run_id)

    assert done[-1:] == ["report"]
    assert status_of(run_id) == status


def test_a_prerequisite_that_a_person_skipped_leaves_nothing_waiting(tenant: Tenant):
    steps = [
        calls("first"),
        calls("a", "first"),
        calls("b", "a"),
        calls("c", "b", condition="all_done"),
    ]
    run_id = begin_run(make_workflow(tenant, steps))

    skip_step(tenant.id, run_id, "a", actor=ACTOR)

    assert states(run_id) == {"first": "OPEN", "a": "SKIPPED", "b": "SKIPPED", "c": "OPEN"}


# 10
def _cancel_unclaimed(tenant: Tenant, run_id: UUID, patch: pytest.MonkeyPatch) -> None:
    take_back({run_id: {1}})


def _cancel_claimed(tenant: Tenant, run_id: UUID, patch: pytest.MonkeyPatch) -> None:
    claim(run_id)
    take_back({run_id: {1}})


def _lose_its_worker(tenant: Tenant, run_id: UUID, patch: pytest.MonkeyPatch) -> None:
    start_step(claim(run_id)["a"])
    assert lose_worker(patch) == 1


def _skip_at_the_gate(tenant: Tenant, run_id: UUID, patch: pytest.MonkeyPatch) -> None:
    Execution.objects.filter(run_id=run_id).update(gated=True, held=True)
    assert skip([Execution.objects.get(run_id=run_id).id], "overlap_skipped")


def _refuse_as_poison(tenant: Tenant, run_id: UUID, patch: pytest.MonkeyPatch) -> None:
    end(claim(run_id)["a"], "FAILED", reason="poison", error_code="worker_lost", lost=1)


@pytest.mark.parametrize(
    ("how", "status"),
    [
        (_cancel_unclaimed, "CANCELLED"),
        (_cancel_claimed, "CANCELLED"),
        (_lose_its_worker, "FAILED"),
        (_skip_at_the_gate, "CANCELLED"),
        (_refuse_as_poison, "FAILED"),
    ],
)
def test_a_step_that_ends_without_having_done_its_work_releases_what_waits(
    tenant: Tenant, monkeypatch: pytest.MonkeyPatch, how: Callable[..., None], status: str
):
    steps = [calls("a", **ONCE), calls("b", "a", condition="all_done")]
    run_id = begin_run(make_workflow(tenant, steps))

    how(tenant, run_id, monkeypatch)
    go_on(run_id)

    assert states(run_id) == {"a": status, "b": "OPEN"}


# 11
def test_branches_for_failures_that_are_not_needed_are_settled(tenant: Tenant):
    steps = [
        calls("a"),
        calls("mend", "a", condition="one_failed"),
        calls("tell", "mend"),
        calls("tidy", "tell", condition="any_success"),
        calls("b", "a"),
    ]
    run_id = begin_run(make_workflow(tenant, steps))

    assert work_on(run_id) == ["a", "b"]

    assert states(run_id) == {
        "a": "SUCCEEDED",
        "mend": "SKIPPED",
        "tell": "SKIPPED",
        "tidy": "SKIPPED",
        "b": "SUCCEEDED",
    }
    assert status_of(run_id) == "SUCCEEDED"


# 12
@pytest.mark.parametrize(
    ("body", "truncated", "expected"),
    [
        (rb'"NUL \u0000"', False, ("FAILED", "output_invalid")),
        (rb'["\ud800"]', False, ("FAILED", "output_invalid")),
        (b"[" * 10_000 + b"]" * 10_000, False, ("FAILED", "output_invalid")),
        (b"123456789012345678901234567890", False, ("FAILED", "output_invalid")),
        (b'"' + b"x" * (1024 * 1024 + 1) + b'"', False, ("FAILED", "output_too_large")),
        (b'{"half": ', True, ("FAILED", "output_too_large")),
        (b"9223372036854775809", False, ("SUCCEEDED", "")),
        # No JSON, whose output is null.
        (b'{"a": NaN}', False, ("SUCCEEDED", "")),
        (b'"\xff"', False, ("SUCCEEDED", "")),
    ],
    ids=["nul", "surrogate", "deep", "number", "large", "cut", "largest", "nan", "utf-8"],
)
def test_an_output_that_cannot_be_kept_ends_its_step_with_a_code(
    tenant: Tenant, body: bytes, truncated: bool, expected: tuple[str, str]
):
    steps = [calls("a"), calls("b", "a", condition="all_done", payload="{{ steps.a.output }}")]
    run_id = begin_run(make_workflow(tenant, steps))

    reply(claim(run_id)["a"], body, truncated=truncated)
    go_on(run_id)

    assert why(run_id, 1) == expected
    assert open_keys(run_id) == ["b"]
    number = 2**63 + 1 if body.isdigit() and expected[0] == "SUCCEEDED" else None
    assert payloads_of(run_id, 2) == [number]


# 13
def test_a_cancelled_run_leaks_no_step_whatever_its_steps_do(tenant: Tenant):
    steps = [
        calls("load", for_each="{{ input }}", max_parallel=3),
        calls("retrying"),
        calls("running"),
        {"key": "ask", "kind": "approval"},
        calls("after", "load", "retrying", "running", "ask"),
    ]
    run_id = begin_run(make_workflow(tenant, steps), [1, 2, 3, 4, 5])
    rows = claim(run_id)
    end(rows["retrying"], "RETRYING", retry_in=60.0)
    start_step(rows["running"])
    start_step(rows["load[1]"])

    cancel_run(tenant.id, run_id, Scope(), actor=ACTOR)
    go_on(run_id)
    assert open_keys(run_id) == ["load[1]", "running"]

    end(rows["running"], "RETRYING", retry_in=0.0)
    end(rows["load[1]"], "FAILED")
    go_on(run_id)

    assert open_keys(run_id) == []
    assert status_of(run_id) == "CANCELLED"
    assert states(run_id)["running"] == "CANCELLED"
    assert not DeadLetter.objects.exists()


# 14
def test_a_retry_runs_no_succeeded_step_and_makes_no_second_graph(tenant: Tenant):
    steps = [*JOIN, calls("report", "join", condition="all_done")]
    run_id = begin_run(make_workflow(tenant, steps))
    work_on(run_id, lambda key, item: "FAILED" if key == "join" else "SUCCEEDED")

    retry_run(tenant.id, run_id, Retry(), actor=ACTOR)
    with pytest.raises(Conflict):
        retry_run(tenant.id, run_id, Retry(), actor=ACTOR)
    begin_due(EVERYWHERE, 10)
    go_on(run_id)

    assert work_on(run_id) == ["join"]
    assert WorkflowRun.objects.count() == 0
    assert status_of(run_id) == "SUCCEEDED"
    counts = [Execution.objects.filter(run_id=run_id, step=step).count() for step in range(1, 5)]
    assert counts == [1, 1, 2, 1]


# 15
@pytest.mark.logs("step_end.stale")
def test_a_zombie_of_an_earlier_take_changes_nothing(tenant: Tenant):
    run_id = begin_run(make_workflow(tenant, [calls("a"), calls("b", "a")]))
    run_step(run_id, "a", "FAILED")
    retry_run(tenant.id, run_id, Retry(), actor=ACTOR)
    begin_due(EVERYWHERE, 10)
    go_on(run_id)
    zombie = Execution.objects.get(run_id=run_id, step=1, take=1)

    tell(run_id, 1, 1, zombie.id, "FAILED")
    go_on(run_id)
    assert states(run_id) == {"a": "OPEN", "b": "PENDING"}

    assert work_on(run_id) == ["a", "b"]
    assert status_of(run_id) == "SUCCEEDED"


def test_a_step_that_has_succeeded_is_not_failed_by_a_second_end(tenant: Tenant):
    run_id = begin_run(make_workflow(tenant, [calls("a"), calls("b", "a")]))
    row = claim(run_id)["a"]
    end(row)
    go_on(run_id)

    end(row, "FAILED")
    tell(run_id, 1, 1, row.id, "FAILED")
    go_on(run_id)

    assert states(run_id) == {"a": "SUCCEEDED", "b": "OPEN"}
    assert len(ends_of(run_id)) == 1


def test_an_item_that_is_told_twice_counts_once(tenant: Tenant):
    run_id = begin_run(make_workflow(tenant, fan(calls("sum", "load"))), [1, 2])
    row = claim(run_id)["load[0]"]
    end(row)
    end(row)
    go_on(run_id)

    assert states(run_id) == {"load": "OPEN", "sum": "PENDING"}


# 20
def test_a_join_over_many_items_takes_them_in_bounded_advances(
    tenant: Tenant, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr(stage, "MOST_TOLD", 7)
    run_id = begin_run(
        make_workflow(tenant, fan(calls("sum", "load", payload="{{ steps.load.output }}"))),
        list(range(50)),
    )
    for row in claim(run_id).values():
        end(row, result=1)

    advance([run_id])

    assert states(run_id) == {"load": "SUCCEEDED", "sum": "OPEN"}
    assert payloads_of(run_id, 2)[0]["outputs"] == [1] * 50
    assert work_on(run_id) == ["sum"]
    assert ended_run(run_id).ends == 52


def tell(run_id: UUID, step: int, take: int, execution_id: UUID, status: str) -> None:
    """Tell a run of an end as the statements of the ledger do."""
    with connection.cursor() as cursor:
        cursor.execute(
            "INSERT INTO workflow_inbox (run_id, kind, step, item, take, execution_id, status) "
            "VALUES (%s, 'ended', %s, -1, %s, %s, %s)",
            [run_id, step, take, execution_id, status],
        )
