"""Totals for metrics move with what they count: once, exactly, and without waiting."""

from __future__ import annotations

from typing import Any

import psycopg
import pytest
from django.db import connection, transaction

from executions import transitions
from executions.ledger import minute_stats, totals
from executions.ledger.minute_stats import Ended
from executions.ledger.settling import Moved
from executions.loop.clocks import database_now
from executions.models import MetricTotal
from executions.models.minute_stat import START_DELAY_BUCKETS_MS
from executions.transitions import Finish
from shared.sql import statement
from tenants.models import Tenant
from tests.executions.ledger.ends import ended, queued
from tests.factories import make_task, once, prepare, release, start

pytestmark = pytest.mark.django_db


@pytest.fixture(autouse=True)
def _nothing_counted(db: None) -> None:
    MetricTotal.objects.all().delete()


def counted(prefix: str) -> dict[str, int]:
    found = totals.read()
    return {name: value for name, value in found.items() if name.startswith(prefix)}


def test_each_attempt_of_a_batch_is_counted_by_its_outcome_and_end(alpha: Tenant):
    one, two, three, four = queued(alpha, 4)
    transitions.finish(
        [
            ended(one),
            ended(two, "RETRYING", outcome="TIMED_OUT", retry_in=60.0),
            ended(three, "FAILED", outcome="WORKER_LOST", error_code="worker_lost"),
            ended(four, "CANCELLED", outcome="CANCELLED"),
        ]
    )

    assert counted("attempts/") == {
        "attempts/succeeded": 1,
        "attempts/timed_out": 1,
        "attempts/worker_lost": 1,
        "attempts/cancelled": 1,
    }
    assert counted("ended/") == {"ended/task/succeeded": 1, "ended/task/failed": 1}
    assert counted("retries") == {"retries": 1}
    assert counted("dead_letters") == {"dead_letters": 1}


def test_delay_and_duration_fall_into_their_buckets_and_sums(alpha: Tenant):
    (row,) = queued(alpha)
    transitions.finish([ended(row)])

    place = START_DELAY_BUCKETS_MS.index(50)
    assert counted("delay/") == {f"delay/{place}": 1, "delay/sum": 30_000}
    assert counted("duration/") == {"duration/0": 1, "duration/sum": 0}
    assert sum(value for name, value in counted("waiting/").items() if "sum" not in name) == 1


def test_a_replayed_outcome_and_a_stale_token_count_nothing(alpha: Tenant):
    (row,) = queued(alpha)
    transitions.finish([ended(row)])
    before = totals.read()

    transitions.finish([ended(row)])
    transitions.finish([Finish(row.id, row.token + 10**6, 1, "FAILED", "FAILED")])

    assert totals.read() == before


def test_the_outcome_with_the_higher_token_is_the_one_that_moved_it(alpha: Tenant):
    (row,) = queued(alpha)
    stale = Finish(row.id, row.token - 1, 1, "FAILED", "TIMED_OUT", started_at=row.due_at)

    transitions.finish([ended(row), stale])

    assert counted("attempts/") == {"attempts/succeeded": 1}


def test_a_transaction_that_is_undone_counts_nothing(alpha: Tenant):
    (row,) = queued(alpha)
    before = totals.read()

    with transaction.atomic():
        transitions.finish([ended(row, "FAILED", error_code="x")])
        assert totals.read() != before
        transaction.set_rollback(True)

    assert totals.read() == before


def test_the_delay_is_that_of_the_first_attempt_and_each_attempt_waits(alpha: Tenant):
    (row,) = queued(alpha)
    start([row])
    transitions.finish([ended(row, "RETRYING")])
    (again,) = release()
    transitions.finish([ended(again)])

    def observations(prefix: str) -> int:
        return sum(v for name, v in counted(prefix).items() if not name.endswith("sum"))

    assert (observations("delay/"), observations("waiting/")) == (1, 2)


def test_prepared_work_is_counted_as_scheduled_once(alpha: Tenant):
    make_task(alpha, once())
    make_task(alpha, once())
    prepare()
    prepare()

    assert counted("scheduled/") == {"scheduled/schedule": 2}


def test_an_execution_that_failed_without_a_start_is_no_attempt(alpha: Tenant):
    (row,) = queued(alpha)
    moved = Moved(
        *(row.id, alpha.id, "FAILED", 0, None, row.due_at, row.id, "schedule", 1, row.due_at),
        *(None, True, "", None, None, 0, 0, None, 5, True),
    )

    found = totals.of_attempts([moved], {row.id: Finish(row.id, 0, 0, "FAILED", "")})

    assert found == {"ended/task/failed": 1}


def test_runs_are_counted_by_their_status():
    assert totals.of_runs(["SUCCEEDED", "FAILED", "SUCCEEDED"]) == {
        "ended/run/succeeded": 2,
        "ended/run/failed": 1,
    }


def test_zeros_add_nothing():
    totals.add({"retries": 0})

    assert not MetricTotal.objects.exists()


def test_what_counts_nothing_writes_no_row(alpha: Tenant):
    minute_stats.count([Ended(alpha.id, alpha.id, "SUCCEEDED", 1, 5.0, database_now())])

    assert not MetricTotal.objects.exists()


def test_an_end_costs_one_row_however_many_series_it_counts(alpha: Tenant):
    row, again = queued(alpha, 2)
    MetricTotal.objects.all().delete()

    transitions.finish([ended(row), ended(again)])

    kept = MetricTotal.objects.get()
    assert len(kept.series) == len(set(kept.series)) == len(kept.counts) > 6


def test_folding_changes_no_total_and_leaves_one_row():
    for _ in range(3):
        totals.add({"retries": 5, "dead_letters": 1})
    totals.add({"retries": 10})
    before = totals.read()

    assert totals.fold() == 4

    assert totals.read() == before == {"retries": 25, "dead_letters": 3}
    assert MetricTotal.objects.count() == 1


def test_what_is_folded_is_added_to_what_was_folded_before():
    for _ in range(3):
        totals.add({"retries": 1})
        totals.fold()

    assert totals.read() == {"retries": 3}
    assert MetricTotal.objects.count() == 1


def test_a_single_row_is_left_as_it_is():
    totals.add({"retries": 1})
    kept = MetricTotal.objects.get().pk

    assert totals.fold() == 0
    assert MetricTotal.objects.get().pk == kept


def test_a_fold_ends_at_its_bound(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(totals, "MOST_FOLDED", 3)
    for _ in range(5):
        totals.add({"retries": 1})

    assert [totals.fold() for _ in range(3)] == [3, 3, 0]
    assert totals.read() == {"retries": 5}


@pytest.mark.django_db(transaction=True)
def test_a_fold_beside_another_leaves_it_the_rows_that_it_has_taken():
    for _ in range(2):
        totals.add({"retries": 1})
    with psycopg.connect(**_address()) as other:
        other.execute(statement("totals/fold"), {"most": 1})
        totals.add({"retries": 1})

        assert totals.fold() == 2
        assert totals.read() == {"retries": 3}
        other.commit()

    assert totals.read() == {"retries": 3}
    assert totals.fold() == 2
    assert totals.read() == {"retries": 3}


@pytest.mark.django_db(transaction=True)
def test_an_open_transaction_that_counts_keeps_no_other_waiting():
    with psycopg.connect(**_address()) as other:
        other.execute(statement("totals/add"), {"series": ["retries"], "counts": [1]})
        with transaction.atomic(), connection.cursor() as cursor:
            cursor.execute("SET LOCAL lock_timeout = '1ms'")
            totals.add({"retries": 1})
            totals.add({"retries": 1})
            totals.fold()
        other.commit()

    assert totals.read() == {"retries": 3}


def _address() -> dict[str, Any]:
    found = connection.settings_dict
    return {
        "host": found["HOST"],
        "port": found["PORT"] or None,
        "dbname": found["NAME"],
        "user": found["USER"],
        "password": found["PASSWORD"] or None,
    }
