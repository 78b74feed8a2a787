from __future__ import annotations

from datetime import timedelta
from uuid import uuid4

import pytest

from executions import transitions
from executions.ledger import minute_stats
from executions.ledger.minute_stats import Ended, Kind
from executions.loop.clocks import database_now
from executions.models import Execution
from executions.models.minute_stat import START_DELAY_BUCKETS_MS, MinuteStat
from executions.transitions import Finish
from tenants.models import Tenant
from tests.executions.leasing import call, take_one, work
from tests.executions.ledger.ends import ended, queued
from tests.factories import WORKER, make_task, once, prepare, release, start

pytestmark = pytest.mark.django_db


def only() -> MinuteStat:
    return MinuteStat.objects.get()


def bucket(milliseconds: int) -> int:
    return START_DELAY_BUCKETS_MS.index(milliseconds)


def test_each_end_of_a_batch_is_counted_in_its_tenants_minute(alpha: Tenant):
    one, two, three, four, five = queued(alpha, 5)
    transitions.finish(
        [
            ended(one),
            ended(two),
            ended(three, "RETRYING", retry_in=60.0),
            ended(four, "FAILED", error_code="timeout_total"),
            ended(five, "CANCELLED"),
        ]
    )

    found = list(MinuteStat.objects.all())
    assert {row.tenant_id for row in found} == {alpha.id}
    assert all((row.minute.second, row.minute.microsecond) == (0, 0) for row in found)
    sums = [sum(getattr(row, name) for row in found) for name in ("succeeded", "failed")]
    assert sums == [2, 1]
    assert sum(row.retried for row in found) == 1
    assert sum(row.cancelled for row in found) == 1
    assert sum(row.start_delays[bucket(50)] for row in found) == 5
    assert sum(sum(row.start_delays) for row in found) == 5
    assert sum(row.late for row in found) == 0


def test_a_later_batch_is_added_to_the_same_minute(alpha: Tenant):
    at = database_now()
    one, two = queued(alpha, 2)
    transitions.finish([ended(one, started_at=at, finished_at=at)])
    transitions.finish([ended(two, started_at=at, finished_at=at)])

    assert (only().succeeded, sum(only().start_delays)) == (2, 2)
    assert only().minute == at.replace(second=0, microsecond=0)


def test_a_replayed_outcome_counts_once(alpha: Tenant):
    (row,) = queued(alpha)
    said = ended(row)

    assert transitions.finish([said]) == [row.id]
    assert transitions.finish([said]) == []

    assert (only().succeeded, sum(only().start_delays)) == (1, 1)


def test_a_stale_token_counts_nothing(alpha: Tenant):
    (row,) = queued(alpha)
    stale = Finish(row.id, row.token + 10**6, 1, "SUCCEEDED", "SUCCEEDED", worker=WORKER)

    assert transitions.finish([stale]) == []

    assert not MinuteStat.objects.exists()


def test_the_start_delay_is_that_of_the_first_attempt_only(alpha: Tenant):
    (row,) = queued(alpha)
    start([row])
    transitions.finish([ended(row, "RETRYING")])
    (again,) = release()
    assert again.attempt == 1
    transitions.finish([ended(again)])

    found = list(MinuteStat.objects.all())
    assert sum(minute.retried for minute in found) == 1
    assert sum(minute.succeeded for minute in found) == 1
    assert sum(sum(minute.start_delays) for minute in found) == 1


def test_a_start_after_more_than_a_second_is_late(alpha: Tenant):
    on_time, late, very_late = queued(alpha, 3)
    at = database_now()
    delays = {on_time: 1.0, late: 1.001, very_late: 100.0}
    transitions.finish(
        [
            ended(row, started_at=row.due_at + timedelta(seconds=delay), finished_at=at)
            for row, delay in delays.items()
        ]
    )

    assert only().late == 2
    assert only().start_delays[bucket(1_000)] == 1
    assert only().start_delays[bucket(2_000)] == 1
    assert only().start_delays[-1] == 1


def test_when_leased_work_starts_is_the_tenants_own_and_no_start_delay(alpha: Tenant):
    work(alpha)
    Execution.objects.update(due_at=database_now() - timedelta(hours=1))
    lease = take_one(alpha)

    call(lease.execution_id, "complete", lease.token)

    assert (only().succeeded, only().late, sum(only().start_delays)) == (1, 0, 0)


def test_an_end_that_a_worker_dates_ahead_belongs_to_the_current_minute(alpha: Tenant):
    (row,) = queued(alpha)

    transitions.finish([ended(row, finished_at=database_now() + timedelta(days=2))])

    assert only().minute <= database_now()


def test_tenants_are_counted_apart(alpha: Tenant, beta: Tenant):
    make_task(alpha, once())
    make_task(beta, once())
    prepare()
    transitions.finish([ended(row) for row in release()])

    assert {row.tenant_id: row.succeeded for row in MinuteStat.objects.all()} == {
        alpha.id: 1,
        beta.id: 1,
    }


def test_rows_of_an_older_version_with_fewer_buckets_are_added_up(alpha: Tenant):
    minute = database_now().replace(second=0, microsecond=0)
    MinuteStat.objects.create(tenant_id=alpha.id, minute=minute, start_delays=[7])

    minute_stats.count([Ended(uuid4(), alpha.id, "SUCCEEDED", 1, 0.5, minute)])

    assert only().start_delays == [8] + [0] * len(START_DELAY_BUCKETS_MS)


def test_nothing_that_ended_writes_nothing():
    minute_stats.count([])

    assert not MinuteStat.objects.exists()


def test_minutes_before_a_moment_are_deleted(alpha: Tenant):
    now = database_now().replace(second=0, microsecond=0)
    for days in (1, 9, 11, 30):
        minute = now - timedelta(days=days)
        MinuteStat.objects.create(tenant_id=alpha.id, minute=minute, start_delays=[])

    assert minute_stats.prune(now - timedelta(days=10)) == 2

    assert MinuteStat.objects.count() == 2


def test_steps_are_calls_and_counted_apart_and_runs_are_no_calls(alpha: Tenant):
    minute = database_now().replace(second=0, microsecond=0)
    kinds = [Kind.TASK, Kind.STEP, Kind.STEP, Kind.RUN]
    for state in ("SUCCEEDED", "FAILED"):
        minute_stats.count(
            [Ended(uuid4(), alpha.id, state, 1, 0.5, minute, kind) for kind in kinds]
        )

    found = only()
    assert (found.succeeded, found.failed) == (3, 3)
    assert (found.steps_succeeded, found.steps_failed) == (2, 2)
    assert (found.runs_succeeded, found.runs_failed) == (1, 1)
    assert sum(found.start_delays) == 6
