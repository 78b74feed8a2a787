from __future__ import annotations

from datetime import timedelta
from typing import Any
from unittest.mock import Mock

import pytest
import redis
from django.db import OperationalError, transaction
from django.db.models import F

from executions.complete.outcome_stream import ensure_group
from executions.complete.stage import Recorder
from executions.loop.clocks import database_now
from executions.models import Attempt, DeadLetter, Execution, PartitionLease, SchedulerNode
from executions.ownership.partitions import Partitions
from executions.rescue import expiry, lost_workers
from executions.rescue.stage import Rescuer
from shared.conf import conf
from shared.exceptions import Unavailable
from shared.redis_client import INCARNATION_KEY, OUTCOME_STREAM, client
from tenants.models import Tenant
from tests.factories import WORKER, finish, make_execution, once, pass_guard, release
from tests.support.beats import beat
from tests.support.beats import silence as silent
from tests.support.closed_redis import closed_redis
from tests.support.rescuing import Time, expire, run, take_partitions
from wire import heartbeats, outcomes, start_guard

pytestmark = pytest.mark.django_db


class Leapt:
    """Redis with a clock that is some seconds ahead."""

    def __init__(self, real: Any, ahead: float) -> None:
        self._real = real
        self.ahead = ahead

    def __getattr__(self, name: str) -> Any:
        return getattr(self._real, name)

    def time(self) -> tuple[int, int]:
        return self._leapt(self._real.time())

    def pipeline(self, **options: Any) -> Any:
        """Return a pipeline whose first question is for the time."""
        made = self._real.pipeline(**options)
        execute = made.execute

        def leapt() -> list[Any]:
            stamp, *others = execute()
            return [self._leapt(stamp), *others]

        made.execute = leapt
        return made

    def _leapt(self, stamp: tuple[int, int]) -> tuple[int, int]:
        return stamp[0] + int(self.ahead), stamp[1]


def inherit(rescuer: Rescuer) -> None:
    """Take the partitions over from a scheduler that died just after it had claimed everything."""
    lost = Partitions()
    lost.run_once()
    PartitionLease.objects.update(expires_at=database_now() - timedelta(seconds=1))
    SchedulerNode.objects.filter(id=lost.node).delete()
    take_partitions(rescuer)
    Execution.objects.update(queued_at=F("queued_at") - timedelta(seconds=1))


def test_released_work_within_its_lease_is_left_alone(alpha: Tenant, rescuer: Rescuer):
    execution = make_execution(alpha, "QUEUED")

    assert run(rescuer) == 0

    execution.refresh_from_db()
    assert execution.status == "QUEUED"


def test_released_work_that_nobody_started_comes_back_without_an_attempt(
    alpha: Tenant, rescuer: Rescuer
):
    execution = make_execution(alpha, "QUEUED")
    expire(execution)

    assert run(rescuer) == 1

    execution.refresh_from_db()
    assert (execution.status, execution.attempt) == ("PENDING", 0)
    assert not Attempt.objects.exists()
    # The message that is still about somewhere can no longer start.
    assert start_guard.void([execution.fencing_token or 0]) == [""]


def test_what_came_back_goes_out_again_under_a_new_token(alpha: Tenant, rescuer: Rescuer):
    execution = make_execution(alpha, "QUEUED")
    expire(execution)
    run(rescuer)

    (again,) = release()

    assert again.token > (execution.fencing_token or 0)
    assert again.attempt == 0


def test_released_work_that_has_started_counts_as_running(alpha: Tenant, rescuer: Rescuer):
    make_execution(alpha)
    claimed = release()
    assert pass_guard(claimed) == [start_guard.GO]
    execution = Execution.objects.get()
    expire(execution)

    assert run(rescuer) == 0

    execution.refresh_from_db()
    assert (execution.status, execution.worker, execution.attempt) == ("RUNNING", WORKER, 1)
    assert execution.lease_expires_at is not None
    assert execution.lease_expires_at > database_now()


def test_work_of_a_former_incarnation_comes_back_before_its_lease_ends(
    alpha: Tenant, rescuer: Rescuer, clock: Time
):
    execution = make_execution(alpha, "QUEUED")
    client().delete(INCARNATION_KEY)

    # Whoever has started it gets a moment to say so.
    assert run(rescuer) == 0
    clock.now += 2.1
    assert run(rescuer) == 1

    execution.refresh_from_db()
    assert execution.status == "PENDING"


def test_work_of_a_former_incarnation_waits_for_what_its_worker_said_of_it(
    alpha: Tenant, rescuer: Rescuer, clock: Time
):
    make_execution(alpha, "QUEUED")
    client().delete(INCARNATION_KEY)
    run(rescuer)
    clock.now += 2.1
    say_something()

    assert run(rescuer) == 0
    record_everything()

    assert run(rescuer) == 1


def test_the_end_of_a_lease_is_no_reason_while_redis_may_have_lost_what_started(
    alpha: Tenant, rescuer: Rescuer, clock: Time
):
    execution = make_execution(alpha, "QUEUED")
    expire(execution)
    client().delete(INCARNATION_KEY)

    assert run(rescuer) == 0
    clock.now += 2.1

    assert run(rescuer) == 1


def test_what_a_lost_scheduler_claimed_comes_back_once(alpha: Tenant, rescuer: Rescuer):
    before, after = (make_execution(alpha, "QUEUED") for _ in range(2))
    inherit(rescuer)
    Execution.objects.filter(id=after.id).update(queued_at=database_now())

    assert rescuer.run_once().done == 1
    assert rescuer.run_once().done == 0

    statuses = dict(Execution.objects.values_list("id", "status"))
    assert (statuses[before.id], statuses[after.id]) == ("PENDING", "QUEUED")


def test_what_a_lost_scheduler_claimed_is_not_forgotten_when_redis_fails_once(
    alpha: Tenant, rescuer: Rescuer, monkeypatch: pytest.MonkeyPatch
):
    execution = make_execution(alpha, "QUEUED")
    inherit(rescuer)
    with monkeypatch.context() as away:
        away.setattr(start_guard, "void", Mock(side_effect=Unavailable))
        with pytest.raises(Unavailable):
            rescuer.run_once()

    assert rescuer.run_once().done == 1

    execution.refresh_from_db()
    assert execution.status == "PENDING"


def test_what_a_scheduler_gave_up_in_order_stays_with_its_workers(alpha: Tenant, rescuer: Rescuer):
    execution = make_execution(alpha, "QUEUED")
    stopped = Partitions()
    stopped.run_once()
    stopped.release_all()

    assert run(rescuer) == 0

    execution.refresh_from_db()
    assert execution.status == "QUEUED"


def test_work_that_a_lost_worker_may_hold_comes_back_before_its_lease_ends(
    alpha: Tenant, rescuer: Rescuer
):
    execution = make_execution(alpha, "QUEUED")
    elsewhere = make_execution(alpha, "QUEUED")
    Execution.objects.update(queued_at=F("queued_at") - timedelta(hours=1))
    Execution.objects.filter(id=elsewhere.id).update(pool="handlers")
    beat("w-dead")
    silent("w-dead", conf().worker_lost_seconds + 1)

    assert run(rescuer) == 1

    execution.refresh_from_db()
    elsewhere.refresh_from_db()
    assert (execution.status, execution.attempt) == ("PENDING", 0)
    assert elsewhere.status == "QUEUED"
    assert start_guard.void([execution.fencing_token or 0]) == [""]


def test_work_queued_after_the_loss_of_a_worker_is_left_alone(alpha: Tenant, rescuer: Rescuer):
    beat("w-dead")
    silent("w-dead", conf().worker_lost_seconds + 5)
    execution = make_execution(alpha, "QUEUED")

    assert run(rescuer) == 0

    execution.refresh_from_db()
    assert execution.status == "QUEUED"


def test_a_running_execution_of_a_live_worker_is_left_alone(alpha: Tenant, rescuer: Rescuer):
    make_execution(alpha, "RUNNING")
    beat(WORKER)

    assert run(rescuer) == 0


def test_a_lost_workers_execution_is_retried(alpha: Tenant, rescuer: Rescuer):
    execution = make_execution(alpha, "RUNNING")
    silent(WORKER, conf().worker_lost_seconds + 1)

    assert run(rescuer) == 1

    execution.refresh_from_db()
    assert (execution.status, execution.reason) == ("RETRYING", "worker_lost")
    assert (execution.attempt, execution.lost_count) == (1, 1)
    attempt = Attempt.objects.get()
    assert (attempt.number, attempt.outcome) == (1, "WORKER_LOST")
    assert attempt.worker == WORKER


def test_a_lost_workers_last_attempt_goes_to_the_dead_letters(alpha: Tenant, rescuer: Rescuer):
    execution = make_execution(alpha, "RUNNING")
    Execution.objects.update(attempt=F("max_attempts"))
    silent(WORKER, 60)

    run(rescuer)

    execution.refresh_from_db()
    assert (execution.status, execution.reason) == ("FAILED", "attempts_exhausted")
    assert DeadLetter.objects.get().error_signature == "worker_lost"


def test_a_payload_that_three_workers_died_of_is_poisoned(alpha: Tenant, rescuer: Rescuer):
    execution = make_execution(alpha, "RUNNING")
    Execution.objects.update(lost_count=2)
    silent(WORKER, 60)

    run(rescuer)

    execution.refresh_from_db()
    assert (execution.status, execution.reason) == ("FAILED", "poisoned")
    assert execution.attempt < execution.max_attempts
    assert DeadLetter.objects.filter(execution_id=execution.id).exists()


@pytest.mark.parametrize(("age", "status"), [(40, "RETRYING"), (70, "FAILED")])
def test_after_a_lost_worker_no_retry_begins_later_than_its_age_allows(
    alpha: Tenant, rescuer: Rescuer, age: float, status: str
):
    policy = {"backoff": "fixed", "initial_delay_seconds": 300, "jitter": "none"}
    aged = {**policy, "max_age_seconds": 360}
    execution = make_execution(alpha, "RUNNING", once(retry_policy=aged))
    Execution.objects.update(scheduled_for=database_now() - timedelta(seconds=age))
    silent(WORKER, 60)

    assert run(rescuer) == 1

    execution.refresh_from_db()
    failed = status == "FAILED"
    reason = "max_age_exceeded" if failed else "worker_lost"
    assert (execution.status, execution.reason) == (status, reason)
    assert (execution.lost_count, Attempt.objects.get().outcome) == (1, "WORKER_LOST")
    assert DeadLetter.objects.filter(execution_id=execution.id).exists() is failed


def test_poison_is_the_first_word_on_work_that_is_too_old_as_well(alpha: Tenant, rescuer: Rescuer):
    execution = make_execution(alpha, "RUNNING", once(retry_policy={"max_age_seconds": 60}))
    Execution.objects.update(
        scheduled_for=database_now() - timedelta(seconds=90), lost_count=2, attempt=5
    )
    silent(WORKER, 60)

    run(rescuer)

    execution.refresh_from_db()
    assert (execution.status, execution.reason) == ("FAILED", "poisoned")


def test_an_execution_that_was_to_be_cancelled_ends_with_its_worker(
    alpha: Tenant, rescuer: Rescuer
):
    execution = make_execution(alpha, "RUNNING")
    Execution.objects.update(cancel_requested_at=database_now())
    silent(WORKER, 60)

    run(rescuer)

    execution.refresh_from_db()
    assert (execution.status, execution.reason) == ("CANCELLED", "cancelled")


def test_a_running_execution_past_its_lease_is_lost_also_with_a_live_worker(
    alpha: Tenant, rescuer: Rescuer
):
    execution = make_execution(alpha, "RUNNING")
    beat(WORKER)
    expire(execution)

    run(rescuer)

    execution.refresh_from_db()
    assert execution.status == "RETRYING"


def say_something() -> None:
    client().xadd(OUTCOME_STREAM, {"d": outcomes.joined([])})


def record_everything() -> None:
    Recorder("r1", block_seconds=0.01).run_once()


def test_nothing_is_lost_before_the_recorder_has_read_what_was_said(
    alpha: Tenant, rescuer: Rescuer
):
    execution = make_execution(alpha, "RUNNING")
    silent(WORKER, 60)
    expire(execution)
    say_something()

    # Its outcome may be in the stream.
    assert run(rescuer) == 0
    record_everything()

    assert run(rescuer) == 1


def test_a_flushed_registry_does_not_declare_everybody_lost_at_once(
    alpha: Tenant, rescuer: Rescuer, clock: Time
):
    execution = make_execution(alpha, "RUNNING")
    client().flushall()
    ensure_group()

    assert run(rescuer) == 0
    beat(WORKER)
    clock.now += conf().worker_lost_seconds + 1
    assert run(rescuer) == 0

    client().flushall()
    ensure_group()
    assert run(rescuer) == 0
    clock.now += conf().worker_lost_seconds + 1
    assert run(rescuer) == 1
    execution.refresh_from_db()
    assert execution.status == "RETRYING"


def test_a_fault_of_the_database_does_not_make_the_workers_silence_mean_less(
    alpha: Tenant, rescuer: Rescuer, monkeypatch: pytest.MonkeyPatch
):
    execution = make_execution(alpha, "RUNNING")
    silent(WORKER, 60)
    take_partitions(rescuer)

    def deadlock(*_: Any) -> int:
        raise OperationalError("deadlock detected")

    with monkeypatch.context() as patched:
        patched.setattr(expiry, "expire", deadlock)
        with pytest.raises(OperationalError), transaction.atomic():
            rescuer.run_once()
    assert run(rescuer) == 1

    execution.refresh_from_db()
    assert execution.status == "RETRYING"


def test_workers_that_had_no_redis_to_beat_in_are_not_lost_when_it_returns(
    alpha: Tenant, rescuer: Rescuer, clock: Time, monkeypatch: pytest.MonkeyPatch
):
    make_execution(alpha, "RUNNING")
    nowhere = closed_redis()
    with monkeypatch.context() as patched:
        patched.setattr(start_guard, "client", lambda: nowhere)
        with pytest.raises(redis.ConnectionError):
            run(rescuer)
    # Redis was away for a minute, and came back with the heartbeats of then.
    clock.now += 60
    silent(WORKER, 60)

    assert run(rescuer) == 0
    beat(WORKER)
    clock.now += conf().worker_lost_seconds + 1
    assert run(rescuer) == 0


def test_a_worker_that_stays_silent_after_redis_returned_is_lost(
    alpha: Tenant, rescuer: Rescuer, clock: Time
):
    make_execution(alpha, "RUNNING")
    rescuer.silence.interrupted()
    silent(WORKER, 60)

    assert run(rescuer) == 0
    clock.now += conf().worker_lost_seconds + 0.1

    assert run(rescuer) == 1


def test_a_leap_of_a_clock_makes_nobody_lost(
    alpha: Tenant, rescuer: Rescuer, clock: Time, monkeypatch: pytest.MonkeyPatch
):
    make_execution(alpha, "RUNNING")
    beat(WORKER)
    run(rescuer)
    # Redis' clock goes five minutes ahead, and so looks every beat that much older.
    real, ahead = client(), 300
    leapt = Leapt(real, ahead)
    monkeypatch.setattr(lost_workers, "client", lambda: leapt)
    monkeypatch.setattr(heartbeats, "client", lambda: leapt)

    assert run(rescuer) == 0
    clock.now += conf().worker_lost_seconds + 0.1
    leapt.ahead += conf().worker_lost_seconds + 0.1

    # Whoever lives has beaten meanwhile; this one has not.
    assert run(rescuer) == 1


def test_leases_given_before_a_leap_of_the_databases_clock_last_as_long(
    alpha: Tenant, rescuer: Rescuer, monkeypatch: pytest.MonkeyPatch
):
    execution = make_execution(alpha, "RUNNING")
    beat(WORKER)
    run(rescuer)
    later = database_now() + timedelta(minutes=20)
    monkeypatch.setattr(lost_workers, "database_now", lambda: later)

    assert run(rescuer) == 0

    execution.refresh_from_db()
    assert execution.status == "RUNNING"


def test_an_expired_lease_proves_nothing_while_redis_has_just_been_away(
    alpha: Tenant, rescuer: Rescuer, clock: Time
):
    execution = make_execution(alpha, "RUNNING")
    beat(WORKER)
    expire(execution)
    rescuer.silence.interrupted()

    assert run(rescuer) == 0
    clock.now += conf().worker_lost_seconds + 0.1

    assert run(rescuer) == 1


def test_one_that_owned_nothing_so_far_knows_already_who_is_silent(
    alpha: Tenant, clock: Time, db: None
):
    ensure_group()
    make_execution(alpha, "RUNNING")
    silent(WORKER, 60)
    fresh = Rescuer(Partitions())
    fresh.run_once()
    clock.now += conf().worker_lost_seconds + 0.1

    assert run(fresh) == 1


def test_only_held_partitions_are_rescued(alpha: Tenant, rescuer: Rescuer):
    execution = make_execution(alpha, "QUEUED")
    expire(execution)
    take_partitions(rescuer)
    del rescuer.partitions._held[execution.partition]

    assert rescuer.run_once().done == 0


def test_a_scheduler_without_partitions_rescues_nothing(alpha: Tenant):
    assert Rescuer(Partitions()).run_once().done == 0


def test_an_outcome_that_comes_after_the_rescue_changes_nothing(alpha: Tenant, rescuer: Rescuer):
    make_execution(alpha)
    claimed = release()
    pass_guard(claimed)
    execution = Execution.objects.get()
    expire(execution)
    run(rescuer)
    expire(execution)
    Execution.objects.update(lease_expires_at=database_now() - timedelta(seconds=300))
    assert run(rescuer) == 1

    finish(claimed[0])

    execution.refresh_from_db()
    assert execution.status == "RETRYING"
    assert [attempt.outcome for attempt in Attempt.objects.all()] == ["WORKER_LOST"]


def test_rescue_needs_redis_and_changes_nothing_without(
    alpha: Tenant, rescuer: Rescuer, monkeypatch: pytest.MonkeyPatch
):
    execution = make_execution(alpha, "QUEUED")
    expire(execution)
    nowhere: Any = closed_redis()
    monkeypatch.setattr(start_guard, "client", lambda: nowhere)

    with pytest.raises(redis.ConnectionError):
        run(rescuer)

    execution.refresh_from_db()
    assert execution.status == "QUEUED"


def test_it_looks_every_second_while_workers_have_something_and_rests_otherwise(
    alpha: Tenant, rescuer: Rescuer
):
    take_partitions(rescuer)
    resting = rescuer.run_once().next_in
    rescuer.partitions.release_all()

    make_execution(alpha, "QUEUED")
    take_partitions(rescuer)

    assert (resting, rescuer.run_once().next_in) == (3.0, 1.0)
