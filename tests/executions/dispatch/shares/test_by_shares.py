"""Scarce pools: weights, priority within a tenant, one or several schedulers, modes that switch."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from datetime import timedelta
from typing import Any
from uuid import UUID

import pytest
from django.db.models import F

from executions.dispatch import scarcity
from executions.dispatch.destination_capacity import Pass
from executions.dispatch.shares import flows, levels
from executions.dispatch.shares.flows import Flows
from executions.dispatch.shares.pace import Paces
from executions.dispatch.tenant_limits import TenantLimits
from executions.loop.clocks import database_now
from executions.models import Destination, Execution, PartitionLease, ShareMinute, UnownedStretch
from shared.conf import conf
from tenants.models import Tenant
from tests.factories import make_tenant
from tests.support.backlogs import backlog, take_queued, weigh
from tests.support.beats import beat
from tests.support.dispatching import Scheduler
from wire.priorities import band_of

pytestmark = pytest.mark.django_db


@pytest.fixture(autouse=True)
def all_work_is_quick(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let no tenant be limited by its pace: in these tests work ends between two counts."""
    monkeypatch.setattr(Paces, "rate", lambda *_: 1e9)


@pytest.fixture(autouse=True)
def every_pass_looks(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let no look serve for two passes, however quick these are."""
    monkeypatch.setattr(flows, "_SECONDS", 0.0)
    monkeypatch.setattr(flows, "_TIMES", 0)


@pytest.fixture
def gamma() -> Tenant:
    return make_tenant("Gamma")


@pytest.fixture
def scheduler() -> Scheduler:
    return Scheduler()


def saturate(schedulers: Sequence[Scheduler], rounds: int) -> Counter[UUID]:
    """Let schedulers pass in turns, each time with free workers; return what tenants received.

    The first passes find out that capacity is scarce, and how fast work ends.
    """
    got: Counter[UUID] = Counter()
    for number in range(rounds + 4):
        for scheduler in schedulers:
            scheduler.dispatcher.partitions.run_once()
            scheduler.dispatcher.run_once()
            taken = take_queued()
            if number >= 4:
                got += taken
    return got


def pass_of(scheduler: Scheduler) -> list[Any]:
    """Return the entries of one pass with free workers."""
    take_queued()
    scheduler.dispatcher.partitions.run_once()
    before = len(scheduler.sent)
    scheduler.dispatcher.run_once()
    return scheduler.sent[before:]


def made_scarce(scheduler: Scheduler) -> None:
    scheduler.dispatcher.shares.note("default", scarce=True)


def test_scarce_capacity_is_shared_by_weight(alpha, beta, gamma, scheduler):
    beat("w1", slots=70, hold=0)
    for tenant, weight in ((alpha, 1), (beta, 2), (gamma, 4)):
        weigh(tenant, weight)
    # The due times alone would give everything to the first one.
    for tenant, age in ((alpha, 900.0), (beta, 600.0), (gamma, 300.0)):
        backlog(tenant, 1000, age=age)

    got = saturate([scheduler], 10)

    whole = sum(got.values())
    assert whole == 700
    for tenant, weight in ((alpha, 1), (beta, 2), (gamma, 4)):
        assert got[tenant.id] == pytest.approx(whole * weight / 7, rel=0.05)


def test_four_schedulers_share_by_weight_though_one_tenant_has_all_its_work_in_one_partition(
    alpha, beta, gamma
):
    schedulers = [Scheduler() for _ in range(4)]
    for scheduler in schedulers * 2:
        scheduler.dispatcher.partitions.run_once()
    beat("w1", slots=70, hold=0)
    for tenant, weight in ((alpha, 1), (beta, 2), (gamma, 4)):
        weigh(tenant, weight)
    backlog(alpha, 2500, age=900)
    backlog(beta, 2500, age=600)
    backlog(gamma, 2500, age=300, partition=7)

    got = saturate(schedulers, 5)

    whole = sum(got.values())
    assert whole == 1400
    for tenant, weight in ((alpha, 1), (beta, 2), (gamma, 4)):
        assert got[tenant.id] == pytest.approx(whole * weight / 7, rel=0.05)


def test_single_places_go_round(alpha, beta, gamma, scheduler):
    beat("w1", slots=1, hold=0)
    for tenant in (alpha, beta, gamma):
        backlog(tenant, 50)

    got = saturate([scheduler], 9)

    assert got == {alpha.id: 3, beta.id: 3, gamma.id: 3}


def test_what_a_tenant_does_not_use_goes_to_the_others_in_the_same_pass(alpha, beta, scheduler):
    beat("w1", slots=100, hold=0)
    backlog(alpha, 500)
    backlog(beta, 500)
    saturate([scheduler], 0)
    Execution.objects.filter(tenant=beta, status="PENDING").delete()
    backlog(beta, 10)

    got = Counter(entry["tenant"] for entry in pass_of(scheduler))

    assert got == {str(alpha.id): 90, str(beta.id): 10}


def test_priority_counts_within_a_tenant_and_takes_nothing_from_another(alpha, beta, scheduler):
    beat("w1", slots=100, hold=0)
    task = backlog(alpha, 1000, priority=5, age=900)
    backlog(beta, 1000, priority=5, age=900)
    saturate([scheduler], 0)
    backlog(alpha, 200, priority=0, age=1, task=task)

    entries = pass_of(scheduler)

    got = Counter((entry["tenant"], entry["priority"]) for entry in entries)
    # One place in ten is for the oldest work.
    assert got == {
        (str(alpha.id), 0): 45,
        (str(alpha.id), 5): 5,
        (str(beta.id), 5): 50,
    }


def test_the_lowest_priority_waits_ten_times_as_long_as_in_order_of_time(alpha, beta, scheduler):
    beat("w1", slots=20, hold=0)
    backlog(beta, 1000)
    low = backlog(alpha, 10, priority=9, age=900)
    backlog(alpha, 1000, priority=0, age=1, task=low)
    saturate([scheduler], 0)
    left = Execution.objects.filter(tenant=alpha, priority=9, status="PENDING").count()

    # In order of time its share of ten a pass would have served them in one pass.
    passes = 0
    while Execution.objects.filter(tenant=alpha, priority=9, status="PENDING").exists():
        pass_of(scheduler)
        passes += 1

    assert left > 0
    assert passes <= 10


def test_entries_go_to_the_queues_of_their_bands(alpha, beta, scheduler):
    queues: list[tuple[str, int]] = []
    publish = scheduler.dispatcher.sending.publish

    def noted(queue: str, message: Any) -> None:
        before = len(scheduler.sent)
        publish(queue, message)
        queues.extend((queue, entry["priority"]) for entry in scheduler.sent[before:])

    scheduler.dispatcher.sending.publish = noted
    beat("w1", slots=60, hold=0)
    made_scarce(scheduler)
    for tenant in (alpha, beta):
        for priority in (0, 5, 9):
            backlog(tenant, 10, priority=priority)

    assert scheduler.dispatcher.run_once().done == 60

    names = ("high", "normal", "low")
    assert {(f"default.{names[band_of(priority)]}", priority) for _, priority in queues} == set(
        queues
    )
    assert len(queues) == 60


def test_with_capacity_for_all_due_work_goes_in_order_of_priority_and_time(alpha, beta, scheduler):
    beat("w1", slots=30, hold=0)
    backlog(alpha, 10, age=900)
    backlog(beta, 10, age=600)

    entries = pass_of(scheduler)

    assert [entry["tenant"] for entry in entries] == [str(alpha.id)] * 10 + [str(beta.id)] * 10
    assert scheduler.dispatcher.shares.pools(["default"]) == frozenset()


def test_a_pool_gets_scarce_and_ample_again(alpha, beta, scheduler):
    beat("w1", slots=40, hold=0)
    backlog(alpha, 50, age=900)
    backlog(beta, 50, age=600)

    first = pass_of(scheduler)
    assert {entry["tenant"] for entry in first} == {str(alpha.id)}
    assert scheduler.dispatcher.shares.pools(["default"]) == {"default"}

    second = Counter(entry["tenant"] for entry in pass_of(scheduler))
    assert second == {str(alpha.id): 10, str(beta.id): 30}

    third = Counter(entry["tenant"] for entry in pass_of(scheduler))
    assert third == {str(beta.id): 20}
    assert scheduler.dispatcher.shares.pools(["default"]) == frozenset()


@pytest.mark.parametrize("before", [True, False])
def test_a_pool_is_scarce_while_parked_work_waits_for_slots(
    alpha, beta, scheduler, monkeypatch: pytest.MonkeyPatch, before: bool
):
    beat("w1", slots=40, hold=0)
    monkeypatch.setattr(Pass, "awaits_slots", lambda *_: True)
    if before:
        made_scarce(scheduler)

    # All that is due is claimed, and no look at due work would find the rest.
    scheduler.run()

    assert scheduler.dispatcher.shares.pools(["default"]) == {"default"}


def test_half_of_the_hold_is_kept_for_shares(alpha, beta, scheduler, settings: Any):
    settings.PUNCTUAL = replace(conf(), dispatch_batch=10)
    beat("w1", slots=10, hold=40)
    backlog(alpha, 200, age=900)
    backlog(beta, 5, age=1)

    scheduler.run()

    queued = Counter(Execution.objects.filter(status="QUEUED").values_list("tenant_id", flat=True))
    assert queued == {alpha.id: 45, beta.id: 5}


def test_a_pool_that_another_scheduler_found_scarce_goes_by_shares(alpha, beta, scheduler):
    beat("w1", slots=20, hold=0)
    backlog(alpha, 100, age=900)
    backlog(beta, 100, age=600)
    scarcity.note(["default"], "another")

    got = Counter(entry["tenant"] for entry in pass_of(scheduler))

    assert got == {str(alpha.id): 10, str(beta.id): 10}


def test_work_of_all_ready_partitions_is_claimed(alpha, beta):
    mine, other = Scheduler(), Scheduler()
    for one in (mine, other) * 2:
        one.dispatcher.partitions.run_once()
    theirs = other.dispatcher.partitions.ready[0]
    beat("w1", slots=20, hold=0)
    backlog(alpha, 5, partition=theirs)
    backlog(beta, 5, partition=mine.dispatcher.partitions.ready[0])
    made_scarce(mine)

    got = Counter(entry["tenant"] for entry in pass_of(mine))

    assert got == {str(alpha.id): 5, str(beta.id): 5}


@pytest.mark.parametrize("case", ["no owner", "lease has ended", "not judged", "fence"])
def test_work_of_a_partition_that_is_not_ready_stays(alpha, beta, case: str):
    mine, other = Scheduler(), Scheduler()
    for one in (mine, other) * 2:
        one.dispatcher.partitions.run_once()
    theirs = other.dispatcher.partitions.ready[0]
    beat("w1", slots=20, hold=0)
    backlog(alpha, 5, partition=theirs)
    backlog(beta, 5, partition=mine.dispatcher.partitions.ready[0])
    made_scarce(mine)
    lease, now = PartitionLease.objects.filter(partition=theirs), database_now()
    if case == "no owner":
        lease.update(owner=None, expires_at=now)
    elif case == "lease has ended":
        lease.update(expires_at=now - timedelta(seconds=9))
    elif case == "fence":
        lease.update(owner=UUID(int=1), expires_at=now + timedelta(days=9))
    else:
        UnownedStretch.objects.create(
            partition=theirs, since=now - timedelta(seconds=60), until=now, judged=False
        )

    got = Counter(entry["tenant"] for entry in pass_of(mine))

    assert got == {str(beta.id): 5}


def test_tenants_whose_work_nobody_may_release_take_no_visits_from_the_others(
    alpha, beta, scheduler, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr(levels, "_VISITS", 2)
    monkeypatch.setattr(flows, "_BARREN_SECONDS", 3600.0)
    beat("w1", slots=20, hold=0)
    now = database_now()
    UnownedStretch.objects.create(
        partition=9, since=now - timedelta(seconds=60), until=now, judged=False
    )
    for number in range(12):
        backlog(make_tenant(f"Stuck {number}"), 1, partition=9)
    for tenant in (alpha, beta):
        # They have work in hand, the others have none and go before them.
        backlog(tenant, 50, partition=3)
        first = Execution.objects.filter(tenant=tenant).earliest("due_at")
        Execution.objects.filter(id=first.id).update(
            status="QUEUED",
            fencing_token=1,
            queued_at=now,
            lease_expires_at=now + timedelta(seconds=60),
        )
    made_scarce(scheduler)

    for _ in range(8):
        scheduler.dispatcher.run_once()

    got = Counter(entry["tenant"] for entry in scheduler.sent)
    assert got == {str(alpha.id): 9, str(beta.id): 9}


def test_a_restart_keeps_the_shares(alpha, beta):
    beat("w1", slots=20, hold=0)
    weigh(beta, 3)
    backlog(alpha, 2000, age=900)
    backlog(beta, 2000, age=600)
    got: Counter[UUID] = Counter()
    for _ in range(4):
        scheduler = Scheduler()
        made_scarce(scheduler)
        saturate([scheduler], 0)
        got += saturate([scheduler], 1)
        scheduler.dispatcher.partitions.release_all()

    assert got == {alpha.id: 20, beta.id: 60}


def test_a_limited_tenant_gets_its_places_and_the_others_the_rest(
    alpha, beta, gamma, scheduler, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr(TenantLimits, "look", lambda self: self.places.update({alpha.id: 3}))
    beat("w1", slots=60, hold=0)
    for tenant in (alpha, beta, gamma):
        backlog(tenant, 100)
    made_scarce(scheduler)

    got = Counter(entry["tenant"] for entry in pass_of(scheduler))

    assert got == {str(alpha.id): 3, str(beta.id): 29, str(gamma.id): 28} or got == {
        str(alpha.id): 3,
        str(beta.id): 28,
        str(gamma.id): 29,
    }


def test_a_tenant_without_places_is_passed_over_and_no_pass_follows_at_once(
    alpha, scheduler, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr(TenantLimits, "look", lambda self: self.places.update({alpha.id: 0}))
    beat("w1", slots=60, hold=0)
    backlog(alpha, 100)

    counts = scheduler.dispatcher.run_once()

    assert counts.done == 0
    assert counts.next_in > 0


def test_beside_a_tenant_at_its_limit_the_work_of_others_is_looked_for_before_it_is_due(
    alpha, beta, scheduler, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr(TenantLimits, "look", lambda self: self.places.update({alpha.id: 0}))
    beat("w1", slots=60, hold=0)
    backlog(alpha, 100)
    backlog(beta, 1, age=-0.6)

    waits = [scheduler.dispatcher.run_once() for _ in range(6)]

    assert [counts.done for counts in waits] == [0] * 6
    assert all(0 < counts.next_in <= 0.25 for counts in waits)


def test_places_that_come_one_by_one_do_not_put_a_backlog_before_the_work_of_others(
    alpha, beta, scheduler, monkeypatch: pytest.MonkeyPatch
):
    places = [0, 3]
    monkeypatch.setattr(
        TenantLimits, "look", lambda self: self.places.update({alpha.id: places.pop(0)})
    )
    beat("w1", slots=60, hold=0)
    # More than a claim takes, and all of it due before.
    backlog(alpha, 100, age=900)
    scheduler.dispatcher.run_once()
    backlog(beta, 1, age=10)

    got = Counter(entry["tenant"] for entry in pass_of(scheduler))

    assert got == {str(alpha.id): 3, str(beta.id): 1}


def test_a_whole_look_follows_where_work_was_taken_back(
    alpha, beta, scheduler, monkeypatch: pytest.MonkeyPatch
):
    forgotten: list[bool] = []

    def refused(queue: str, message: Any) -> None:
        raise OSError("gone")

    monkeypatch.setattr(Flows, "forget", lambda _: forgotten.append(True))
    monkeypatch.setattr(scheduler.dispatcher.sending, "publish", refused)
    beat("w1", slots=60, hold=0)
    for tenant in (alpha, beta):
        backlog(tenant, 100)
    made_scarce(scheduler)

    scheduler.dispatcher.run_once()

    assert forgotten
    assert not Execution.objects.filter(status="QUEUED").exists()


def test_slow_tenants_leave_slots_to_others(
    alpha, beta, scheduler, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr(Paces, "rate", lambda *_: 0.0)
    beat("w1", slots=20, hold=200)
    backlog(alpha, 1000, age=900)
    backlog(beta, 1000, age=600)
    made_scarce(scheduler)

    scheduler.run()

    queued = Counter(Execution.objects.filter(status="QUEUED").values_list("tenant_id", flat=True))
    # Nothing has ended: half of the slots, and five, of each.
    assert queued == {alpha.id: 15, beta.id: 15}


def test_work_beyond_a_destinations_capacity_is_parked_and_comes_back_within_the_share(
    alpha, beta, scheduler
):
    beat("w1", slots=100, hold=0)
    made_scarce(scheduler)
    Destination.objects.create(tenant=alpha, host="slow.example.com", max_in_flight=1)
    task = backlog(alpha, 30)
    Execution.objects.filter(task_id=task.id).update(destination="slow.example.com")
    backlog(beta, 300)

    scheduler.run()

    assert Execution.objects.filter(tenant=alpha, status="QUEUED").count() == 7
    assert Execution.objects.filter(tenant=alpha, parked=True).count() == 23
    assert Execution.objects.filter(tenant=beta, status="QUEUED").count() == 93

    scheduler.dispatcher.rooms._looked_at = 0.0
    take_queued()
    scheduler.dispatcher.run_once()
    assert Execution.objects.filter(tenant=alpha, status="QUEUED").count() == 7


def test_messages_carry_the_weight_of_a_tenant(alpha, beta, scheduler):
    beat("w1", slots=20, hold=0)
    weigh(beta, 4)
    backlog(alpha, 1)
    backlog(beta, 1)

    entries = pass_of(scheduler)

    assert {entry["tenant"]: entry.get("weight") for entry in entries} == {
        str(alpha.id): None,
        str(beta.id): 4,
    }


def test_minutes_of_scarcity_are_kept(alpha, beta, scheduler, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr("executions.dispatch.shares.accounts._MINUTE", 0.0)
    beat("w1", slots=40, hold=0)
    weigh(beta, 3)
    backlog(alpha, 500, age=900)
    backlog(beta, 500, age=600)

    saturate([scheduler], 10)

    found = {row.tenant_id: row for row in ShareMinute.objects.all()}
    assert found[beta.id].received == pytest.approx(3 * found[alpha.id].received, rel=0.1)
    assert found[beta.id].due == pytest.approx(found[beta.id].received, rel=0.1)
    assert found[alpha.id].oldest_wait == pytest.approx(900, abs=10)


def test_what_could_not_be_published_is_taken_back(alpha, beta, scheduler):
    beat("w1", slots=20, hold=0)
    made_scarce(scheduler)
    for tenant in (alpha, beta):
        backlog(tenant, 5, priority=0)
        backlog(tenant, 5, priority=9)
    publish = scheduler.dispatcher.sending.publish
    taken: list[str] = []

    def once(queue: str, message: Any) -> None:
        if taken:
            raise ConnectionError("away")
        taken.append(queue)
        publish(queue, message)

    scheduler.dispatcher.sending.publish = once
    scheduler.dispatcher.run_once()

    assert taken == ["default.high"]
    assert Execution.objects.filter(status="QUEUED", priority=0).count() == 10
    assert Execution.objects.filter(status="PENDING", priority=9).count() == 10


def test_nothing_is_looked_at_by_tenant_while_a_pool_is_ample(
    alpha, scheduler, monkeypatch: pytest.MonkeyPatch
):
    def never(*_: Any) -> Any:
        raise AssertionError("looked")

    monkeypatch.setattr(Flows, "look", never)
    beat("w1", slots=20, hold=0)
    backlog(alpha, 5)

    assert scheduler.dispatcher.run_once().done == 5


def test_work_due_soon_comes_after_what_is_due(alpha, beta, scheduler):
    beat("w1", slots=8, hold=0)
    made_scarce(scheduler)
    backlog(alpha, 3, priority=5, age=60)
    backlog(alpha, 3, priority=0, age=-0.4)
    backlog(beta, 100)
    Execution.objects.filter(due_at__gt=F("scheduled_for")).update(
        due_at=F("scheduled_for") + timedelta(milliseconds=400)
    )

    entries = pass_of(scheduler)

    assert [e["priority"] for e in entries if e["tenant"] == str(alpha.id)].count(5) == 3
