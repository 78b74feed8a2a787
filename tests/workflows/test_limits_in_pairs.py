"""No two limits make work wait for ever: each pair of them, with runs within runs."""

from __future__ import annotations

from collections.abc import Callable
from datetime import timedelta
from typing import Any
from uuid import UUID

import pytest
from django.db.models import F

from executions.changes import changing
from executions.models import Execution
from executions.ownership.partitions import Partitions
from tasks.models import Task
from tasks.transitions import Pause
from tenants.models import Tenant
from tests.factories import ACTOR, make_task, make_tenant, once, prepare
from tests.support.child_runs import failures_of, runs
from tests.support.limits_world import (
    ask,
    begin,
    end_all,
    limit,
    look,
    queueing,
    rest,
    take_turns,
    waiting,
)
from tests.support.workflow_steps import claim, end
from tests.support.workflows import EVERYWHERE, calls, go_on, make_workflow, status_of
from workflows import in_flight, stages
from workflows.begin import begin_due
from workflows.retrying import Retry, retry_run
from workflows.stages import free_waiting

pytestmark = pytest.mark.django_db
KEY: dict[str, Any] = {"key": "k", "max": 1}


@pytest.fixture
def tenant() -> Tenant:
    return make_tenant()


def ends(*found: UUID) -> list[str]:
    return [Execution.objects.get(pk=one).status for one in found]


def holder(tenant: Tenant, needed: Task, **parts: Any) -> Task:
    """Return a workflow whose last step needs a run of another one."""
    return make_workflow(tenant, [calls("first"), runs("sub", needed, "first")], **parts)


def of_key(tenant: Tenant, **parts: Any) -> tuple[Task, Task]:
    """Return a workflow with the key, and another one with it that a run without it needs."""
    return make_workflow(tenant, [calls("a")], concurrency=KEY, **parts), make_workflow(
        tenant, [calls("c")], concurrency=KEY
    )


def of_gate(tenant: Tenant, **parts: Any) -> tuple[Task, Task]:
    task = make_workflow(tenant, [calls("a")], schedule=queueing(1), **parts)
    return task, task


def of_both(tenant: Tenant) -> tuple[Task, Task]:
    task, _ = of_gate(tenant, concurrency=KEY)
    return task, task


@pytest.mark.parametrize("limits", [of_key, of_gate, of_both])
@pytest.mark.parametrize("places", [1, 2])
def test_a_run_that_waits_for_a_place_of_its_tenant_holds_up_no_run_under_way(
    tenant: Tenant, limits: Callable[[Tenant], tuple[Task, Task]], places: int
):
    waits, needed = limits(tenant)
    limit(tenant, runs_in_flight=places)
    under_way = [ask(holder(tenant, needed)) for _ in range(places)]
    begin()
    waiting_for_them = [ask(waits) for _ in range(2)]
    begin()
    assert ("PENDING", "tenant_limit") in waiting()

    rest()

    assert ends(*under_way, *waiting_for_them) == ["SUCCEEDED"] * (places + 2)
    assert not waiting()


def test_a_run_that_waits_for_its_key_holds_up_none_that_needs_its_place_at_the_gate(
    tenant: Tenant,
):
    waits, needed = of_both(tenant)
    under_way = ask(holder(tenant, needed, concurrency=KEY))
    begin()
    before = ask(waits)
    begin()
    row = Execution.objects.get(pk=before)
    assert (row.counted, row.key_place, row.held) == (True, 0, True)

    rest()

    assert ends(under_way, before) == ["SUCCEEDED", "SUCCEEDED"]


def test_a_retry_that_waits_for_its_key_holds_up_no_run_under_way(tenant: Tenant):
    waits, needed = of_both(tenant)
    failed = ask(waits)
    begin()
    end_all(lambda row: "FAILED")
    under_way = ask(holder(tenant, needed, concurrency=KEY))
    begin()
    retry_run(tenant.id, failed, Retry(), actor=ACTOR)
    look()
    row = Execution.objects.get(trigger="retry")
    assert (row.counted, row.key_place, row.held) == (True, 0, True)

    rest()

    assert ends(under_way) == ["SUCCEEDED"]
    assert status_of(failed) == "SUCCEEDED"
    assert not waiting()


def test_where_the_newest_cancels_what_runs_a_retry_waits_for_none_that_has_not_begun(
    tenant: Tenant,
):
    newest = {"every": "P1D", "overlap_policy": "cancel_running", "max_concurrent": 1}
    task = make_workflow(tenant, [calls("a")], schedule=newest)
    failed = ask(task)
    begin()
    end_all(lambda row: "FAILED")
    limit(tenant, runs_in_flight=1)
    other = ask(task)
    retry_run(tenant.id, failed, Retry(), actor=ACTOR)

    rest()

    assert ends(other) == ["SUCCEEDED"]
    assert not waiting()


@pytest.mark.parametrize("limits", [of_key, of_gate, of_both])
def test_the_retry_of_a_run_is_held_up_by_none_that_waits_for_its_place(
    tenant: Tenant, limits: Callable[[Tenant], tuple[Task, Task]]
):
    task, _ = limits(tenant)
    failed = ask(task)
    begin()
    end_all(lambda row: "FAILED")
    limit(tenant, runs_in_flight=1)
    retry_run(tenant.id, failed, Retry(), actor=ACTOR)
    other = ask(task)
    # The other one was first at the gate and in line.
    Execution.objects.filter(pk=other).update(due_at="2026-01-01T00:00:00Z")

    rest()

    assert status_of(failed) == "SUCCEEDED"
    assert ends(other) == ["SUCCEEDED"]


def test_a_run_with_a_reason_of_its_own_gives_way_as_well(tenant: Tenant):
    waits, needed = of_key(tenant)
    limit(tenant, runs_in_flight=1)
    under_way = ask(holder(tenant, needed))
    begin()
    before = ask(waits)
    Execution.objects.filter(pk=before).update(reason="misfire_coalesced")
    take_turns()
    # The clock stands still in a test: what goes behind the line is no later than the others.
    Execution.objects.filter(trigger="workflow").update(due_at=F("due_at") - timedelta(hours=1))

    rest()

    assert ends(under_way, before) == ["SUCCEEDED", "SUCCEEDED"]


@pytest.mark.parametrize(("reason", "wakes"), [("", [0.0]), ("misfire_coalesced", [])])
def test_a_run_that_goes_behind_its_line_is_not_looked_at_without_a_pause(
    tenant: Tenant, monkeypatch: pytest.MonkeyPatch, reason: str, wakes: list[float]
):
    waits, _ = of_key(tenant)
    limit(tenant, runs_in_flight=1)
    ask(make_workflow(tenant, [calls("a")]))
    begin()
    Execution.objects.filter(pk=ask(waits)).update(reason=reason)
    look()
    woken = list[float]()
    monkeypatch.setattr(in_flight, "wake_schedulers_in", woken.append)

    begin_due(EVERYWHERE, 10)

    assert Execution.objects.filter(task_id=waits.id, held=True).count() == 1
    assert woken == wakes


def test_other_work_of_the_key_goes_on_beside_a_run_that_waits_for_its_tenant(tenant: Tenant):
    waits, _ = of_key(tenant)
    limit(tenant, runs_in_flight=1)
    ask(make_workflow(tenant, [calls("a")]))
    begin()
    run = ask(waits)
    begin()
    assert Execution.objects.get(pk=run).key_place == -1
    other = make_task(tenant, once(concurrency=KEY))
    prepare()
    Execution.objects.filter(task_id=other.id).update(due_at=F("due_at") - timedelta(hours=1))

    look()

    assert Execution.objects.get(task_id=other.id).key_place == 1


def test_a_run_that_was_put_by_comes_back_to_its_old_place_in_line(tenant: Tenant):
    waits, _ = of_key(tenant)
    limit(tenant, runs_in_flight=1)
    first = ask(make_workflow(tenant, [calls("a")]))
    begin()
    run = ask(waits)
    Execution.objects.filter(pk=run).update(due_at=F("due_at") - timedelta(hours=1))
    due = Execution.objects.get(pk=run).due_at
    begin()
    later = ask(waits)
    end(claim(first)["a"])
    go_on(first)
    free_waiting()

    row = Execution.objects.get(pk=run)
    assert (row.key_place, row.reason, row.held) == (0, "", True)
    assert row.due_at <= due
    assert begin() == [run]
    assert Execution.objects.get(pk=later).held


def test_the_end_of_a_pause_puts_no_run_in_line_that_waits_for_its_tenant(tenant: Tenant):
    waits, _ = of_key(tenant)
    limit(tenant, runs_in_flight=1)
    ask(make_workflow(tenant, [calls("a")]))
    begin()
    run = ask(waits)
    begin()

    changing.pause_task(tenant.id, waits.id, Pause(), actor=ACTOR)
    changing.resume_task(tenant.id, waits.id, actor=ACTOR)

    row = Execution.objects.get(pk=run)
    assert (row.key_place, row.reason, row.held) == (-1, "tenant_limit", True)


def test_a_run_that_is_freed_while_its_workflow_is_paused_comes_into_line_with_the_resume(
    tenant: Tenant,
):
    waits, _ = of_key(tenant)
    limit(tenant, runs_in_flight=1)
    ask(make_workflow(tenant, [calls("a")]))
    begin()
    run = ask(waits)
    begin()
    changing.pause_task(tenant.id, waits.id, Pause(), actor=ACTOR)
    limit(tenant, runs_in_flight=5)
    assert free_waiting() == 1

    row = Execution.objects.get(pk=run)
    assert (row.key_place, row.reason, row.held) == (-1, "", True)
    changing.resume_task(tenant.id, waits.id, actor=ACTOR)
    rest()
    assert ends(run) == ["SUCCEEDED"]


FIFO: dict[str, Any] = {"key": "k", "order": "fifo"}


@pytest.mark.parametrize("reason", ["", "misfire_replayed"])
def test_in_strict_order_nothing_passes_a_run_that_waits_for_its_tenant(
    tenant: Tenant, reason: str
):
    limit(tenant, runs_in_flight=1)
    run = ask(make_workflow(tenant, [calls("a")], concurrency=FIFO))
    row = Execution.objects.filter(pk=run)
    row.update(due_at=F("due_at") - timedelta(hours=1), reason=reason)
    look()
    assert row.get().key_place == 2
    first = ask(make_workflow(tenant, [calls("a")]))
    Execution.objects.filter(pk=first).update(due_at=F("due_at") - timedelta(hours=2))
    assert begin_due(EVERYWHERE, 10) == [first]
    go_on(first)
    found = row.get()
    assert (found.key_place, found.held, found.reason) == (0, True, reason)
    assert found.due_at <= found.created_at - timedelta(hours=1)
    other = make_task(tenant, once(concurrency=FIFO))
    prepare()
    later = Execution.objects.filter(task_id=other.id)
    later.update(due_at=found.due_at + timedelta(seconds=1))

    look()
    assert (row.get().key_place, later.get().key_place) == (0, 0)

    limit(tenant, runs_in_flight=2)
    look()
    assert (row.get().key_place, later.get().key_place) == (2, 0)
    rest()
    assert [row.get().status, later.get().status] == ["SUCCEEDED"] * 2


@pytest.mark.parametrize("places", [1, 2])
def test_in_strict_order_a_run_that_a_run_under_way_needs_passes_one_that_waits_for_its_tenant(
    tenant: Tenant, places: int
):
    waits, needed = (make_workflow(tenant, [calls("a")], concurrency=FIFO) for _ in range(2))
    limit(tenant, runs_in_flight=places)
    under_way = [ask(holder(tenant, needed)) for _ in range(places)]
    begin()
    before = [ask(waits) for _ in range(2)]
    Execution.objects.filter(pk__in=before).update(due_at=F("due_at") - timedelta(hours=1))

    rest()

    assert ends(*under_way, *before) == ["SUCCEEDED"] * (places + 2)
    assert not waiting()


def forget() -> None:
    partitions = Partitions()
    partitions.run_once()
    stages.forget(partitions)
    partitions.release_all()


@pytest.fixture
def put_by(tenant: Tenant) -> Execution:
    """Return a run with a key that waits for its tenant."""
    waits, _ = of_key(tenant)
    limit(tenant, runs_in_flight=1)
    ask(make_workflow(tenant, [calls("a")]))
    begin()
    run = ask(waits)
    begin()
    return Execution.objects.get(pk=run)


def test_a_run_that_the_version_before_has_freed_beside_its_line_comes_into_it(put_by: Execution):
    Execution.objects.filter(pk=put_by.id).update(reason="")

    forget()
    rest()

    assert ends(put_by.id) == ["SUCCEEDED"]


def test_a_run_of_a_paused_workflow_does_not_come_into_line(put_by: Execution):
    changing.pause_task(put_by.tenant_id, put_by.task_id, Pause(), actor=ACTOR)
    Execution.objects.filter(pk=put_by.id).update(reason="")

    forget()

    assert Execution.objects.get(pk=put_by.id).key_place == -1


def test_a_place_that_the_version_before_has_left_to_a_run_that_waits_is_given_back(
    put_by: Execution,
):
    Execution.objects.filter(pk=put_by.id).update(key_place=1)

    forget()

    assert Execution.objects.get(pk=put_by.id).key_place == -1


def test_what_waits_for_its_tenant_as_it_should_stays_as_it_is(put_by: Execution):
    assert in_flight.mend_places() == 0


def crossed_keys(tenant: Tenant) -> tuple[Task, Task]:
    """Return two workflows that hold a key each, and need a run with the other one's."""
    keys = [{"key": "a", "max": 1}, {"key": "b", "max": 1}]
    inner = [make_workflow(tenant, [calls("c")], concurrency=key) for key in keys]
    return (
        holder(tenant, inner[1], concurrency=keys[0]),
        holder(tenant, inner[0], concurrency=keys[1]),
    )


def gate_and_key(tenant: Tenant) -> tuple[Task, Task]:
    """Return two workflows of which one holds the gate that the other one needs, and its key."""
    inner = make_workflow(tenant, [calls("c")], concurrency=KEY)
    first = holder(tenant, inner, schedule=queueing(1))
    return first, holder(tenant, first, concurrency={"key": "k", "max": 1})


@pytest.mark.parametrize("pair", [crossed_keys, gate_and_key])
def test_of_runs_that_wait_for_each_other_one_fails_and_the_other_goes_on(
    tenant: Tenant, pair: Callable[[Tenant], tuple[Task, Task]]
):
    found = [ask(task) for task in pair(tenant)]
    begin()

    rest()

    assert sorted(ends(*found)) == ["FAILED", "SUCCEEDED"]
    [failed] = [run for run in found if status_of(run) == "FAILED"]
    assert failures_of(failed) == ["runs_wait_for_each_other"]
    assert not waiting()


@pytest.mark.parametrize("most", [1, 2])
def test_a_run_within_a_run_of_the_same_key_takes_no_place_of_its_own(tenant: Tenant, most: int):
    key = {"key": "k", "max": most}
    inner = make_workflow(tenant, [calls("c")], concurrency=key)
    middle = make_workflow(tenant, [runs("sub", inner)])
    found = [ask(holder(tenant, middle, concurrency=key)) for _ in range(3)]

    rest()

    assert ends(*found) == ["SUCCEEDED"] * 3


def test_steps_in_flight_and_keys_hold_each_other_up_only_for_a_while(tenant: Tenant):
    limit(tenant, steps_in_flight=1, runs_in_flight=2)
    _, needed = of_key(tenant)
    tasks = [holder(tenant, needed), holder(tenant, needed, concurrency=KEY)]
    found = [ask(task) for task in (*tasks, *tasks, needed)]

    rest()

    assert ends(*found) == ["SUCCEEDED"] * 5


def test_what_a_pause_holds_is_no_wait_of_runs_for_each_other(tenant: Tenant):
    first, second = crossed_keys(tenant)
    found = [ask(first), ask(second)]
    begin()
    end_all()
    [inner] = Task.objects.filter(concurrency_key="b").exclude(pk=second.pk)
    changing.pause_task(tenant.id, inner.id, Pause(), actor=ACTOR)

    while take_turns():
        pass

    assert ends(*found) == ["RUNNING", "RUNNING"]
