"""A scrape scans nothing: each number comes by an index, from a small table, or up to a bound."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
from django.db import connection

from executions.ledger import totals
from insight import takeovers
from insight.metrics import reading

pytestmark = pytest.mark.django_db

_STATEMENTS = (
    "metric_reads/queue",
    "metric_reads/partitions",
    "metric_reads/open_letters",
    "metric_reads/due_without_worker",
    "metric_reads/ending_keys",
    "metric_reads/lag_of_tenants",
    "totals/read",
)


@pytest.fixture(autouse=True)
def _nothing_waits(db: None) -> None:
    # What another test has counted in its analysis stays when its rows are rolled back.
    with connection.cursor() as cursor:
        cursor.execute("ANALYZE open_executions")


@pytest.fixture
def delayed_tenants(settings: Any) -> None:
    settings.PUNCTUAL = replace(settings.PUNCTUAL, metrics_tenants=5)


def test_a_scrape_reads_no_large_table_whole(plans: Any, delayed_tenants: None):
    with plans() as found:
        reading.read({**reading.QUICK, **reading.SLOW})

    found.check(*_STATEMENTS)


def test_open_work_is_counted_by_the_indexes_of_open_work(plans: Any, delayed_tenants: None):
    with plans() as found:
        reading.read({**reading.QUICK, **reading.SLOW})

    # Not that of due work in its order: it has the work of tenants' own workers, who may be away.
    kinds = ("parked", "leased", "pull", "flow", "to_begin")
    names = {f"open_executions_{name}_idx" for name in kinds}
    found.check_within(names, "metric_reads/queue", "metric_reads/lag_of_tenants")
    found.check_within({"open_executions_flow_idx"}, "metric_reads/due_without_worker")


def test_totals_are_added_and_folded_without_a_look_at_more(plans: Any):
    with plans() as found:
        totals.add({"retries": 1})
        totals.fold()

    found.check("totals/add", "totals/fold")


def test_no_statement_of_a_scrape_touches_the_history(plans: Any, delayed_tenants: None):
    with plans() as found:
        reading.read({**reading.QUICK, **reading.SLOW})

    touched = {
        table for plans_ in found.found.values() for plan in plans_ for table in plan.touched
    }
    assert not {table for table in touched if table.startswith(("executions", "ended", "attempts"))}


def test_takeovers_are_read_from_the_end_and_lost_attempts_by_their_time(plans: Any):
    with plans() as found:
        takeovers.read()

    found.check_within({"unowned_stretches_pkey"}, "installation_reads/takeovers")
    found.check_within({"objective_counts_age_idx"}, "installation_reads/lost_attempts")
