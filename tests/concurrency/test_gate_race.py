"""The gate beside another scheduler, the recorder, an edit and a pause, in real sessions."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from datetime import timedelta
from typing import Any

import pytest
from django.db import transaction
from django.db.models import F

from executions.changes import withdrawal
from executions.gate import stage as gate
from executions.loop.clocks import database_now
from executions.loop.counts import Counts
from executions.models import Execution, SchedulerNode
from executions.ownership.partitions import Partitions
from shared import sql
from shared.notify import Listener
from tasks.models import Task, TaskBudget
from tenants.models import Tenant
from tests.executions.changes.changes import patch, pause
from tests.factories import every_second, executions_of, finish, make_task, prepare, release, start
from tests.support.waiting import until

Beside = Callable[[Callable[[], Any]], Any]
LONG_AGO = timedelta(seconds=30)


@pytest.fixture
def listener() -> Iterator[Listener]:
    heard = Listener()
    yield heard
    heard.close()


def limited(tenant: Tenant, **schedule: Any) -> Task:
    """Return a task with many instants that are due and wait for the gate."""
    task = make_task(tenant, every_second(schedule={"every": "PT1S", **schedule}))
    prepare()
    Execution.objects.filter(task_id=task.id).update(due_at=F("due_at") - LONG_AGO)
    return task


def scheduler() -> Partitions:
    partitions = Partitions()
    partitions.run_once()
    return partitions


def take_over(dead: Partitions) -> Partitions:
    """Return a scheduler that has taken everything of another that was silent for long."""
    SchedulerNode.objects.filter(id=dead.node).update(
        heartbeat_at=F("heartbeat_at") - LONG_AGO, lease_expires_at=F("lease_expires_at") - LONG_AGO
    )
    heir = scheduler()
    heir.neglected = {}  # the misfire policies have had their say
    return heir


def admitted(task: Task) -> int:
    return sum(not row.gated for row in executions_of(task, "PENDING"))


@pytest.mark.parametrize("moment", ["before it locks", "before it admits"])
def test_a_zombie_and_its_heir_let_no_more_go_than_the_limit(
    alpha: Tenant, beside: Beside, monkeypatch: pytest.MonkeyPatch, moment: str
):
    task = limited(alpha, max_concurrent=2)
    zombie = scheduler()
    heirs: list[Counts] = []
    rows, run = sql.rows, sql.run

    def overtake() -> None:
        monkeypatch.setattr(gate, "rows", rows)
        monkeypatch.setattr(gate, "run", run)
        heirs.append(beside(lambda: gate.run_once(take_over(zombie))).join())

    def rows_of_zombie(path: str, parameters: Any = None) -> Any:
        if path == "gate/lock_due" and moment == "before it locks":
            overtake()
        return rows(path, parameters)

    def run_of_zombie(path: str, parameters: Any = None) -> int:
        if path == "gate/admit" and moment == "before it admits":
            overtake()
        return run(path, parameters)

    monkeypatch.setattr(gate, "rows", rows_of_zombie)
    monkeypatch.setattr(gate, "run", run_of_zombie)
    done = gate.run_once(zombie).done

    assert len(heirs) == 1
    assert sorted([done, heirs[0].done]) == [0, 2]
    # Whoever found it taken looks again soon.
    assert heirs[0].next_in <= 1.0
    assert admitted(task) == 2


def test_many_looks_at_once_let_no_more_go_than_the_limit(alpha: Tenant, beside: Beside):
    tasks = [limited(alpha, max_concurrent=3, overlap_policy="queue_all") for _ in range(5)]
    partitions = scheduler()

    for _ in range(3):
        for look in [beside(lambda: gate.run_once(partitions)) for _ in range(6)]:
            look.join()

        assert {admitted(task) for task in tasks} == {3}


def test_a_recorder_that_ends_a_run_while_the_gate_looks_wakes_it(
    alpha: Tenant, beside: Beside, listener: Listener
):
    task = limited(alpha, overlap_policy="queue_all")
    partitions = scheduler()
    gate.run_once(partitions)
    (claimed,) = release()
    start([claimed])
    listener.drain()

    with transaction.atomic():
        finish(claimed)
        # The end is not committed yet: the place is taken still.
        looked = beside(lambda: gate.run_once(partitions)).join()
        assert (looked.done, admitted(task)) == (0, 0)
        assert listener.drain() is None

    until(lambda: listener.drain() is not None)
    assert gate.run_once(partitions).done == 1


def test_a_task_that_somebody_edits_is_left_for_the_next_look(alpha: Tenant, beside: Beside):
    task = limited(alpha, overlap_policy="skip")
    partitions = scheduler()

    with transaction.atomic():
        withdrawal.lock(task.id)
        counts = beside(lambda: gate.run_once(partitions)).join()

    assert counts.done == 0
    assert 0 < counts.next_in <= 0.1
    assert gate.run_once(partitions).done > 1


@pytest.mark.parametrize("change", ["edit", "pause"])
def test_a_change_waits_for_the_gate_and_then_holds_for_what_it_let_go(
    alpha: Tenant, beside: Beside, monkeypatch: pytest.MonkeyPatch, change: str
):
    task = limited(alpha, overlap_policy="queue_all", max_concurrent=4)
    partitions = scheduler()
    run = sql.run
    changes: list[Any] = []

    def change_meanwhile(path: str, parameters: Any = None) -> int:
        work = {
            "edit": lambda: patch(task, {"schedule": {"max_concurrent": 1}}),
            "pause": lambda: pause(task),
        }
        changes.append(beside(work[change]))
        assert changes[0].waits_for_a_lock()
        return run(path, parameters)

    monkeypatch.setattr(gate, "run", change_meanwhile)
    gate.run_once(partitions)
    monkeypatch.setattr(gate, "run", run)
    changes[0].join()

    # What had been let go before comes back to the gate with the edit, and is held by the pause.
    gate.run_once(partitions)
    assert len(release()) == (1 if change == "edit" else 0)


def budgeted(tenant: Tenant, limit: int) -> Task:
    """Return a task with a budget of runs, and instants that come within the next seconds."""
    budget = [{"unit": "runs", "limit": limit, "per": "day"}]
    task = make_task(tenant, every_second(schedule={"every": "PT1S"}, budget=budget))
    prepare()
    # The day ends for no test.
    TaskBudget.objects.update(resets_at=database_now() + timedelta(hours=1))
    return task


def spent(task: Task) -> tuple[int, int]:
    """Return how many runs the budget has counted, and how many the gate has let through."""
    counted = Execution.objects.filter(task_id=task.id, counted=True).count()
    return int(TaskBudget.objects.get(task_id=task.id).used), counted


def test_many_looks_at_once_count_each_run_that_is_admitted_ahead_once(
    alpha: Tenant, beside: Beside
):
    ample, small = budgeted(alpha, 100), budgeted(alpha, 2)
    partitions = scheduler()

    for look in [beside(lambda: gate.run_once(partitions)) for _ in range(6)]:
        look.join()

    used, counted = spent(ample)
    assert used == counted >= 2
    assert spent(small) == (2, 2)


@pytest.mark.parametrize(
    "change",
    [
        pytest.param(lambda task: patch(task, {"schedule": {"every": "P7D"}}), id="schedule"),
        pytest.param(
            lambda task: patch(task, {"budget": [{"unit": "runs", "limit": 1}]}), id="budget"
        ),
        pytest.param(lambda task: pause(task), id="pause"),
    ],
)
def test_a_change_beside_the_gate_gives_back_what_was_admitted_ahead(
    alpha: Tenant, beside: Beside, monkeypatch: pytest.MonkeyPatch, change: Callable[[Task], Any]
):
    task = budgeted(alpha, 100)
    partitions = scheduler()
    run = sql.run
    changes: list[Any] = []

    def change_meanwhile(path: str, parameters: Any = None) -> int:
        changes.append(beside(lambda: change(task)))
        assert changes[0].waits_for_a_lock()
        return run(path, parameters)

    monkeypatch.setattr(gate, "run", change_meanwhile)
    admitted_ahead = gate.run_once(partitions).done
    monkeypatch.setattr(gate, "run", run)
    changes[0].join()

    used, counted = spent(task)
    assert used == counted <= admitted_ahead
    gate.run_once(partitions)
    used, counted = spent(task)
    assert used == counted <= admitted_ahead
    assert used <= TaskBudget.objects.get(task_id=task.id).most
