"""Schedulers that claim from each other's partitions: takeovers, and claims at the same time."""

from __future__ import annotations

from collections.abc import Callable
from datetime import timedelta
from typing import Any

from django.db import transaction

from executions.loop.clocks import database_now
from executions.models import Execution, PartitionLease, SchedulerNode, UnownedStretch
from executions.ownership.partitions import Partitions
from tenants.models import Tenant
from tests.factories import make_tenant
from tests.support.backlogs import backlog
from tests.support.beats import beat
from tests.support.dispatching import Scheduler

Beside = Callable[[Callable[[], Any]], Any]


def scarce(scheduler: Scheduler) -> Scheduler:
    """Let the scheduler go by shares, and look at the tenants anew: no look of before serves."""
    scheduler.dispatcher.shares.note("default", scarce=True)
    scheduler.dispatcher.shares._pools.clear()
    return scheduler


def two_schedulers() -> tuple[Scheduler, Scheduler]:
    mine, other = Scheduler(), Scheduler()
    for one in (mine, other) * 2:
        one.dispatcher.partitions.run_once()
    return mine, other


def long_dead(partitions: Partitions) -> None:
    """Let the scheduler have been silent for a minute."""
    past = database_now() - timedelta(seconds=60)
    SchedulerNode.objects.filter(id=partitions.node).update(
        heartbeat_at=past, lease_expires_at=past
    )


def queued() -> int:
    return Execution.objects.filter(status="QUEUED").count()


def test_two_schedulers_that_claim_at_once_never_claim_the_same_work(alpha: Tenant, beside: Beside):
    beta = make_tenant("Beta")
    mine, other = two_schedulers()
    beat("w1", slots=100, hold=0)
    backlog(alpha, 60)
    backlog(beta, 60)

    with transaction.atomic():
        scarce(mine).dispatcher.run_once()
        # The other one skips what is locked and does not wait.
        beside(scarce(other).dispatcher.run_once).join()

    tokens = [entry["token"] for entry in [*mine.sent, *other.sent]]
    ids = [entry["id"] for entry in [*mine.sent, *other.sent]]
    assert len(set(tokens)) == len(set(ids)) == len(ids) == queued()
    assert mine.sent
    assert other.sent


def test_no_scheduler_claims_of_a_partition_that_is_taken_over_until_it_was_judged(
    alpha: Tenant, beside: Beside
):
    beta = make_tenant("Beta")
    claimer, heir = two_schedulers()
    dead = Partitions()
    for one in (claimer.dispatcher.partitions, heir.dispatcher.partitions, dead) * 2:
        one.run_once()
    theirs = min(dead.held)
    beat("w1", slots=100, hold=0)
    backlog(alpha, 5, partition=theirs)
    backlog(beta, 5, partition=theirs)
    long_dead(dead)

    # Before the takeover, while it is not committed, and after it: the work stays.
    scarce(claimer).dispatcher.run_once()
    assert queued() == 0
    with transaction.atomic():
        heir.dispatcher.partitions.run_once()
        beside(scarce(claimer).dispatcher.run_once).join()
        assert queued() == 0
    # Whichever of the two took the partition: it lasted an outage, and is to be judged.
    claimer.dispatcher.partitions.run_once()
    assert UnownedStretch.objects.filter(partition=theirs, judged=False).exists()
    scarce(claimer).dispatcher.run_once()
    assert queued() == 0

    UnownedStretch.objects.filter(partition=theirs).update(judged=True)
    scarce(claimer).dispatcher.run_once()
    assert queued() == 10


def test_a_claim_that_began_before_a_takeover_leaves_what_the_takeover_decides(
    alpha: Tenant, beside: Beside
):
    beta = make_tenant("Beta")
    claimer, _ = two_schedulers()
    beat("w1", slots=100, hold=0)
    backlog(alpha, 3)
    backlog(beta, 3)

    with transaction.atomic():
        # As a policy that skips locks the rows first.
        list(Execution.objects.filter(tenant=alpha).select_for_update())
        beside(scarce(claimer).dispatcher.run_once).join()

    assert Execution.objects.filter(tenant=alpha, status="QUEUED").count() == 0
    assert Execution.objects.filter(tenant=beta, status="QUEUED").count() == 3


def test_the_fence_of_a_restore_keeps_all_work(alpha: Tenant):
    claimer, _ = two_schedulers()
    beat("w1", slots=100, hold=0)
    backlog(alpha, 3)
    backlog(make_tenant("Beta"), 3)
    PartitionLease.objects.update(owner=alpha.id, expires_at=database_now() + timedelta(days=9))

    scarce(claimer).dispatcher.run_once()

    assert queued() == 0
