"""Rooms of destinations: what dispatch claims of each, what it parks, and what comes back when."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from datetime import timedelta
from typing import Any

import pytest
from django.db import connection
from django.db.models import F

from executions.dispatch import destination_capacity
from executions.dispatch.destination_capacity import Rooms
from executions.dispatch.room import LOOK_SECONDS
from executions.dispatch.worker_capacity import Capacity, capacity_by_pool
from executions.loop.clocks import database_now
from executions.models import Destination, Execution
from shared.conf import conf
from shared.redis_client import client
from shared.sql import statement
from tenants.models import Tenant
from tests.factories import make_task, once
from tests.support.beats import beat
from tests.support.dispatching import Scheduler, Time, finish_all
from tests.support.scripts import Moved
from wire.destination_key import key_of

pytestmark = pytest.mark.django_db

SLOW, QUICK = "slow.example.com", "quick.example.com"


@pytest.fixture(autouse=True)
def clock(monkeypatch: pytest.MonkeyPatch) -> Time:
    """Let every pass look at parked work, until a test says otherwise."""
    clock = Time()
    monkeypatch.setattr(destination_capacity, "time", clock)
    return clock


@pytest.fixture
def scheduler() -> Scheduler:
    return Scheduler()


@pytest.fixture
def redis() -> Moved:
    moved = Moved()
    moved.at = int(client().time()[0] * 1000 - moved.now)
    return moved


def due(scheduler: Scheduler, tenant: Tenant, host: str, count: int = 1, **parts: Any) -> None:
    """Let so many executions that call the host be due now."""
    for _ in range(count):
        make_task(tenant, once(target={"url": f"https://{host}/"}, **parts))
    scheduler.prepare()
    # The claim's clock is that of the test's transaction, which stands still meanwhile.
    Execution.objects.filter(status="PENDING").update(due_at=F("due_at") - timedelta(hours=1))


def parked() -> list[tuple[str, str]]:
    found = Execution.objects.filter(parked=True).order_by("id")
    return list(found.values_list("destination", "reason"))


def test_everything_has_room_while_nothing_is_known(alpha, scheduler):
    beat("w1", slots=50, hold=50)
    due(scheduler, alpha, SLOW, 30)

    scheduler.run()

    assert scheduler.hosts() == {SLOW: 30}
    assert not parked()


def test_an_entry_carries_the_limits_of_its_destination(alpha, scheduler):
    beat("w1")
    Destination.objects.create(tenant=alpha, host=SLOW, max_in_flight=5, rate_per_second=2.5)
    due(scheduler, alpha, SLOW)
    due(scheduler, alpha, QUICK)

    scheduler.run()

    limits = {entry["destination"]: entry.get("limits", "") for entry in scheduler.sent}
    assert limits == {SLOW: "1,5,2.5", QUICK: ""}


def test_an_open_circuit_parks_what_is_due_and_lets_others_pass(alpha, beta, scheduler, redis):
    beat("w1", slots=50, hold=50)
    redis.report(20, 20, destination=key_of(alpha.id, SLOW))
    due(scheduler, alpha, SLOW, 3)
    due(scheduler, alpha, QUICK)
    due(scheduler, beta, SLOW)

    scheduler.run()
    next_in = scheduler.run()

    assert scheduler.hosts() == {QUICK: 1, SLOW: 1}
    assert {entry["tenant"] for entry in scheduler.sent if entry["destination"] == SLOW} == {
        str(beta.id)
    }
    assert parked() == [(SLOW, "circuit_open")] * 3
    assert next_in > LOOK_SECONDS


def test_parked_work_keeps_its_times_and_its_reason_to_be(alpha, scheduler, redis):
    beat("w1")
    redis.report(20, 20, destination=key_of(alpha.id, SLOW))
    due(scheduler, alpha, SLOW, 2)
    first = Execution.objects.order_by("id").first()
    assert first is not None
    Execution.objects.filter(pk=first.pk).update(reason="misfire_replayed")

    scheduler.run()

    row = Execution.objects.get(pk=first.pk)
    assert (row.parked, row.due_at, row.scheduled_for) == (True, first.due_at, first.scheduled_for)
    assert (row.status, row.reason, row.attempt) == ("PENDING", "misfire_replayed", 0)


def test_a_half_open_circuit_gets_one_probe_and_a_closed_one_everything(alpha, scheduler, redis):
    beat("w1", slots=50, hold=50)
    key = key_of(alpha.id, SLOW)
    redis.at -= 30_000
    redis.report(20, 20, destination=key)
    redis.at += 30_000
    due(scheduler, alpha, SLOW, 4)

    scheduler.run()
    assert scheduler.hosts() == {SLOW: 1}
    # While the probe is on its way there is no other.
    scheduler.run()
    assert scheduler.hosts() == {SLOW: 1}

    assert redis.ask(scheduler.sent[0]["token"], destination=key) == [2]
    redis.report(1, 0, destination=key, probe=scheduler.sent[0]["token"], verdict="1")
    scheduler.run()
    assert scheduler.hosts() == {SLOW: 4}
    assert not parked()
    assert set(Execution.objects.values_list("reason", flat=True)) == {""}


def test_limited_work_is_sent_a_little_ahead_and_the_rest_follows_oldest_first(alpha, scheduler):
    beat("w1", slots=50, hold=50)
    Destination.objects.create(tenant=alpha, host=SLOW, max_in_flight=2)
    due(scheduler, alpha, SLOW, 30)
    due(scheduler, alpha, QUICK, 2)

    next_in = scheduler.run()

    assert scheduler.hosts() == {SLOW: 9, QUICK: 2}
    assert Counter(parked()) == {(SLOW, "destination_in_flight"): 21}
    assert next_in <= LOOK_SECONDS
    finish_all()
    scheduler.run()
    assert scheduler.hosts()[SLOW] == 18
    first = [entry["due"] for entry in scheduler.sent if entry["destination"] == SLOW]
    assert first == sorted(first)


def test_between_two_looks_parked_work_gets_what_the_last_one_has_left(
    alpha, scheduler, clock, monkeypatch
):
    beat("w1", slots=50, hold=50)
    Destination.objects.create(tenant=alpha, host=SLOW, max_in_flight=5)
    due(scheduler, alpha, SLOW, 40)
    Execution.objects.update(parked=True)
    looks: list[Any] = []
    whole = Rooms._whole

    def counted(*arguments: Any) -> Any:
        looks.append(arguments)
        return whole(*arguments)

    monkeypatch.setattr(Rooms, "_whole", counted)

    clock.step = 0.0
    scheduler.run()
    sent = len(scheduler.sent)
    finish_all()
    scheduler.run()

    # More may have room by now, but nobody has looked; what is new is parked with the rest.
    assert (len(looks), len(scheduler.sent)) == (1, sent)
    due(scheduler, alpha, SLOW)
    due(scheduler, alpha, QUICK)
    scheduler.run()
    assert scheduler.hosts() == {SLOW: sent, QUICK: 1}
    clock.now += LOOK_SECONDS
    scheduler.run()
    assert len(scheduler.sent) > sent + 1


def test_a_rate_gets_what_finds_a_slot_soon(alpha, scheduler, redis):
    beat("w1", slots=50, hold=50)
    Destination.objects.create(tenant=alpha, host=SLOW, rate_per_second=3)
    due(scheduler, alpha, SLOW, 20)

    scheduler.run()

    assert scheduler.hosts() == {SLOW: 7}
    assert Counter(parked()) == {(SLOW, "destination_rate"): 13}


def test_a_limit_that_was_lifted_lets_parked_work_go(alpha, scheduler):
    beat("w1", slots=50, hold=50)
    Destination.objects.create(tenant=alpha, host=SLOW, max_in_flight=1)
    due(scheduler, alpha, SLOW, 20)
    scheduler.run()

    Destination.objects.all().delete()
    scheduler.run()

    assert scheduler.hosts() == {SLOW: 20}
    assert not parked()


def test_a_destination_that_waits_for_slots_gets_a_share_and_others_the_rest(
    alpha, scheduler, redis
):
    beat("w1", slots=20, hold=200)
    redis.report(destination=key_of(alpha.id, SLOW), waited=True)
    due(scheduler, alpha, SLOW, 60)
    due(scheduler, alpha, QUICK, 30)

    scheduler.run()

    # Half of the slots and a little ahead.
    assert scheduler.hosts() == {SLOW: 15, QUICK: 30}
    assert len(parked()) == 45


def test_what_goes_through_quickly_is_sent_ahead_for_longer_than_a_look(alpha, scheduler, redis):
    beat("w1", slots=20, hold=1000)
    # Twenty a second.
    redis.report(calls=200, destination=key_of(alpha.id, SLOW), waited=True)
    due(scheduler, alpha, SLOW, 100)

    scheduler.run()

    # Half of the slots, what goes through before it would be handed back, and a little.
    assert scheduler.hosts() == {SLOW: 10 + 40 + 5}


def test_one_among_several_has_at_most_half_of_the_pool(alpha, scheduler):
    beat("w1", slots=10, hold=30)
    due(scheduler, alpha, QUICK, 2)
    scheduler.run()
    due(scheduler, alpha, SLOW, 5)
    scheduler.run()
    due(scheduler, alpha, SLOW, 40)

    scheduler.run()

    assert scheduler.hosts() == {SLOW: 20, QUICK: 2}


def test_alone_it_may_have_all_of_it(alpha, scheduler):
    beat("w1", slots=10, hold=10)
    due(scheduler, alpha, SLOW, 30)

    scheduler.run()

    assert scheduler.hosts() == {SLOW: 20}
    assert not parked()


def test_work_without_a_destination_is_bounded_by_its_pool_alone(alpha, scheduler):
    beat("w1", slots=10, hold=10)
    due(scheduler, alpha, SLOW, 8)
    Execution.objects.update(destination="")

    scheduler.run()

    assert scheduler.hosts() == {"": 8}


def test_urgent_work_of_a_destination_comes_back_first_and_in_turn_the_others(alpha, scheduler):
    beat("w1", slots=50, hold=50)
    Destination.objects.create(tenant=alpha, host=SLOW, max_in_flight=1)
    due(scheduler, alpha, SLOW, 1, priority=9)
    due(scheduler, alpha, SLOW, 40, priority=0)
    Execution.objects.update(parked=True)

    for _ in range(5):
        finish_all()
        scheduler.dispatcher.run_once()

    assert [entry["priority"] for entry in scheduler.sent] == [0] * 28 + [9]


def test_paused_work_stays_and_comes_back_parked(alpha, scheduler):
    beat("w1", slots=50, hold=50)
    Destination.objects.create(tenant=alpha, host=SLOW, max_in_flight=1)
    due(scheduler, alpha, SLOW, 20)
    scheduler.run()
    Execution.objects.filter(parked=True).update(held=True)
    finish_all()

    scheduler.run()
    assert scheduler.hosts() == {SLOW: 7}
    Execution.objects.filter(parked=True).update(held=False)
    scheduler.run()
    assert scheduler.hosts() == {SLOW: 14}


def test_work_of_pools_that_workers_lease_keeps_nobody_awake(alpha, scheduler):
    beat("w1")
    due(scheduler, alpha, SLOW)
    Execution.objects.update(pool="pull.gpu")

    assert scheduler.run() == conf().scheduler_sleep_seconds
    assert not scheduler.sent


def test_many_parked_destinations_are_looked_at_in_turn(alpha, scheduler, monkeypatch):
    monkeypatch.setattr("executions.dispatch.destination_capacity._AT_ONCE", 2)
    for host in "abc":
        due(scheduler, alpha, f"{host}.example.com")
    Execution.objects.update(parked=True)
    rooms = Rooms()

    looks = [sorted(host[0] for _, host in rooms.look({}, [0]).parked) for _ in range(4)]

    assert looks == [["a", "b"], ["c"], ["a", "b"], ["c"]]


def test_running_work_that_fills_the_slots_shows_that_it_is_slow(alpha, scheduler):
    beat("w1", slots=10, hold=100)
    due(scheduler, alpha, SLOW, 8)
    scheduler.run()
    Execution.objects.update(status="RUNNING", worker="w1", started_at=database_now())
    due(scheduler, alpha, SLOW, 40)

    scheduler.run()

    # Its share of the slots and a little ahead, less what runs.
    assert scheduler.hosts() == {SLOW: 10}
    assert len(parked()) == 38


def test_what_goes_on_at_a_receiver_takes_no_room(alpha, scheduler):
    beat("w1", slots=2, hold=0)
    due(scheduler, alpha, SLOW, 2)
    scheduler.run()
    Execution.objects.update(status="RUNNING", accepted_at=F("due_at"))

    assert Rooms().look(capacity_by_pool(), [0]).pools == {"default": 2}


def test_a_small_batch_still_ends(alpha, scheduler, settings):
    settings.PUNCTUAL = replace(conf(), dispatch_batch=3)
    beat("w1", slots=50, hold=50)
    Destination.objects.create(tenant=alpha, host=SLOW, max_in_flight=1)
    due(scheduler, alpha, SLOW, 20)
    due(scheduler, alpha, QUICK, 5)

    scheduler.run()

    assert scheduler.hosts()[QUICK] == 5
    assert Capacity(50, 50).both == 100


def counted_looks() -> tuple[Any, list[str]]:
    """Count how often it is counted what is leased."""
    looks: list[str] = []

    def note(execute: Any, sql: str, params: Any, many: bool, context: Any) -> Any:
        if sql == statement("dispatch/leased"):
            looks.append(sql)
        return execute(sql, params, many, context)

    return connection.execute_wrapper(note), looks


def test_what_a_look_has_left_is_good_for_a_few_passes(alpha, scheduler, settings, clock):
    settings.PUNCTUAL = replace(conf(), dispatch_batch=2)
    beat("w1", slots=100, hold=100)
    due(scheduler, alpha, QUICK, 12)
    clock.step = 0.0
    wrapper, looks = counted_looks()

    with wrapper:
        for _ in range(6):
            scheduler.dispatcher.run_once()

    assert len(scheduler.sent) == 12
    assert len(looks) == 2


def test_no_more_is_claimed_than_there_was_room_for_at_the_look(alpha, scheduler, settings, clock):
    settings.PUNCTUAL = replace(conf(), dispatch_batch=3)
    beat("w1", slots=4, hold=4)
    due(scheduler, alpha, QUICK, 20)
    clock.step = 0.0

    for _ in range(20):
        scheduler.dispatcher.run_once()

    assert len(scheduler.sent) == 8


def test_a_look_is_not_good_for_other_workers(alpha, scheduler, settings, clock):
    settings.PUNCTUAL = replace(conf(), dispatch_batch=2)
    beat("w1", slots=100, hold=100)
    due(scheduler, alpha, QUICK, 6)
    clock.step = 0.0
    wrapper, looks = counted_looks()

    with wrapper:
        scheduler.dispatcher.run_once()
        beat("w2", slots=100, hold=100)
        scheduler.dispatcher.run_once()

    assert len(looks) == 2
