"""Runs and steps in flight stay within the quotas of their tenant, and nothing waits for ever."""

from __future__ import annotations

from datetime import timedelta
from typing import Any
from uuid import UUID

import pytest
from django.db import transaction
from django.db.models import F

from executions.changes import changing, withdrawal
from executions.models import Execution, WorkflowRun
from executions.triggering.triggers import run_task
from tasks.models import Task
from tasks.revisions import read_definition
from tasks.transitions import Pause
from tenants.models import Tenant
from tenants.quotas import known
from tenants.services import change_quotas
from tenants.services.tenants import resume_tenant, suspend_tenant
from tests.executions.changes.standing import end as stand_down
from tests.executions.changes.standing import stand
from tests.executions.gate.key_world import look
from tests.factories import ACTOR, make_execution, make_task, make_tenant, once
from tests.support.child_runs import runs
from tests.support.workflow_steps import claim, end
from tests.support.workflows import (
    EVERYWHERE,
    begin_children,
    calls,
    go_on,
    make_workflow,
    status_of,
)
from workflows import in_flight
from workflows.advance import writing
from workflows.begin import begin_due
from workflows.control import pause_run, resume_run
from workflows.stages import free_waiting

pytestmark = pytest.mark.django_db


@pytest.fixture
def tenant() -> Tenant:
    return make_tenant()


def limit(tenant: Tenant, **limits: Any) -> None:
    change_quotas(tenant.id, actor=ACTOR, limits=limits)
    known.forget(tenant.id)


def ask(task: Any, count: int = 1) -> list[UUID]:
    found = [run_task(task.tenant_id, task.id, None, actor=ACTOR).id for _ in range(count)]
    for place, run_id in enumerate(found):
        # Those of one millisecond have no order.
        earlier = F("due_at") - timedelta(milliseconds=count - place)
        Execution.objects.filter(pk=run_id).update(due_at=earlier)
    return found


def begin() -> list[UUID]:
    found = begin_due(EVERYWHERE, 100)
    go_on(*found)
    return found


def waiting() -> int:
    found = Execution.objects.filter(status="PENDING", held=True, reason="tenant_limit")
    return found.count()


def test_without_a_quota_all_begin(tenant: Tenant):
    ask(make_workflow(tenant, [calls("a")]), 3)

    assert len(begin()) == 3
    assert in_flight.due_within_limits(EVERYWHERE, 10) == ([], None)


def test_runs_beyond_the_limit_wait_in_order_and_begin_when_one_ends(tenant: Tenant):
    limit(tenant, runs_in_flight=2)
    first, second, third, _ = ask(make_workflow(tenant, [calls("a")]), 4)

    assert set(begin()) == {first, second}
    assert waiting() == 2
    assert begin() == []
    assert free_waiting() == 0

    end(claim(first)["a"])
    go_on(first)
    assert free_waiting() == 1
    assert begin() == [third]
    assert waiting() == 1


def test_a_limit_that_is_raised_or_removed_lets_them_begin(tenant: Tenant):
    limit(tenant, runs_in_flight=1)
    ask(make_workflow(tenant, [calls("a")]), 4)
    begin()

    limit(tenant, runs_in_flight=2)
    assert free_waiting() == 1
    assert len(begin()) == 1
    limit(tenant, runs_in_flight=None)
    assert free_waiting() == 2
    assert len(begin()) == 2


def test_another_tenant_begins_beside_one_at_its_limit(tenant: Tenant):
    limit(tenant, runs_in_flight=1)
    ask(make_workflow(tenant, [calls("a")]), 3)
    [other] = ask(make_workflow(make_tenant("Other"), [calls("a")]))

    assert other in begin()


def test_a_run_that_a_step_asks_for_never_waits(tenant: Tenant):
    child = make_workflow(tenant, [calls("c")])
    limit(tenant, runs_in_flight=1)
    [run_id] = ask(make_workflow(tenant, [runs("sub", child)]))
    begin()

    begin_children()

    assert WorkflowRun.objects.filter(parent_run=run_id).count() == 1
    assert waiting() == 0


def test_a_run_that_waits_can_be_cancelled(tenant: Tenant):
    limit(tenant, runs_in_flight=1)
    task = make_workflow(tenant, [calls("a")])
    ask(task, 2)
    begin()

    changing.cancel_task(tenant.id, task.id, actor=ACTOR)

    assert waiting() == 0


def test_the_run_of_a_paused_workflow_stays_on_hold(tenant: Tenant):
    limit(tenant, runs_in_flight=1)
    task = make_workflow(tenant, [calls("a")])
    ask(task, 2)
    begin()
    changing.pause_task(tenant.id, task.id, Pause(), actor=ACTOR)
    limit(tenant, runs_in_flight=5)

    free_waiting()

    assert Execution.objects.get(task_id=task.id, status="PENDING", pool="workflow").held


def test_steps_beyond_the_limit_wait_and_begin_when_one_ends(tenant: Tenant):
    limit(tenant, steps_in_flight=2)
    [run_id] = ask(make_workflow(tenant, [calls(key) for key in "abcd"]))
    begin()
    assert waiting() == 2

    held = claim(run_id)
    assert len(held) == 2
    end(next(iter(held.values())))
    go_on(run_id)

    assert waiting() == 1
    assert len(claim(run_id)) == 2


def test_the_oldest_step_begins_first_whichever_run_it_is_of(tenant: Tenant):
    limit(tenant, steps_in_flight=1)
    task = make_workflow(tenant, [calls("a"), calls("b", "a")])
    first, second = ask(task, 2)
    begin()

    [row] = [*claim(first).values(), *claim(second).values()]
    ended = Execution.objects.get(pk=row.id).run_id or first
    other = second if ended == first else first
    end(row)
    go_on(ended)

    assert list(claim(other)) == ["a"]
    assert waiting() == 1


@pytest.mark.parametrize("most", [1, 2, 3])
def test_nothing_waits_for_ever(tenant: Tenant, most: int):
    child = make_workflow(tenant, [calls("c"), calls("d", "c")])
    steps = [calls("a"), calls("b", "a"), runs("sub", child, "a"), calls("z", "b", "sub")]
    limit(tenant, steps_in_flight=most, runs_in_flight=most)
    asked = ask(make_workflow(tenant, steps), 4)

    for _ in range(100):
        begin()
        begin_children()
        open_runs = list(WorkflowRun.objects.values_list("id", flat=True))
        if not open_runs:
            break
        for run_id in open_runs:
            for row in claim(run_id).values():
                running = Execution.objects.filter(status="QUEUED", step__isnull=False)
                assert running.exclude(pool="workflow").count() <= most
                end(row)
        go_on(*open_runs)
        free_waiting()

    assert [status_of(run_id) for run_id in asked] == ["SUCCEEDED"] * 4
    assert waiting() == 0


def test_steps_of_a_paused_place_stay_on_hold_when_the_limit_has_room(
    tenant: Tenant, monkeypatch: pytest.MonkeyPatch
):
    limit(tenant, steps_in_flight=1)
    [run_id] = ask(make_workflow(tenant, [calls("a"), calls("b")]))
    begin()
    reason = lambda *place: "place_paused"  # noqa: E731 - a reason for every place
    monkeypatch.setattr(in_flight, "reasons_to_hold", lambda tenants: reason)

    end(next(iter(claim(run_id).values())))
    go_on(run_id)

    [step] = Execution.objects.filter(run_id=run_id, status="PENDING")
    assert (step.held, step.reason) == (True, "place_paused")


def test_a_suspended_tenant_begins_nothing(tenant: Tenant):
    limit(tenant, runs_in_flight=1)
    ask(make_workflow(tenant, [calls("a")]), 2)
    begin()
    Tenant.objects.filter(pk=tenant.pk).update(suspended_at="2026-01-01T00:00:00Z")

    assert in_flight.waiting_tenants() == []


def test_runs_of_a_workflow_that_is_resumed_wait_on_hold_again(tenant: Tenant):
    limit(tenant, runs_in_flight=1)
    task = make_workflow(tenant, [calls("a")])
    ask(task, 3)
    begin()
    changing.pause_task(tenant.id, task.id, Pause(), actor=ACTOR)

    changing.resume_task(tenant.id, task.id, actor=ACTOR)

    assert waiting() == 2
    limit(tenant, runs_in_flight=3)
    assert free_waiting() == 2
    assert len(begin()) == 2


def test_an_instant_that_waits_goes_to_the_gate_when_its_workflow_gets_a_limit(tenant: Tenant):
    limit(tenant, runs_in_flight=1)
    task = make_workflow(tenant, [calls("a")])
    ask(task, 2)
    begin()
    found = Execution.objects.filter(reason="tenant_limit")
    found.update(trigger="schedule")
    Task.objects.filter(pk=task.pk).update(limited=True)

    withdrawal.adopt_many([(task, read_definition(task))])
    limit(tenant, runs_in_flight=5)
    free_waiting()

    row = Execution.objects.get(trigger="schedule")
    assert (row.gated, row.held, row.reason) == (True, True, "")
    assert begin() == []


def test_a_suspension_that_begins_after_the_look_frees_nothing(
    tenant: Tenant, monkeypatch: pytest.MonkeyPatch
):
    limit(tenant, runs_in_flight=1)
    ask(make_workflow(tenant, [calls("a")]), 2)
    begin()
    limit(tenant, runs_in_flight=2)
    monkeypatch.setattr(in_flight, "waiting_tenants", lambda: [tenant.id])
    Tenant.objects.filter(pk=tenant.pk).update(suspended_at="2026-01-01T00:00:00Z")

    assert free_waiting() == 0
    assert waiting() == 1


def test_the_lock_of_the_steps_is_taken_before_the_names_of_events(
    tenant: Tenant, monkeypatch: pytest.MonkeyPatch
):
    own, said = in_flight._room_of_steps, list[str]()

    def noted(one: Any) -> Any:
        said.append("steps")
        return own(one)

    monkeypatch.setattr(in_flight, "_room_of_steps", noted)
    monkeypatch.setattr(writing, "own_names", lambda names: said.append("names"))
    limit(tenant, steps_in_flight=1)
    event = {"key": "e", "kind": "wait_for_event", "event": "paid", "correlation": "x"}
    ask(make_workflow(tenant, [calls("a"), event]))

    begin()

    assert said[:2] == ["steps", "names"]


def hold_and_free_run(tenant: Tenant, run_id: UUID, on_commit: Any) -> None:
    with on_commit(execute=True):
        pause_run(tenant.id, run_id, actor=ACTOR)
    assert waiting() == 0
    with on_commit(execute=True):
        resume_run(tenant.id, run_id, actor=ACTOR)


def hold_and_free_place(tenant: Tenant, run_id: UUID, on_commit: Any) -> None:
    made = stand(tenant, "destination", "api.example.com")
    end_all(run_id)
    stand_down(made)


def hold_and_free_tenant(tenant: Tenant, run_id: UUID, on_commit: Any) -> None:
    suspend_tenant(tenant.id, actor=ACTOR)
    resume_tenant(tenant.id, actor=ACTOR)


def end_all(run_id: UUID) -> None:
    """Let a step end, so that the waiting ones come under the pause that stands."""
    with transaction.atomic():
        in_flight.follow_ends({Execution.objects.filter(run_id=run_id)[0].tenant_id})


@pytest.mark.parametrize("pass_", [hold_and_free_run, hold_and_free_place, hold_and_free_tenant])
def test_steps_that_a_pause_has_held_wait_for_their_place_again(
    tenant: Tenant, on_commit: Any, pass_: Any
):
    limit(tenant, steps_in_flight=2)
    [run_id] = ask(make_workflow(tenant, [calls(key) for key in "abcd"]))
    begin()

    pass_(tenant, run_id, on_commit)
    free_waiting()

    assert len(claim(run_id)) == 2
    assert waiting() == 2


def test_a_step_that_tries_again_after_a_pause_needs_no_other_place(tenant: Tenant, on_commit: Any):
    limit(tenant, steps_in_flight=1)
    [run_id] = ask(make_workflow(tenant, [calls("a")]))
    begin()
    end(claim(run_id)["a"], "RETRYING")

    hold_and_free_run(tenant, run_id, on_commit)

    row = Execution.objects.get(run_id=run_id)
    assert (row.status, row.held, row.reason) == ("RETRYING", False, "")


def test_a_run_that_comes_due_after_the_look_at_the_limits_waits_for_the_next(
    tenant: Tenant, monkeypatch: pytest.MonkeyPatch
):
    limit(tenant, runs_in_flight=1)
    task = make_workflow(tenant, [calls("a")])
    look, asked = in_flight.due_within_limits, list[Any]()

    def before_it_comes_due(*scope: Any) -> Any:
        found = look(*scope)
        asked.extend([] if asked else ask(task, 3))
        return found

    monkeypatch.setattr(in_flight, "due_within_limits", before_it_comes_due)

    assert begin() == []
    assert begin() == asked[:1]


def test_work_of_a_paused_task_that_a_limit_had_sent_back_stays_on_hold(tenant: Tenant):
    task = make_task(tenant, once())
    asked = run_task(tenant.id, task.id, None, actor=ACTOR).id
    Execution.objects.filter(pk=asked).update(reason="tenant_limit")
    changing.pause_task(tenant.id, task.id, Pause(), actor=ACTOR)

    assert free_waiting() == 0

    row = Execution.objects.get(pk=asked)
    assert (row.held, row.reason) == (True, "")


def test_work_that_an_earlier_version_left_on_hold_with_that_reason_is_not_freed(tenant: Tenant):
    row = make_execution(tenant)
    Execution.objects.filter(pk=row.pk).update(held=True, reason="tenant_limit")

    assert free_waiting() == 0

    row.refresh_from_db()
    assert row.held


@pytest.mark.parametrize("key", [None, "stock"])
def test_a_run_that_waits_begins_in_its_turn_after_an_edit(tenant: Tenant, key: str | None):
    limit(tenant, runs_in_flight=1)
    task = make_workflow(tenant, [calls("a")])
    first, second = ask(task, 2)
    begin()
    Task.objects.filter(pk=task.pk).update(concurrency_key=key)
    task.refresh_from_db()

    withdrawal.adopt_many([(task, read_definition(task))])

    row = Execution.objects.get(pk=second)
    # Put by: it has no place in the line of its key while it waits for one of its tenant.
    assert (row.held, row.reason, row.key_place) == (True, "tenant_limit", key and -1)
    end(claim(first)["a"])
    go_on(first)
    assert free_waiting() == 1
    look()
    assert begin() == [second]
