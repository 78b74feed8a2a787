from __future__ import annotations

import pytest
from django.db import connection

from executions import transitions
from executions.choices import Status
from executions.external.pull_leases import ready
from executions.loop.clocks import database_now
from executions.materialize import stage as materialize
from executions.models import Execution, PartitionLease
from executions.ownership import fence
from executions.ownership.partitions import Partitions
from shared.exceptions import Unavailable
from shared.sql import rows
from tenants.models import Tenant
from tests.executions.leasing import take, work
from tests.factories import (
    executions_of,
    make_task,
    once,
    pass_guard,
    prepare,
    release,
    reload,
)
from tests.support.closed_redis import closed_redis
from wire import start_guard

pytestmark = pytest.mark.django_db


def hold() -> int:
    with connection.cursor() as cursor:
        return fence.hold(cursor)


def test_behind_the_fence_no_scheduler_gets_a_partition():
    assert hold() == 256

    partitions = Partitions()
    partitions.run_once()

    assert fence.holds()
    assert partitions.held == {}
    assert partitions.run_once() > 0


def test_a_scheduler_that_held_partitions_loses_them():
    partitions = Partitions()
    partitions.run_once()
    before = dict(partitions.held)

    hold()
    partitions.run_once()

    assert partitions.held == {}
    epochs = dict(PartitionLease.objects.values_list("partition", "epoch"))
    assert all(epochs[number] > epoch + 100_000 for number, epoch in before.items())


def test_nothing_is_prepared_behind_the_fence(alpha: Tenant):
    partitions = Partitions()
    partitions.run_once()
    task = make_task(alpha, once(database_now()))

    hold()
    # The zombie's view: it still trusts its leases, and every write of its names a stale epoch.
    done = materialize.run_once(partitions)

    assert done.done == 0
    assert executions_of(task) == []
    assert reload(task).next_run_at is not None


def test_tokens_jump_past_everything_that_can_have_been_used(alpha: Tenant):
    make_task(alpha, once())
    prepare()
    [before] = release()

    hold()

    fence.take_back_released()
    fence.lift()
    [after] = release()
    assert after.id == before.id
    assert after.token > before.token + 2**39


def test_an_outcome_from_after_the_dump_changes_nothing(alpha: Tenant):
    make_task(alpha, once())
    prepare()
    [claimed] = release()
    hold()
    fence.take_back_released()

    found = transitions.mark_running([(claimed.id, claimed.token + 1, "w", database_now())])

    assert not found
    assert Execution.objects.get(pk=claimed.id).status == Status.PENDING


def test_the_fence_may_be_set_twice_and_keeps_the_moment_it_was_set_for():
    Partitions().run_once()
    hold()
    known = rows("fence/last_sign")[0][0]

    assert hold() == 0

    assert rows("fence/last_sign")[0][0] == known


def test_after_the_lift_schedulers_take_over_what_nobody_looked_after():
    hold()

    assert fence.lift() == 256
    partitions = Partitions()
    partitions.run_once()

    assert not fence.holds()
    assert len(partitions.held) == len(partitions.neglected) == 256


def test_lifting_a_fence_that_does_not_stand_changes_nothing():
    partitions = Partitions()
    partitions.run_once()

    assert fence.lift() == 0
    partitions.run_once()
    assert len(partitions.held) == 256


def test_what_was_released_and_never_started_is_taken_back(alpha: Tenant):
    for _ in range(3):
        make_task(alpha, once())
    prepare()
    claimed = release()
    pass_guard(claimed[:1])
    hold()

    assert fence.take_back_released() == 2

    states = dict(Execution.objects.values_list("id", "status"))
    assert states[claimed[0].id] == Status.RUNNING
    assert [states[row.id] for row in claimed[1:]] == [Status.PENDING] * 2


def test_without_redis_nothing_is_taken_back(alpha: Tenant, monkeypatch: pytest.MonkeyPatch):
    make_task(alpha, once())
    prepare()
    [claimed] = release()
    monkeypatch.setattr(start_guard, "client", closed_redis)

    with pytest.raises(Unavailable):
        fence.take_back_released()

    assert Execution.objects.get(pk=claimed.id).status == Status.QUEUED


def test_workers_outside_get_nothing_behind_the_fence(alpha: Tenant):
    work(alpha)
    hold()

    assert take(alpha) == []
    assert ready({1: (alpha.id, "pull.batch", "{}", 1)}) == {}

    fence.lift()
    assert len(take(alpha)) == 1
