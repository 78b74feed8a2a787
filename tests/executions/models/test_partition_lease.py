from __future__ import annotations

from datetime import timedelta

import pytest

from executions.loop.clocks import database_now
from executions.models import PartitionLease, SchedulerNode
from executions.ownership.partitions import Partitions

pytestmark = pytest.mark.django_db


def test_a_partition_is_its_owners_until_the_first_of_two_ends():
    Partitions().run_once()
    now = database_now()
    SchedulerNode.objects.update(lease_expires_at=now + timedelta(hours=1))
    PartitionLease.objects.filter(partition=1).update(expires_at=now - timedelta(hours=1))
    PartitionLease.objects.filter(partition=2).update(expires_at=now + timedelta(hours=2))
    PartitionLease.objects.filter(partition=3).update(owner=None)

    ends = {
        lease.partition: lease.ends_at and (lease.ends_at - now) / timedelta(hours=1)
        for lease in PartitionLease.objects.with_ends()
    }
    assert (ends[0], ends[1], ends[2], ends[3]) == (1, -1, 1, None)
    standing = PartitionLease.objects.standing().values_list("partition", flat=True)
    assert set(standing) == set(range(256)) - {1, 3}


def test_nothing_is_anybodys_once_the_owner_has_been_silent():
    Partitions().run_once()
    SchedulerNode.objects.update(lease_expires_at=database_now() - timedelta(seconds=1))

    assert not PartitionLease.objects.standing()
