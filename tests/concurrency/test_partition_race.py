from __future__ import annotations

from collections.abc import Callable
from datetime import timedelta
from typing import Any

import pytest
from django.db import transaction

from executions.loop.clocks import database_now
from executions.materialize import instants
from executions.materialize import stage as materialize
from executions.models import PartitionLease, SchedulerNode
from executions.ownership.partitions import Partitions
from shared import sql
from tasks.models import Task
from tenants.models import Tenant
from tests.factories import every_second, executions_of, make_task, reload

Beside = Callable[[Callable[[], Any]], Any]


def die(partitions: Partitions) -> None:
    """Let the scheduler have been silent for as long as its lease lasts."""
    past = database_now() - timedelta(seconds=20)
    SchedulerNode.objects.filter(id=partitions.node).update(
        heartbeat_at=past, lease_expires_at=past
    )


def test_a_partition_that_is_being_taken_is_left_to_whoever_takes_it(ground: None, beside: Beside):
    dead = Partitions()
    dead.run_once()
    die(dead)
    first, second = Partitions(), Partitions()

    with transaction.atomic():
        first.run_once()
        # It does not wait for the first one's locks.
        beside(second.run_once).join()

    owned = set(first.held) & set(second.held)
    epochs = dict(PartitionLease.objects.values_list("partition", "epoch"))
    assert not owned
    assert all(epochs[number] == epoch for number, epoch in first.held.items())


def come_back_during_a_takeover(beside: Beside, *, undone: bool) -> tuple[Partitions, Partitions]:
    """Return a scheduler whose lease ended, and the one that took over as it came back."""
    slow, fast = Partitions(), Partitions()
    slow.run_once()
    die(slow)
    with transaction.atomic():
        # The takeover holds the rows, which the other still reads as its own.
        fast.run_once()
        beside(slow.run_once).join()
        transaction.set_rollback(undone)
    return slow, fast


def test_a_scheduler_that_comes_back_during_a_takeover_takes_nothing_back(
    ground: None, beside: Beside
):
    slow, fast = come_back_during_a_takeover(beside, undone=False)

    assert not slow.held
    assert fast.held == dict(PartitionLease.objects.values_list("partition", "epoch"))
    assert all(lease.owner == fast.node for lease in PartitionLease.objects.all())


def test_a_takeover_that_was_undone_leaves_the_partitions_to_the_next_scheduler(
    ground: None, beside: Beside
):
    slow, _ = come_back_during_a_takeover(beside, undone=True)
    slow.run_once()

    assert slow.held == dict(PartitionLease.objects.values_list("partition", "epoch"))
    assert set(slow.held.values()) == {2}


@pytest.mark.parametrize("moment", ["before the rows", "before the cursor"])
def test_a_zombie_that_was_overtaken_in_its_transaction_writes_no_instant_twice(
    alpha: Tenant, beside: Beside, monkeypatch: pytest.MonkeyPatch, moment: str
):
    task = make_task(alpha, every_second())
    zombie, heir = Partitions(), Partitions()
    zombie.run_once()
    moments = {
        "before the rows": "materialize/insert_open",
        "before the cursor": "materialize/advance_cursors",
    }
    rows_of = sql.rows

    def take_over() -> None:
        die(zombie)
        heir.run_once()

    def overtaken(path: str, parameters: dict[str, Any] | None = None) -> Any:
        if path == moments[moment]:
            monkeypatch.setattr(materialize, "rows", rows_of)
            monkeypatch.setattr(instants, "rows", rows_of)
            beside(take_over).join()
        return rows_of(path, parameters)

    monkeypatch.setattr(materialize, "rows", overtaken)
    monkeypatch.setattr(instants, "rows", overtaken)
    materialize.run_once(zombie)
    assert reload(task).next_run_at == task.next_run_at

    while not materialize.run_once(heir).next_in:
        pass

    rows = executions_of(task)
    assert len({row.scheduled_for for row in rows}) == len(rows)
    assert reload(task).occurrence_count == len(rows)
    cursor, first = reload(task).next_run_at, task.next_run_at
    assert cursor is not None
    assert first is not None
    assert (cursor - first).total_seconds() == len(rows)


def test_a_task_that_somebody_edits_is_left_for_the_next_pass(alpha: Tenant, beside: Beside):
    task = make_task(alpha, every_second())
    partitions = Partitions()
    partitions.run_once()

    with transaction.atomic():
        Task.objects.locked().get(pk=task.id)
        counts = beside(lambda: materialize.run_once(partitions)).join()

    assert counts.done == 0
    # It looks again soon, and does not spin meanwhile.
    assert counts.next_in == 1.0
    assert materialize.run_once(partitions).done == 1


def test_two_schedulers_at_once_write_each_instant_once(alpha: Tenant, beside: Beside):
    tasks = [make_task(alpha, every_second(name=str(number))) for number in range(10)]
    first, second = Partitions(), Partitions()
    for _ in range(3):
        first.run_once()
        second.run_once()
    assert first.held
    assert second.held

    def drain(partitions: Partitions) -> int:
        done = 0
        while True:
            counts = materialize.run_once(partitions)
            done += counts.done
            if counts.next_in:
                return done

    others = [beside(lambda: drain(second)), beside(lambda: drain(first))]
    # At least once each: on a slow machine the next second comes meanwhile.
    assert sum(other.join() for other in others) >= len(tasks)

    for task in tasks:
        rows = executions_of(task)
        assert len({row.scheduled_for for row in rows}) == len(rows)
        assert len(rows) >= 15
