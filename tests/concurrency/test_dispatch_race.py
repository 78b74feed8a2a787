from __future__ import annotations

from collections.abc import Callable
from typing import Any

from django.db import transaction

from executions.changes.changing import pause_task
from executions.loop.clocks import database_now
from executions.materialize import stage as materialize
from executions.materialize import unowned_work
from executions.models import Execution
from executions.ownership.partitions import Partitions, Unowned
from tasks.models import Task
from tasks.transitions import Pause
from tenants.models import Tenant
from tests.factories import ACTOR, every_second, make_task, once, prepare, release, reload

Beside = Callable[[Callable[[], Any]], Any]


def test_two_dispatchers_never_claim_the_same_work(alpha: Tenant, beside: Beside):
    for number in range(20):
        make_task(alpha, once(name=str(number)))
    prepare()

    with transaction.atomic():
        mine = release(8)
        # The other one skips what is locked and does not wait.
        others = beside(lambda: release(100)).join()

    assert len(mine) == 8
    assert len(others) == 12
    assert not {row.id for row in mine} & {row.id for row in others}
    tokens = [row.token for row in [*mine, *others]]
    assert len(set(tokens)) == 20


def test_work_of_a_task_that_is_being_paused_is_not_claimed(alpha: Tenant, beside: Beside):
    task = make_task(alpha, once())
    prepare()

    with transaction.atomic():
        pause_task(alpha.id, task.id, Pause(), actor=ACTOR)
        assert beside(release).join() == []

    assert release() == []


def test_neglected_work_of_a_task_that_is_being_paused_stays_with_the_pause(
    alpha: Tenant, beside: Beside
):
    task = make_task(alpha, every_second())
    prepare()
    Execution.objects.update(due_at=database_now().replace(year=2020))
    partitions = Partitions()
    partitions.run_once()
    now = database_now()
    partitions.neglected = dict.fromkeys(partitions.held, Unowned(now.replace(year=2019), now))

    with transaction.atomic():
        Task.objects.locked().get(pk=task.id)
        beside(lambda: unowned_work.take_up(partitions)).join()

    # Neither the rows nor the cursor have moved without each other.
    assert Execution.objects.filter(task_id=task.id).count() == reload(task).occurrence_count
    assert materialize.run_once(partitions).next_in >= 0
