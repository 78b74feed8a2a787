"""Tasks that run once whatever happens are not planned; what may decide about them ends that."""

from __future__ import annotations

from collections.abc import Callable
from datetime import timedelta
from typing import Any

import pytest
from django.db.models import Model

from executions.changes import bulk_pause
from executions.loop.clocks import database_now
from executions.loop.lower_bounds import NEVER
from executions.materialize import plain, unowned_work
from executions.materialize import stage as materialize
from executions.models import Execution, PartitionLease, SchedulerNode
from executions.ownership.partitions import Partitions, Unowned
from shared.conf import conf
from shared.ids import execution_id
from tasks import transitions as task_transitions
from tasks.models import Task, TaskCursor
from tasks.transitions import Pause
from tenants.models import Tenant
from tests.executions.changes.changes import pause, resume
from tests.factories import daily, every_second, executions_of, make_task, once
from tests.support.events import names_of

pytestmark = pytest.mark.django_db


@pytest.fixture
def partitions() -> Partitions:
    partitions = Partitions()
    partitions.run_once()
    return partitions


def take(partitions: Partitions, each: int = 10) -> plain.Taken:
    return plain.take(partitions, NEVER, database_now(), each)


def soon(seconds: float = 5) -> dict[str, Any]:
    return once(database_now().replace(microsecond=0) + timedelta(seconds=seconds))


def test_a_plain_task_is_prepared_as_it_would_be_planned(alpha: Tenant, partitions: Partitions):
    body = soon() | {"priority": 2, "retry_policy": {"max_attempts": 3}}
    unplanned, planned = make_task(alpha, body), make_task(alpha, body)
    TaskCursor.objects.filter(task=planned).update(execution_id=None)

    assert take(partitions).tasks == 1
    while materialize.run_once(partitions).done:
        pass

    [one], [other] = executions_of(unplanned), executions_of(planned)
    own = {"id", "task_id", "partition", "created_at"}
    fields = [
        field.attname for field in Execution._meta.concrete_fields if field.attname not in own
    ]
    assert [getattr(one, name) for name in fields] == [getattr(other, name) for name in fields]
    assert one.id == execution_id(unplanned.id, one.scheduled_for)
    assert one.partition == unplanned.partition
    assert names_of(one.id) == names_of(other.id) == ["execution.materialized"]
    assert not TaskCursor.objects.exists()


def test_what_recurs_or_has_a_policy_is_not_plain(alpha: Tenant, partitions: Partitions):
    for body in (every_second(), daily(), once(schedule={"delay_seconds": 0, "jitter_seconds": 5})):
        make_task(alpha, body)

    assert take(partitions) == plain.Taken()
    assert set(TaskCursor.objects.values_list("execution_id", flat=True)) == {None}


def test_only_what_is_due_within_the_horizon_is_taken(alpha: Tenant, partitions: Partitions):
    late = make_task(alpha, soon(conf().horizon_seconds + 60))
    near = make_task(alpha, soon())

    taken = take(partitions)

    assert taken == plain.Taken(1, near.next_run_at)
    assert list(TaskCursor.objects.values_list("task_id", flat=True)) == [late.id]


@pytest.mark.parametrize("each", [1, 2, 10])
def test_passes_go_on_while_a_partition_may_have_more(
    alpha: Tenant, partitions: Partitions, each: int
):
    for _ in range(7):
        make_task(alpha, soon())
    Task.objects.update(partition=3)
    TaskCursor.objects.update(partition=3)

    assert take(partitions, each).tasks == 7


def pause_with_others(task: Task) -> None:
    now = database_now()
    task_transitions.pause([task.id], Pause(note="x"), now)
    bulk_pause.resume([task.id], now)


@pytest.mark.parametrize(
    "change",
    [Task.save, lambda task: resume(pause(task)), pause_with_others],
    ids=["edit", "pause", "pause of many"],
)
def test_a_change_of_the_task_lets_it_be_planned(
    alpha: Tenant, partitions: Partitions, change: Callable[[Task], object]
):
    task = make_task(alpha, soon())

    change(task)

    assert take(partitions).tasks == 0
    assert materialize.run_once(partitions).done == 1


def test_an_outage_lets_be_planned_what_came_due_in_it(alpha: Tenant, partitions: Partitions):
    now = database_now()
    missed, coming = make_task(alpha, once(now - timedelta(seconds=30))), make_task(alpha, soon())
    stretch = Unowned(now - timedelta(seconds=60), now)
    partitions.unowned = dict.fromkeys(partitions.held, stretch)
    partitions.neglected = dict(partitions.unowned)

    while unowned_work.take_up(partitions):
        pass

    plain_ones = TaskCursor.objects.filter(execution_id__isnull=False)
    assert [cursor.task_id for cursor in plain_ones] == [coming.id]
    assert materialize.run_once(partitions).done == 2
    assert {row.task_id for row in Execution.objects.all()} == {missed.id, coming.id}


def test_a_stale_epoch_takes_nothing(alpha: Tenant, partitions: Partitions):
    make_task(alpha, soon())
    PartitionLease.objects.update(epoch=7_000_000)

    assert take(partitions).tasks == 0
    assert TaskCursor.objects.count() == 1


@pytest.mark.parametrize(
    ("model", "field"), [(PartitionLease, "expires_at"), (SchedulerNode, "lease_expires_at")]
)
def test_a_lease_that_has_run_out_takes_nothing(
    alpha: Tenant, partitions: Partitions, model: type[Model], field: str
):
    make_task(alpha, soon())
    model._default_manager.update(**{field: database_now() - timedelta(seconds=1)})

    assert take(partitions).tasks == 0


@pytest.mark.logs("plain_tasks.refused", "task.unreadable")
def test_what_the_ledger_refuses_is_left_to_be_planned_one_by_one(
    alpha: Tenant, partitions: Partitions
):
    broken, good = make_task(alpha, soon()), make_task(alpha, soon())
    Task.objects.filter(pk=broken.pk).update(max_attempts=0)

    assert take(partitions).tasks == 0
    assert materialize.run_once(partitions).done == 2

    assert executions_of(good)
    assert not executions_of(broken)
    assert Task.objects.get(pk=broken.pk).status == "PAUSED"


def test_a_paused_task_is_not_taken(alpha: Tenant, partitions: Partitions):
    pause(make_task(alpha, soon()))

    assert take(partitions).tasks == 0


def test_nothing_before_the_bound_is_looked_for(alpha: Tenant, partitions: Partitions):
    make_task(alpha, soon())
    after = database_now() + timedelta(seconds=10)

    assert plain.take(partitions, after, database_now(), 10).tasks == 0
    assert take(partitions).tasks == 1
