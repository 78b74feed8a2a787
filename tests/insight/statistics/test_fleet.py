from __future__ import annotations

from datetime import timedelta

import pytest

from executions.complete.outcome_stream import OutcomeConsumer, ensure_group
from executions.external.pull_leases import Ask, noticed
from executions.loop.clocks import database_now
from executions.models import PartitionLease, SchedulerNode
from executions.ownership.partitions import Partitions
from insight.statistics import partition_map, recorders, schedulers, workers
from shared.conf import conf
from tenants.models import Tenant
from tests.executions.leasing import POOL, call, take, work
from tests.support.beats import beat, silence

pytestmark = pytest.mark.django_db


def test_a_scheduler_is_shown_with_its_partitions():
    partitions = Partitions()
    partitions.run_once()

    (found,) = schedulers()

    assert (found.id, found.live, found.partitions) == (partitions.node, True, 256)
    assert f"{found.name}@{found.host}" == partitions.name
    assert found.silent_seconds < 60


def test_a_scheduler_that_fell_silent_is_not_live():
    partitions = Partitions()
    partitions.run_once()
    long_ago = database_now() - timedelta(seconds=conf().partition_lease_seconds + 1)
    SchedulerNode.objects.update(heartbeat_at=long_ago, lease_expires_at=long_ago)

    (found,) = schedulers()

    assert (found.live, found.partitions) == (False, 0)


def test_the_map_has_every_partition_with_owner_and_epoch():
    assert all(partition.owner is None for partition in partition_map())
    partitions = Partitions()
    partitions.run_once()

    found = partition_map()

    assert [partition.partition for partition in found] == list(range(256))
    assert {partition.owner for partition in found} == {partitions.node}
    assert all(partition.epoch == partitions.held[partition.partition] for partition in found)


def test_a_lease_that_has_ended_has_no_owner():
    Partitions().run_once()
    PartitionLease.objects.filter(partition=7).update(expires_at=database_now())

    unowned = [partition.partition for partition in partition_map() if partition.owner is None]

    assert unowned == [7]


def test_a_worker_is_what_it_says_of_itself():
    beat(
        "mail@host-1:42",
        pool="mail",
        host="host-1",
        pid=42,
        running=3,
        held=2,
        version="1.2.3",
        cpu_percent=12.5,
        memory_bytes=1024,
    )

    (found,) = workers()

    assert (found.name, found.host, found.pid, found.pool) == ("mail", "host-1", 42, "mail")
    assert (found.capacity, found.in_flight, found.held) == (4, 3, 2)
    assert (found.version, found.cpu_percent, found.memory_bytes) == ("1.2.3", 12.5, 1024)
    assert found.state == "live"


def test_a_worker_drains_or_is_lost():
    beat("a@h:1", draining=True)
    beat("b@h:2")
    silence("b@h:2", conf().worker_lost_seconds + 5)

    assert [(worker.name, worker.state) for worker in workers()] == [
        ("a", "draining"),
        ("b", "lost"),
    ]


def test_a_worker_without_a_description_is_named_by_its_id():
    silence("c@some-host:9", 0)

    (found,) = workers()

    assert (found.name, found.host, found.version) == ("c", "some-host", "")
    assert (found.capacity, found.cpu_percent, found.memory_bytes) == (0, None, None)


def test_no_recorder_has_asked_a_fresh_server():
    assert recorders() == []


def test_a_recorder_that_asked_a_moment_ago_lives():
    ensure_group()
    OutcomeConsumer("recorder-1@host", 0.01).read(1)

    (found,) = recorders()

    assert (found.name, found.live, found.pending) == ("recorder-1@host", True, 0)
    assert found.silent_seconds < 60


def test_a_pull_worker_has_in_flight_what_it_has_leased_and_not_what_it_asked_for(alpha: Tenant):
    work(alpha, 3)
    noticed(alpha.id, Ask(pool=POOL, worker="w-1", most=7), "192.0.2.1")
    lease = take(alpha, 2)[0]
    take(alpha, 1, worker="w-2")

    [before] = workers(alpha.id)
    call(lease.execution_id, "complete", lease.token)
    [after] = workers(alpha.id)

    assert (before.leases, before.name, before.capacity) == (True, "w-1", 7)
    assert (before.in_flight, after.in_flight) == (2, 1)
