from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from datetime import timedelta
from typing import Any
from uuid import UUID

import orjson
import pytest
import redis
from django.contrib.postgres.functions import TransactionNow
from django.db import OperationalError
from django.db.models import F

from executions import transitions
from executions.dispatch import scarcity
from executions.dispatch.stage import Dispatcher
from executions.loop.clocks import database_now
from executions.loop.counts import Counts
from executions.materialize import stage as materialize
from executions.models import Execution
from executions.ownership.partitions import Partitions, Unowned
from executions.triggering.triggers import Override, run_task
from shared.conf import conf
from shared.exceptions import Unavailable
from shared.redis_client import INCARNATION_KEY, WritesRefused, client, lua
from tasks.models import TaskRevision
from tenants.models import Tenant
from tenants.services import active_signing_secrets
from tests.factories import ACTOR, daily, every_second, make_task, once, pass_guard
from tests.support.beats import beat, silence
from tests.support.closed_redis import closed_redis
from tests.support.named_secrets import make_secret, using
from tests.support.recording_broker import Broker
from wire import start_guard

pytestmark = pytest.mark.django_db

CANARY = "canary-7f3a"


@pytest.fixture
def broker() -> Broker:
    return Broker()


@pytest.fixture
def dispatcher(broker: Broker) -> Dispatcher:
    partitions = Partitions()
    partitions.run_once()
    return Dispatcher(partitions, broker.publish, active_signing_secrets)


def drain(dispatcher: Dispatcher) -> None:
    for _ in range(20):
        if materialize.run_once(dispatcher.partitions).next_in:
            return


def due(dispatcher: Dispatcher, tenant: Tenant, *priorities: int) -> None:
    """Let one one-time task of each priority be due now."""
    for priority in priorities:
        make_task(tenant, once(priority=priority))
    drain(dispatcher)
    # The claim's clock is that of the test's transaction, which stands still meanwhile.
    Execution.objects.filter(status="PENDING").update(due_at=F("due_at") - timedelta(minutes=1))


def statuses() -> list[str]:
    return list(Execution.objects.order_by("id").values_list("status", flat=True))


def test_due_work_goes_to_its_queue_under_a_token_and_a_lease(
    alpha: Tenant, dispatcher: Dispatcher, broker: Broker
):
    beat("w1")
    due(dispatcher, alpha, 5)
    before = database_now()

    counts = dispatcher.run_once()

    assert counts.done == 1
    assert broker.queues == ["default.normal"]
    row = Execution.objects.get()
    assert row.status == "QUEUED"
    assert row.fencing_token == broker.entries[0]["token"]
    assert row.lease_expires_at is not None
    assert row.lease_expires_at >= before + timedelta(seconds=conf().start_margin_seconds - 1)
    assert broker.sent[0][1]["incarnation"] == row.incarnation == start_guard.current_incarnation()


def test_work_enters_at_the_release_window_and_not_before(
    alpha: Tenant, dispatcher: Dispatcher, broker: Broker, settings: Any
):
    # Long windows: the duration of the test does not matter.
    settings.PUNCTUAL = replace(
        conf(), release_seconds=1000.0, horizon_seconds=5000.0, scheduler_sleep_seconds=5000.0
    )
    beat("w1")
    make_task(alpha, once(database_now() + timedelta(seconds=900)))
    make_task(alpha, once(database_now() + timedelta(seconds=1300)))
    drain(dispatcher)

    counts = dispatcher.run_once()

    assert counts.done == 1
    # It comes back when the other one enters the window.
    assert 200 < counts.next_in < 301
    assert statuses() == ["QUEUED", "PENDING"]


def test_the_lease_of_work_released_ahead_counts_from_its_due_time(
    alpha: Tenant, dispatcher: Dispatcher
):
    beat("w1")
    make_task(alpha, once(database_now() + timedelta(seconds=2)))
    drain(dispatcher)
    Execution.objects.update(due_at=TransactionNow() + timedelta(seconds=2))

    dispatcher.run_once()

    row = Execution.objects.get()
    assert row.lease_expires_at == row.due_at + timedelta(seconds=conf().start_margin_seconds)


def test_each_band_has_its_queue_and_urgent_work_goes_first(
    alpha: Tenant, dispatcher: Dispatcher, broker: Broker
):
    beat("w1", slots=50, hold=50)
    due(dispatcher, alpha, 9, 5, 0)

    dispatcher.run_once()

    assert broker.queues == ["default.high", "default.normal", "default.low"]


def test_little_room_goes_to_urgent_work(alpha: Tenant, dispatcher: Dispatcher, broker: Broker):
    beat("w1", slots=2, hold=0)
    due(dispatcher, alpha, 9, 9, 5, 5, 1, 1)

    dispatcher.run_once()

    assert broker.queues == ["default.high"]
    assert len(broker.entries) == 2


def test_lower_bands_are_not_starved(alpha: Tenant, dispatcher: Dispatcher, broker: Broker):
    beat("w1", slots=10, hold=0)
    due(dispatcher, alpha, *[0] * 20, 5, 9)

    dispatcher.run_once()

    assert [entry["priority"] for entry in broker.entries].count(0) == 8
    assert broker.queues == ["default.high", "default.normal", "default.low"]


def test_what_is_kept_for_lower_bands_and_not_needed_goes_to_the_others(
    alpha: Tenant, dispatcher: Dispatcher, broker: Broker
):
    beat("w1", slots=10, hold=0)
    due(dispatcher, alpha, *[0] * 20)

    assert dispatcher.run_once().done == 10


def test_a_band_is_claimed_only_when_something_of_it_is_due(
    alpha: Tenant, dispatcher: Dispatcher, monkeypatch: pytest.MonkeyPatch
):
    beat("w1", slots=10, hold=0)
    claimed: list[Any] = []
    mark_queued = transitions.mark_queued

    def counted(parameters: Any) -> Any:
        claimed.append(parameters["priorities"])
        return mark_queued(parameters)

    monkeypatch.setattr(transitions, "mark_queued", counted)

    dispatcher.run_once()
    assert claimed == []

    due(dispatcher, alpha, *[5] * 20)
    dispatcher.run_once()

    assert claimed == [[5]]


def test_no_more_is_claimed_than_workers_can_take(
    alpha: Tenant, dispatcher: Dispatcher, broker: Broker
):
    beat("w1", slots=2, hold=1)
    beat("draining", slots=100, draining=True)
    due(dispatcher, alpha, *[5] * 8)

    assert dispatcher.run_once() == Counts(done=3, next_in=0.05)
    # The room is taken by what is in flight, until it is recorded: looked for ever less often.
    looks = [dispatcher.run_once() for _ in range(6)]

    assert [counts.done for counts in looks] == [0] * 6
    assert [counts.next_in for counts in looks] == [0.1, 0.2, 0.4, 0.8, 1.0, 1.0]
    assert statuses().count("QUEUED") == 3


def test_without_workers_nothing_is_claimed_and_the_scheduler_does_not_spin(
    alpha: Tenant, dispatcher: Dispatcher, broker: Broker
):
    due(dispatcher, alpha, 5)

    counts = dispatcher.run_once()

    assert counts.done == 0
    assert counts.next_in == 1.0
    assert statuses() == ["PENDING"]


def test_without_work_the_scheduler_sleeps(dispatcher: Dispatcher):
    beat("w1")

    assert dispatcher.run_once().next_in == conf().scheduler_sleep_seconds


def test_a_lost_worker_takes_nothing(alpha: Tenant, dispatcher: Dispatcher):
    beat("w1")
    silence("w1", conf().worker_lost_seconds + 1)
    due(dispatcher, alpha, 5)

    assert dispatcher.run_once().done == 0


def test_a_backlog_is_claimed_without_a_pause(alpha: Tenant, dispatcher: Dispatcher, settings: Any):
    settings.PUNCTUAL = replace(conf(), dispatch_batch=4)
    beat("w1", slots=100, hold=0)
    due(dispatcher, alpha, *[5] * 10)

    waits = []
    for _ in range(4):
        waits.append(dispatcher.run_once().next_in)

    assert waits[:2] == [0.0, 0.0]
    assert waits[3] > 0
    assert set(statuses()) == {"QUEUED"}


def test_only_held_partitions_are_claimed(alpha: Tenant, dispatcher: Dispatcher):
    beat("w1")
    due(dispatcher, alpha, *[5] * 6)
    mine = Execution.objects.order_by("id").first()
    assert mine is not None
    Execution.objects.exclude(id=mine.id).update(partition=(mine.partition + 1) % 256)
    held = dispatcher.partitions._held
    dispatcher.partitions._held = {mine.partition: held[mine.partition]}

    assert dispatcher.run_once().done == 1


def test_work_whose_version_is_not_visible_yet_is_handed_back_alone(
    alpha: Tenant, dispatcher: Dispatcher, broker: Broker
):
    beat("w1")
    due(dispatcher, alpha, 5, 5, 5)
    edited = Execution.objects.order_by("id")[1]
    # As the claim meets a row whose edit commits between its snapshot and its lock.
    Execution.objects.filter(id=edited.id).update(revision=2)

    assert dispatcher.run_once().done == 2

    assert str(edited.id) not in [entry["id"] for entry in broker.entries]
    assert statuses() == ["QUEUED", "PENDING", "QUEUED"]
    (first,) = TaskRevision.objects.filter(task_id=edited.task_id)
    TaskRevision.objects.create(
        task_id=first.task_id, version=2, definition=first.definition, sealed=first.sealed
    )
    assert dispatcher.run_once().done == 1
    edited.refresh_from_db()
    assert (edited.status, edited.attempt) == ("QUEUED", 0)


def test_neglected_partitions_wait_for_the_misfire_policy(alpha: Tenant, dispatcher: Dispatcher):
    beat("w1")
    due(dispatcher, alpha, 5)
    partition = Execution.objects.get().partition
    dispatcher.partitions.neglected = {partition: Unowned(database_now(), database_now())}

    assert dispatcher.run_once().done == 0


def test_work_of_other_pools_is_not_taken(alpha: Tenant, dispatcher: Dispatcher, broker: Broker):
    beat("w1", pool="slow")
    due(dispatcher, alpha, 5, 5)
    first = Execution.objects.order_by("id").first()
    assert first is not None
    Execution.objects.filter(id=first.id).update(pool="slow")

    assert dispatcher.run_once().done == 1

    assert broker.queues == ["slow.normal"]


def test_held_work_is_not_claimed(alpha: Tenant, dispatcher: Dispatcher):
    beat("w1")
    due(dispatcher, alpha, 5)
    Execution.objects.update(held=True)

    counts = dispatcher.run_once()

    assert counts.done == 0
    assert counts.next_in == conf().scheduler_sleep_seconds


def test_tokens_rise_and_never_come_again(alpha: Tenant, dispatcher: Dispatcher, broker: Broker):
    beat("w1", slots=100)
    due(dispatcher, alpha, 5)
    dispatcher.run_once()
    first = broker.entries[0]["token"]
    Execution.objects.update(status="PENDING", lease_expires_at=None)

    dispatcher.run_once()

    assert broker.entries[1]["token"] > first


def test_nothing_secret_travels_readable(alpha: Tenant, dispatcher: Dispatcher, broker: Broker):
    beat("w1", slots=100)
    make_task(
        alpha,
        once(
            payload={"key": CANARY},
            target={
                "url": "https://api.example.com/x",
                "headers": {"Authorization": f"Bearer {CANARY}"},
            },
        ),
    )
    make_secret(alpha, value=CANARY)
    make_task(alpha, once(target=using(headers={"X-Api-Key": CANARY})))
    auth = {"type": "basic", "username": "punctual", "password": CANARY}
    make_task(alpha, once(target={"url": "https://api.example.com/x", "auth": auth}))
    manual = make_task(alpha, daily())
    run_task(alpha.id, manual.id, Override({"key": CANARY}), actor=ACTOR)
    drain(dispatcher)

    assert dispatcher.run_once().done == 4

    assert CANARY.encode() not in orjson.dumps([message for _, message in broker.sent])


def test_what_cannot_be_published_is_taken_back_at_once(
    alpha: Tenant, dispatcher: Dispatcher, broker: Broker
):
    beat("w1", slots=100)
    due(dispatcher, alpha, 5, 1)
    broker.broken = True

    dispatcher.run_once()

    assert statuses() == ["PENDING", "PENDING"]
    broker.broken = False
    assert dispatcher.run_once().done == 2


def test_a_message_that_arrived_although_the_broker_broke_cannot_start(
    alpha: Tenant, dispatcher: Dispatcher, broker: Broker, monkeypatch: pytest.MonkeyPatch
):
    beat("w1", slots=100)
    due(dispatcher, alpha, 5)
    claimed: list[Any] = []
    mark_queued = transitions.mark_queued

    def noted(parameters: Any) -> tuple[list[Any], int]:
        found, parked = mark_queued(parameters)
        claimed.extend(found)
        return found, parked

    monkeypatch.setattr(transitions, "mark_queued", noted)
    broker.broken = True

    dispatcher.run_once()

    assert pass_guard(claimed) == [start_guard.VOID]


def test_what_has_started_nevertheless_stays_with_its_worker(
    alpha: Tenant, dispatcher: Dispatcher, monkeypatch: pytest.MonkeyPatch
):
    beat("w1", slots=100)
    due(dispatcher, alpha, 5)

    def publish(queue: str, message: Any) -> None:
        # It arrived and started, and then the answer was lost.
        row = Execution.objects.get()
        arguments = [message["incarnation"], "w1", row.fencing_token, 2**45, "n"]
        client().eval(lua("start"), 1, INCARNATION_KEY, *arguments)
        raise redis.ConnectionError("lost")

    dispatcher.sending.publish = publish
    dispatcher.run_once()

    assert statuses() == ["QUEUED"]


def test_a_fault_in_the_middle_hands_back_what_was_claimed(alpha: Tenant, dispatcher: Dispatcher):
    beat("w1", slots=100)
    due(dispatcher, alpha, 5)

    def fail(tenants: Sequence[UUID]) -> dict[UUID, list[bytes]]:
        raise LookupError("no key")

    dispatcher.sending.signing_secrets = fail
    with pytest.raises(LookupError):
        dispatcher.run_once()

    assert statuses() == ["PENDING"]


def test_what_could_not_be_taken_back_at_once_is_owed(
    alpha: Tenant, dispatcher: Dispatcher, broker: Broker, monkeypatch: pytest.MonkeyPatch
):
    beat("w1", slots=100)
    due(dispatcher, alpha, 5, 1)
    broker.broken = True

    def away(tokens: Sequence[int]) -> list[str]:
        raise Unavailable("away")

    with monkeypatch.context() as patched:
        patched.setattr(start_guard, "void", away)
        dispatcher.run_once()
    # One was claimed; without Redis no other is.
    assert sorted(statuses()) == ["PENDING", "QUEUED"]
    broker.broken = False

    assert dispatcher.run_once().done == 2


def test_a_fault_of_a_later_claim_leaves_the_earlier_one_published(
    alpha: Tenant, dispatcher: Dispatcher, broker: Broker, monkeypatch: pytest.MonkeyPatch
):
    beat("w1", slots=100)
    due(dispatcher, alpha, 1, 5)
    mark_queued = transitions.mark_queued

    def fails_for_the_second(parameters: Any) -> tuple[list[Any], int]:
        if parameters["priorities"] == [5]:
            raise OperationalError("gone")
        return mark_queued(parameters)

    monkeypatch.setattr(transitions, "mark_queued", fails_for_the_second)
    with pytest.raises(OperationalError):
        dispatcher.run_once()

    assert len(broker.entries) == 1
    assert sorted(statuses()) == ["PENDING", "QUEUED"]


def test_nothing_is_claimed_when_redis_is_away(
    alpha: Tenant, dispatcher: Dispatcher, monkeypatch: pytest.MonkeyPatch
):
    due(dispatcher, alpha, 5)
    nowhere = closed_redis()
    monkeypatch.setattr(start_guard, "client", lambda: nowhere)

    with pytest.raises(redis.ConnectionError):
        dispatcher.run_once()

    assert statuses() == ["PENDING"]


def test_whether_redis_is_reached_is_told_also_by_one_that_owns_nothing(
    broker: Broker, monkeypatch: pytest.MonkeyPatch
):
    told: list[bool] = []
    partitions = Partitions()
    monkeypatch.setattr(partitions, "note_redis", lambda *, reached: told.append(reached))
    idle = Dispatcher(partitions, broker.publish, active_signing_secrets)
    nowhere = closed_redis()

    idle.run_once()
    monkeypatch.setattr(start_guard, "client", lambda: nowhere)
    with pytest.raises(redis.ConnectionError):
        idle.run_once()

    assert told == [True, False]


class Told(list[bool]):
    """What a dispatcher tells its partitions of Redis."""

    def __init__(self, dispatcher: Dispatcher, monkeypatch: pytest.MonkeyPatch) -> None:
        super().__init__()
        note = dispatcher.partitions.note_redis

        def keep(*, reached: bool) -> None:
            self.append(reached)
            note(reached=reached)

        monkeypatch.setattr(dispatcher.partitions, "note_redis", keep)


def test_a_broker_that_takes_no_message_counts_as_not_reached(
    alpha: Tenant, dispatcher: Dispatcher, monkeypatch: pytest.MonkeyPatch
):
    beat("w1")
    due(dispatcher, alpha, 5)
    told = Told(dispatcher, monkeypatch)

    def refused(queue: str, message: Any) -> None:
        raise WritesRefused("READONLY")

    monkeypatch.setattr(dispatcher.sending, "publish", refused)
    dispatcher.run_once()

    assert told == [False]
    assert statuses() == ["PENDING"]


def test_a_redis_that_fails_in_the_middle_of_a_pass_counts_as_not_reached(
    alpha: Tenant, dispatcher: Dispatcher, monkeypatch: pytest.MonkeyPatch
):
    due(dispatcher, alpha, 5)
    told = Told(dispatcher, monkeypatch)

    def away() -> dict[str, int]:
        raise redis.ConnectionError("gone")

    monkeypatch.setattr("executions.dispatch.stage.capacity_by_pool", away)
    with pytest.raises(redis.ConnectionError):
        dispatcher.run_once()

    assert told == [False]


def test_what_was_cut_off_is_reached_again_when_a_message_could_be_handed_over(
    dispatcher: Dispatcher, monkeypatch: pytest.MonkeyPatch
):
    probes: list[int] = []

    def probe() -> None:
        probes.append(1)
        if len(probes) == 1:
            raise WritesRefused("READONLY")

    monkeypatch.setattr(dispatcher, "probe", probe)
    told = Told(dispatcher, monkeypatch)
    dispatcher.run_once()
    assert not probes
    dispatcher.partitions.note_redis(reached=False)

    with pytest.raises(WritesRefused):
        dispatcher.run_once()
    dispatcher.run_once()
    dispatcher.run_once()

    assert told == [True, False, False, True, True]
    assert len(probes) == 2


def test_retries_come_back_when_they_are_due(alpha: Tenant, dispatcher: Dispatcher):
    beat("w1")
    due(dispatcher, alpha, 5, 5)
    first = Execution.objects.order_by("id").first()
    assert first is not None
    Execution.objects.update(status="RETRYING", attempt=1)
    Execution.objects.filter(id=first.id).update(due_at=F("due_at") + timedelta(hours=1))

    assert dispatcher.run_once().done == 1


def test_a_scheduler_without_partitions_dispatches_nothing(broker: Broker, alpha: Tenant):
    idle = Dispatcher(Partitions(), broker.publish, active_signing_secrets)

    assert idle.run_once().done == 0


# In transactions of their own, as in production: within one, now() stands where the test began.
@pytest.mark.django_db(transaction=True)
def test_a_task_for_the_next_moment_is_released_in_one_pass(
    alpha: Tenant, dispatcher: Dispatcher, broker: Broker
):
    beat("w1")
    make_task(alpha, every_second())

    # What the wake-up hurries, in this order.
    materialize.run_once(dispatcher.partitions)
    dispatcher.run_once()
    assert len(broker.entries) == Execution.objects.filter(status="QUEUED").count() >= 3


def test_a_pool_that_is_full_is_noted_as_scarce(alpha: Tenant, dispatcher: Dispatcher):
    beat("w1", slots=2, hold=0)
    due(dispatcher, alpha, 5)

    dispatcher.run_once()
    assert scarcity.without(["default"]) == {"default"}

    due(dispatcher, alpha, 5)
    dispatcher.run_once()
    assert scarcity.without(["default"]) == set()
