from __future__ import annotations

from datetime import timedelta

import pytest

from executions.changes import ending_pauses, withdrawal
from executions.changes.changing import pause_task
from executions.loop.clocks import database_now
from executions.models import Execution
from executions.ownership.partitions import Partitions
from tasks.models import Task
from tasks.transitions import Pause
from tenants.models import Tenant
from tests.factories import ACTOR, daily, make_task, once, prepare, reload
from tests.support.cursors import change_task

pytestmark = pytest.mark.django_db


@pytest.fixture
def partitions() -> Partitions:
    partitions = Partitions()
    partitions.run_once()
    return partitions


def paused(tenant: Tenant, seconds: float | None) -> Task:
    task = make_task(tenant, daily())
    until = None if seconds is None else database_now() + timedelta(seconds=seconds)
    pause_task(tenant.id, task.id, Pause(until), actor=ACTOR)
    return task


def long_ago() -> None:
    """Let the pauses have ended by the time of this transaction."""
    Task.objects.filter(paused_until__isnull=False).update(
        paused_until=database_now() - timedelta(minutes=5)
    )


def test_a_pause_whose_time_is_over_ends(alpha: Tenant, partitions: Partitions):
    task = paused(alpha, 60)
    long_ago()

    assert ending_pauses.run_once(partitions).done == 1

    task = reload(task)
    assert (task.status, task.paused_until, task.paused_at) == ("SCHEDULED", None, None)
    assert task.resumed_at is not None
    assert ending_pauses.run_once(partitions).done == 0


def test_pauses_that_last_are_left_alone(alpha: Tenant, partitions: Partitions):
    tasks = [paused(alpha, 60), paused(alpha, None)]

    assert ending_pauses.run_once(partitions).done == 0

    assert {reload(task).status for task in tasks} == {"PAUSED"}


def test_waiting_work_is_let_go(alpha: Tenant, partitions: Partitions):
    task = make_task(alpha, once(database_now() - timedelta(seconds=1)))
    partitions.release_all()
    prepare()
    Execution.objects.update(status="RETRYING", attempt=1)
    pause_task(alpha.id, task.id, Pause(database_now()), actor=ACTOR)
    assert Execution.objects.get().held
    long_ago()
    partitions.run_once()

    ending_pauses.run_once(partitions)

    assert not Execution.objects.get().held


def test_only_held_partitions_are_resumed(alpha: Tenant):
    paused(alpha, 60)
    long_ago()

    assert ending_pauses.run_once(Partitions()).done == 0


@pytest.mark.parametrize(
    "meanwhile",
    [
        {"paused_until": None},
        {"status": "SCHEDULED"},
        {"deleted_at": database_now},
    ],
)
def test_what_changed_meanwhile_is_left_alone(
    alpha: Tenant,
    partitions: Partitions,
    monkeypatch: pytest.MonkeyPatch,
    meanwhile: dict[str, object],
):
    task = paused(alpha, 60)
    long_ago()
    lock = withdrawal.lock

    def changed(task_id: object) -> object:
        values = {name: value() if callable(value) else value for name, value in meanwhile.items()}
        change_task(task.id, **values)
        return lock(task.id)

    monkeypatch.setattr(withdrawal, "lock", changed)

    assert ending_pauses.run_once(partitions).done == 0
    assert reload(task).resumed_at is None
