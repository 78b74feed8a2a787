from __future__ import annotations

from collections.abc import Callable
from datetime import timedelta
from typing import Any

import pytest
from django.db import transaction

from executions.changes import bulk_pause
from executions.changes.changing import resume_task
from executions.loop.clocks import database_now
from executions.models import Execution
from executions.ownership.partitions import Partitions
from tasks.models import Pause, Task
from tenants.models import Tenant
from tests.concurrency.scheduler_beside import prepare_and_hand_out
from tests.executions.changes.changes import patch, pause
from tests.executions.changes.standing import end, stand
from tests.factories import (
    ACTOR,
    daily,
    every_second,
    finish,
    make_task,
    once,
    pass_guard,
    prepare,
    release,
    reload,
    start,
)
from wire.messages import Claimed

Beside = Callable[[Callable[[], Any]], Any]


def may_start() -> int:
    """Return how many executions could still be handed out."""
    waiting = Execution.objects.filter(status__in=["PENDING", "RETRYING", "QUEUED"])
    return waiting.exclude(held=True).count() + waiting.filter(status="QUEUED").count()


def test_a_task_that_is_being_made_while_a_pause_begins_is_held(alpha: Tenant, beside: Beside):
    with transaction.atomic():
        task = make_task(alpha)
        pausing = beside(lambda: stand(alpha))
        assert pausing.waits_for_a_lock()

    made = pausing.join()

    assert (reload(task).status, reload(task).pause_id) == ("PAUSED", made.id)


def test_a_task_that_is_made_after_a_pause_has_begun_waits_for_it(alpha: Tenant, beside: Beside):
    with transaction.atomic():
        made = stand(alpha)
        creating = beside(lambda: make_task(alpha))
        assert creating.waits_for_a_lock()

    assert creating.join().pause_id == made.id


def test_an_edit_and_a_pause_that_begins_never_miss_each_other(alpha: Tenant, beside: Beside):
    task = make_task(alpha, daily(labels={}))

    with transaction.atomic():
        patch(task, {"labels": {"team": "billing"}})
        pausing = beside(lambda: stand(alpha))
        assert pausing.waits_for_a_lock()

    made = pausing.join()
    assert reload(task).pause_id == made.id


def test_a_task_that_is_being_resumed_while_a_pause_begins_is_held(alpha: Tenant, beside: Beside):
    task = make_task(alpha)
    pause(task)

    with transaction.atomic():
        resume_task(alpha.id, task.id, actor=ACTOR)
        pausing = beside(lambda: stand(alpha))
        assert pausing.waits_for_a_lock()

    made = pausing.join()
    assert reload(task).pause_id == made.id


def test_tasks_of_another_tenant_wait_for_nobody(alpha: Tenant, beside: Beside):
    other = Tenant.objects.create(name="Other")

    with transaction.atomic():
        stand(alpha)
        assert beside(lambda: make_task(other)).join().status == "SCHEDULED"


def test_nothing_of_a_task_that_is_being_paused_is_claimed_or_written(
    alpha: Tenant, beside: Beside
):
    task = make_task(alpha, every_second(labels={"team": "billing"}))
    prepare()

    with transaction.atomic():
        stand(alpha)
        assert beside(release).join() == []
        beside(prepare).join()

    prepare()
    assert release() == []
    now = database_now()
    assert not Execution.objects.filter(task_id=task.id, scheduled_for__gt=now).exists()


@pytest.mark.parametrize("worker", ["waits", "starts", "ends"])
def test_what_the_scheduler_and_workers_do_before_the_tasks_are_locked_is_taken_back(
    alpha: Tenant, beside: Beside, monkeypatch: pytest.MonkeyPatch, worker: str
):
    tasks = [make_task(alpha, once(labels={"team": "billing"})) for _ in range(3)]
    lock = bulk_pause._ids
    handed: list[Claimed] = []

    def ids(statement: str, **parameters: Any) -> Any:
        if statement == "pausing/lock_pausable" and not handed:
            handed.extend(beside(lambda: prepare_and_hand_out(worker)).join())
        return lock(statement, **parameters)

    monkeypatch.setattr(bulk_pause, "_ids", ids)

    stand(alpha)

    assert len(handed) == 3
    assert pass_guard(handed[1:]) == [0, 0]
    assert may_start() == 0
    assert {reload(task).status for task in tasks} == {"PAUSED"}
    states = sorted(Execution.objects.values_list("status", flat=True))
    first = {"waits": "PENDING", "starts": "RUNNING", "ends": "RETRYING"}[worker]
    assert states == sorted(["PENDING", "PENDING", first])


def test_a_recorder_and_a_pause_do_not_meet_in_opposite_orders(alpha: Tenant, beside: Beside):
    tasks = [make_task(alpha, once(labels={"team": "billing"})) for _ in range(4)]
    prepare()
    handed = release()
    start(handed)

    with transaction.atomic():
        for row in handed:
            finish(row)
        pausing = beside(lambda: stand(alpha))
        assert pausing.waits_for_a_lock()

    pausing.join()
    assert {reload(task).status for task in tasks} == {"COMPLETED"}


def test_two_who_end_a_pause_end_it_once(alpha: Tenant, beside: Beside):
    task = make_task(alpha)
    made = stand(alpha)

    with transaction.atomic():
        assert end(made) == 1
        second = beside(lambda: bulk_pause.end(made, actor=ACTOR, now=database_now()))
        assert second.waits_for_a_lock()

    assert second.join() is False
    assert reload(task).status == "SCHEDULED"


def test_a_pause_that_begins_while_another_ends_holds_its_tasks(alpha: Tenant, beside: Beside):
    task = make_task(alpha)
    first = stand(alpha)

    with transaction.atomic():
        end(first)
        pausing = beside(lambda: stand(alpha, "tenant", ""))
        assert pausing.waits_for_a_lock()

    second = pausing.join()
    assert (reload(task).status, reload(task).pause_id) == ("PAUSED", second.id)


def test_a_task_that_is_handed_to_a_pause_as_that_ends_is_let_go(alpha: Tenant, beside: Beside):
    task = make_task(alpha)
    first, second = stand(alpha), stand(alpha, "tenant", "")

    with transaction.atomic():
        end(first)
        # Both ends come before either is seen by the other.
        ending = beside(lambda: end(second))
        assert ending.waits_for_a_lock()
    ending.join()

    partitions = Partitions()
    partitions.run_once()
    bulk_pause.end_due(partitions)
    assert (reload(task).status, reload(task).pause_id) == ("SCHEDULED", None)


def test_two_schedulers_let_go_what_one_would(alpha: Tenant, beside: Beside):
    for _ in range(6):
        make_task(alpha)
    made = stand(alpha, until=database_now() + timedelta(hours=1))
    Pause.objects.update(until=database_now() - timedelta(seconds=1))
    partitions = Partitions()
    partitions.run_once()

    with transaction.atomic():
        bulk_pause.end(made, actor=ACTOR, now=database_now())
        assert bulk_pause.let_go(made, database_now(), 4) == 4
        other = beside(lambda: bulk_pause.end_due(partitions))
        assert other.waits_for_a_lock()

    done, _ = other.join()
    assert done == 2
    assert set(Task.objects.values_list("status", "pause_id")) == {("SCHEDULED", None)}
