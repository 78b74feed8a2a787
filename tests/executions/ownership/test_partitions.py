from __future__ import annotations

from dataclasses import replace
from datetime import datetime, timedelta
from typing import Any
from uuid import UUID, uuid4

import pytest
from django.db import connection
from django.db.models import F, Model
from hypothesis import given
from hypothesis import strategies as st
from pytest_django import Settings

from executions.ledger import totals
from executions.loop import refusals
from executions.loop.clocks import database_now
from executions.materialize import unowned_work
from executions.models import PartitionLease, SchedulerNode, UnownedStretch
from executions.ownership import partitions as module
from executions.ownership.partitions import OUTAGE_SECONDS, Partitions, Unowned, fair_share
from shared.conf import conf
from shared.sql import run
from shared.sql_arrays import of_integers
from tests.support.log_lines import lines_of

NODES = st.lists(st.uuids(), min_size=1, max_size=6, unique=True)


class Time:
    """A monotonic clock that stands still until told."""

    def __init__(self) -> None:
        self.now = 1000.0

    def monotonic(self) -> float:
        return self.now


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Time:
    clock = Time()
    monkeypatch.setattr(module, "time", clock)
    return clock


def expire(*nodes: Partitions) -> None:
    """Let the nodes be dead for as long as a lease lasts."""
    ago = timedelta(seconds=conf().partition_lease_seconds + 1)
    ids = [node.node for node in nodes]
    SchedulerNode.objects.filter(id__in=ids).update(
        heartbeat_at=F("heartbeat_at") - ago, lease_expires_at=F("lease_expires_at") - ago
    )


@given(NODES)
def test_every_partition_has_exactly_one_fair_owner(nodes: list[UUID]):
    shares = [fair_share(node, nodes, 64) for node in nodes]

    assert sorted(partition for share in shares for partition in share) == list(range(64))


@given(NODES, st.uuids())
def test_a_node_that_joins_moves_only_what_it_takes(nodes: list[UUID], new: UUID):
    if new in nodes:
        return
    before = {node: fair_share(node, nodes, 64) for node in nodes}
    taken = fair_share(new, [*nodes, new], 64)

    for node in nodes:
        assert fair_share(node, [*nodes, new], 64) == before[node] - taken


@given(NODES)
def test_the_order_in_which_nodes_are_seen_does_not_matter(nodes: list[UUID]):
    assert fair_share(nodes[0], nodes, 64) == fair_share(nodes[0], nodes[::-1], 64)


@pytest.mark.django_db
def test_a_scheduler_alone_holds_every_partition():
    alone = Partitions()

    wait = alone.run_once()

    assert set(alone.held) == set(range(conf().partition_count))
    assert wait == conf().partition_renew_seconds


@pytest.mark.django_db
def test_two_schedulers_come_to_hold_each_partition_once():
    first, second = Partitions(), Partitions()
    first.run_once()

    second.run_once()
    assert not second.held  # the first has not given its surplus up yet
    first.run_once()
    second.run_once()

    assert set(first.held) | set(second.held) == set(range(256))
    assert not set(first.held) & set(second.held)
    owners = dict(PartitionLease.objects.values_list("partition", "owner"))
    assert all(owners[partition] == first.node for partition in first.held)
    assert all(owners[partition] == second.node for partition in second.held)


def settled(*nodes: Partitions) -> None:
    """Let them see each other and move what moves."""
    for _ in range(2):
        for node in nodes:
            node.run_once()


@pytest.mark.django_db
def test_a_scheduler_that_does_not_reach_redis_hands_its_partitions_over_and_gets_them_back(
    clock: Time,
):
    first, second = Partitions(), Partitions()
    settled(first, second)
    shares = set(first.held), set(second.held)

    first.note_redis(reached=False)
    clock.now += module.CUT_OFF_AFTER_SECONDS - 0.1
    settled(first, second)
    assert (set(first.held), set(second.held)) == shares
    clock.now += 0.1
    first.note_redis(reached=False)
    settled(first, second)
    assert (len(first.held), len(second.held)) == (0, conf().partition_count)
    first.note_redis(reached=True)
    settled(first, second)
    settled(second, first)

    assert (set(first.held), set(second.held)) == shares


@pytest.mark.django_db
def test_who_takes_over_from_one_that_was_cut_off_looks_after_what_that_could_not_send(
    clock: Time,
):
    first, second = Partitions(), Partitions()
    settled(first, second)
    given_up = set(first.held)
    first.note_redis(reached=False)
    clock.now += module.CUT_OFF_AFTER_SECONDS

    settled(first, second)

    assert second.inherited.keys() == given_up


@pytest.mark.django_db
def test_who_takes_over_from_one_that_stops_has_nothing_to_look_after(clock: Time):
    first, second = Partitions(), Partitions()
    settled(first, second)

    first.release_all()
    settled(second)

    assert len(second.held) == conf().partition_count
    assert not second.inherited


@pytest.mark.django_db
def test_where_none_reaches_redis_everybody_keeps_its_partitions(clock: Time):
    first, second = Partitions(), Partitions()
    settled(first, second)
    shares = set(first.held), set(second.held)
    first.note_redis(reached=False)
    second.note_redis(reached=False)
    clock.now += module.CUT_OFF_AFTER_SECONDS

    for _ in range(3):
        settled(first, second)

    assert set(first.held) | set(second.held) == set(range(conf().partition_count))
    assert (set(first.held), set(second.held)) == shares


@pytest.mark.django_db
def test_the_epoch_rises_with_every_owner_and_stays_while_one_renews():
    first = Partitions()
    first.run_once()
    before = dict(first.held)
    first.run_once()
    assert first.held == before

    expire(first)
    second = Partitions()
    second.run_once()

    assert {partition: epoch - 1 for partition, epoch in second.held.items()} == before


@pytest.mark.django_db
def test_a_partition_is_not_taken_before_its_lease_has_ended():
    first, second = Partitions(), Partitions()
    first.run_once()
    SchedulerNode.objects.filter(id=first.node).update(
        heartbeat_at=database_now() - timedelta(seconds=60)
    )

    wait = second.run_once()

    assert not second.held
    # It comes back when the first lease ends, or at the next heartbeat.
    assert 0 < wait <= conf().partition_renew_seconds


@pytest.mark.django_db
def test_partitions_whose_lease_ran_out_are_counted_and_released_ones_are_not(
    caplog: pytest.LogCaptureFixture,
):
    first, second, third = Partitions(), Partitions(), Partitions()
    first.run_once()
    first.release_all()
    second.run_once()
    assert totals.EXPIRED_PARTITIONS not in totals.read()
    past = database_now() - timedelta(seconds=60)
    SchedulerNode.objects.filter(id=second.node).update(heartbeat_at=past, lease_expires_at=past)

    third.run_once()

    assert totals.read()[totals.EXPIRED_PARTITIONS] == conf().partition_count
    assert lines_of(caplog, "partition.taken_over") == [
        {
            "scheduler": third.name,
            "count": conf().partition_count,
            "partitions": list(range(conf().partition_count)),
        }
    ]


@pytest.mark.django_db
def test_the_next_look_falls_on_the_end_of_a_dead_schedulers_lease(settings: Settings):
    settings.PUNCTUAL = replace(
        conf(), partition_renew_seconds=200.0, partition_lease_seconds=600.0
    )
    first, second = Partitions(), Partitions()
    first.run_once()
    SchedulerNode.objects.filter(id=first.node).update(
        heartbeat_at=database_now() - timedelta(seconds=60)
    )
    ends_at = database_now() + timedelta(seconds=100)
    PartitionLease.objects.update(expires_at=ends_at)

    before = database_now()
    wait = timedelta(seconds=second.run_once())

    # A little later, so that it has really ended.
    assert before + wait < ends_at + timedelta(seconds=1)
    assert database_now() + wait > ends_at


@pytest.mark.django_db
def test_what_was_taken_over_is_not_renewed():
    first, second = Partitions(), Partitions()
    first.run_once()
    expire(first)
    second.run_once()
    taken = list(PartitionLease.objects.order_by("partition").values())

    first.run_once()

    assert not first.held
    assert list(PartitionLease.objects.order_by("partition").values()) == taken
    assert refusals.read()["leases"] == conf().partition_count


@pytest.mark.django_db
def test_what_another_owns_under_the_same_epoch_is_neither_kept_nor_released():
    former, heir = Partitions(), Partitions()
    former.run_once()
    heir.run_once()
    PartitionLease.objects.update(owner=heir.node)
    SchedulerNode.objects.update(lease_expires_at=database_now() + timedelta(minutes=1))
    before = list(PartitionLease.objects.order_by("partition").values())

    former.run_once()
    assert not former.held
    former.release_all()

    assert list(PartitionLease.objects.order_by("partition").values()) == before


@pytest.mark.django_db
def test_what_it_owns_under_another_epoch_is_taken_anew():
    alone = Partitions()
    alone.run_once()
    PartitionLease.objects.update(epoch=7)

    alone.run_once()

    assert set(alone.held.values()) == {8}


@pytest.mark.django_db
def test_what_it_owns_and_does_not_know_of_is_taken_or_given_up():
    first, second = Partitions(), Partitions()
    first.run_once()
    # The answer was lost.
    first._held = {}

    second.run_once()
    first.run_once()
    second.run_once()

    assert first.held
    assert second.held
    assert sorted([*first.held, *second.held]) == list(range(256))


@pytest.mark.django_db
@pytest.mark.parametrize(
    ("model", "field"), [(PartitionLease, "expires_at"), (SchedulerNode, "lease_expires_at")]
)
def test_a_lease_that_has_ended_is_not_renewed_but_taken_anew(model: type[Model], field: str):
    alone = Partitions()
    alone.run_once()
    before = dict(alone.held)
    model._default_manager.update(**{field: database_now() - timedelta(seconds=1)})

    alone.run_once()

    assert alone.held == {partition: epoch + 1 for partition, epoch in before.items()}


@pytest.mark.django_db
def test_the_time_in_which_its_own_lease_had_ended_is_an_outage():
    alone = Partitions()
    alone.run_once()
    ended = database_now() - timedelta(seconds=20)
    SchedulerNode.objects.update(lease_expires_at=ended)

    alone.run_once()

    renewed = ended - timedelta(seconds=conf().partition_lease_seconds)
    assert {stretch.since for stretch in alone.unowned.values()} == {renewed}
    assert len(alone.unowned) == 256


@pytest.mark.django_db
def test_a_renewal_writes_no_row_of_a_partition():
    def places() -> list[tuple[str]]:
        with connection.cursor() as cursor:
            cursor.execute("SELECT ctid::text FROM partition_leases ORDER BY partition")
            return list(cursor.fetchall())

    alone = Partitions()
    alone.run_once()
    before = places()

    alone.run_once()

    assert len(alone.held) == 256
    assert places() == before


@pytest.mark.django_db
def test_trust_ends_before_the_lease_does(clock: Time):
    alone = Partitions()
    alone.run_once()

    clock.now += conf().partition_lease_seconds - 1.1
    assert alone.held
    clock.now += 0.2

    assert not alone.held
    assert alone.parameters()["partitions"] == of_integers([])
    assert not alone.ready


@pytest.mark.django_db
def test_a_slow_renewal_does_not_prolong_the_trust(clock: Time, monkeypatch: pytest.MonkeyPatch):
    alone = Partitions()
    alone.run_once()
    beat = alone._beat

    def slowly(ttl: float) -> Any:
        clock.now += conf().partition_lease_seconds - 1.5
        return beat(ttl)

    monkeypatch.setattr(alone, "_beat", slowly)
    alone.run_once()

    assert alone.held
    # Counted from the start of the call, of which half a second is left.
    clock.now += 0.6
    assert not alone.held


@pytest.mark.django_db
def test_a_warm_stop_lets_the_others_take_over_at_once():
    first, second = Partitions(), Partitions()
    first.run_once()
    second.run_once()

    first.release_all()
    second.run_once()

    assert set(second.held) == set(range(256))
    assert not second.neglected
    assert not SchedulerNode.objects.filter(id=first.node).exists()


@pytest.mark.django_db
def test_a_released_scheduler_owns_nothing_any_more():
    first = Partitions()
    first.run_once()

    first.release_all()

    assert not first.held
    assert not PartitionLease.objects.filter(owner=first.node).exists()


@pytest.mark.django_db
def test_partitions_without_a_scheduler_are_neglected_and_not_ready_until_judged():
    first, second, third = Partitions(), Partitions(), Partitions()
    first.run_once()
    expire(first)
    died = database_now() - timedelta(seconds=30)
    PartitionLease.objects.update(expires_at=died)
    PartitionLease.objects.filter(partition=7).update(owner=None, expires_at=died)
    # Handed over.
    PartitionLease.objects.filter(partition=8).update(
        owner=None, expires_at=now_of_transaction() - timedelta(seconds=OUTAGE_SECONDS / 2)
    )

    second.run_once()

    assert set(second.neglected) == set(range(256)) - {8}
    # The dead owner's last lease counts too: it may have died right after it renewed.
    assert second.neglected[0].since == died - timedelta(seconds=conf().partition_lease_seconds)
    assert second.neglected[7].since == died
    assert second.neglected[0].until == now_of_transaction()
    assert second.ready == [8]
    # One that takes over before they were judged knows it, too.
    second.release_all()
    third.run_once()
    assert set(third.neglected) == set(range(256)) - {8}
    unowned_work.take_up(third)
    assert third.unowned[7] == (died, now_of_transaction())
    assert len(third.ready) == 256
    third.release_all()
    assert not third.unowned
    second.run_once()
    assert not second.neglected
    assert set(second.unowned) == set(range(256)) - {8}


def now_of_transaction() -> datetime:
    """Return the time at which leases are taken in a test's transaction."""
    with connection.cursor() as cursor:
        cursor.execute("SELECT now()")
        found: datetime = cursor.fetchone()[0]
    return found


@pytest.mark.django_db
def test_partitions_that_never_had_an_owner_are_not_neglected():
    alone = Partitions(uuid4())

    alone.run_once()

    assert not alone.neglected


@pytest.mark.django_db
def test_schedulers_that_were_silent_for_an_hour_are_forgotten():
    gone, here = Partitions(), Partitions()
    gone.run_once()
    died = database_now() - timedelta(hours=2)
    SchedulerNode.objects.update(heartbeat_at=died, lease_expires_at=died)

    here.run_once()

    assert [node.id for node in SchedulerNode.objects.all()] == [here.node]
    # Not before it was read from its lease since when they had no scheduler.
    lease = timedelta(seconds=conf().partition_lease_seconds)
    assert {stretch.since for stretch in here.unowned.values()} == {died - lease}


@pytest.mark.django_db
@pytest.mark.parametrize("statement", ["leases/release", "leases/hand_over"])
def test_nothing_is_given_up_under_an_epoch_that_is_over(statement: str):
    alone = Partitions()
    alone.run_once()
    stale = alone.parameters({partition: epoch - 1 for partition, epoch in alone.held.items()})

    assert run(statement, stale) == 0
    assert run(statement, alone.parameters()) == 256


@pytest.mark.django_db
def test_a_scheduler_learns_when_a_lost_one_may_have_claimed_without_sending():
    first, second = Partitions(), Partitions()
    for node in (first, second) * 2:
        node.run_once()
    second.run_once()
    last_sign = SchedulerNode.objects.get(id=first.node).heartbeat_at
    expire(first)

    second.run_once()

    assert second.unsent is not None
    since, until = second.unsent
    assert since < last_sign - timedelta(seconds=conf().partition_lease_seconds)
    assert until >= last_sign


@pytest.mark.django_db
def test_what_one_claimed_before_it_was_cut_off_from_redis_may_be_unsent(clock: Time):
    first, second = Partitions(), Partitions()
    settled(first, second)
    first.note_redis(reached=False)
    clock.now += module.CUT_OFF_AFTER_SECONDS

    first.run_once()
    last_sign = SchedulerNode.objects.get(id=first.node).heartbeat_at
    second.run_once()

    # It knew that it was cut off a heartbeat ago, and read of it at its own next one.
    noticed = module.CUT_OFF_AFTER_SECONDS + 2 * conf().partition_renew_seconds
    assert second.unsent is not None
    assert second.unsent[0] < last_sign - timedelta(seconds=noticed)


@pytest.mark.django_db
def test_a_stretch_that_another_process_has_noted_as_not_judged_is_taken_up_by_the_owner():
    partitions = Partitions()
    partitions.run_once()
    now = database_now()
    stretch = Unowned(now - timedelta(seconds=60), now)
    UnownedStretch.objects.create(
        partition=3, since=stretch.since, until=stretch.until, judged=False
    )

    partitions.run_once()

    assert partitions.neglected == {3: stretch}
    assert 3 not in partitions.ready
    unowned_work.take_up(partitions)
    partitions.run_once()
    assert partitions.neglected == {}
    assert not UnownedStretch.objects.filter(judged=False).exists()


@pytest.mark.django_db
def test_a_scheduler_that_stops_in_good_order_has_sent_what_it_claimed():
    first, second = Partitions(), Partitions()
    for node in (first, second) * 2:
        node.run_once()
    first.release_all()

    second.run_once()

    assert second.unsent is None


@pytest.mark.django_db
def test_returned_work_of_an_outage_keeps_every_scheduler_from_its_partition():
    partitions = Partitions()
    partitions.run_once()
    now = database_now()
    stretch = Unowned(now - timedelta(seconds=60), now)
    row = UnownedStretch.objects.create(
        partition=3, since=stretch.since, until=stretch.until, judged=True
    )
    partitions.unowned = {3: stretch}

    partitions.judge_again([(3, now - timedelta(seconds=90)), (4, now)])
    assert UnownedStretch.objects.get(judged=True) == row
    assert 3 in partitions.ready

    partitions.judge_again([(3, now - timedelta(seconds=30))])
    assert UnownedStretch.objects.get(judged=False) == row
    assert 3 not in partitions.ready
