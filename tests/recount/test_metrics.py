"""Every number of `/metrics` that counts rows is what a recount of the rows gives.

The rows are made and scraped once for the file, and stay until its last test.
"""

from __future__ import annotations

from bisect import bisect_left
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import replace
from datetime import datetime, timedelta
from functools import partial
from typing import Any, NamedTuple

import pytest
from django.conf import settings
from django.db.models import F
from django.test import Client
from prometheus_client.parser import text_string_to_metric_families

from api import scraping
from executions.ledger import totals
from executions.loop.clocks import database_now
from executions.models import Execution
from executions.ownership.partitions import Partitions
from executions.rescue.stage import Rescuer
from insight.metrics.catalogue import BY_NAME
from insight.metrics.collector import Collector
from tasks.versions import FIRST_OF_STEPS
from tenants.models import Tenant
from tests.executions.leasing import call, take_one, work
from tests.factories import finish, make_task, make_tenant, once, prepare, release
from tests.recount.world import ask, make_fleet, make_schedules, make_work, one
from tests.support.emptying import empty
from tests.support.workflows import begin_run, calls, make_workflow
from tests.support.workflows import work as work_through

pytestmark = pytest.mark.django_db

TOKEN = "a-token-of-a-scraper-0123456789abcdef"
#: Metric and labels -> value.
Scrape = dict[tuple[str, ...], float]


class Told(NamedTuple):
    """What a scrape has told, and when."""

    values: Scrape
    at: datetime


def scrape() -> Scrape:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(settings, "PUNCTUAL", replace(settings.PUNCTUAL, metrics_token=TOKEN))
        patch.setattr(scraping, "COLLECTOR", Collector())
        answer = Client().get("/metrics", headers={"authorization": f"Bearer {TOKEN}"})
    assert answer.status_code == 200
    return {
        (sample.name, *sample.labels.values()): sample.value
        for family in text_string_to_metric_families(answer.content.decode())
        for sample in family.samples
    }


def values(found: Scrape, name: str) -> dict[Any, float]:
    """Return the values of a metric that are not zero, by their labels."""
    return {
        key[1] if len(key) == 2 else key[1:]: value
        for key, value in found.items()
        if key[0] == name and value
    }


def counted(sql: str, *parameters: Any) -> dict[Any, float]:
    return {key: float(number) for key, number in ask(sql, *parameters)}


@pytest.fixture(scope="module")
def scraped(django_db_setup: None, django_db_blocker: Any) -> Iterator[Told]:
    with django_db_blocker.unblock():
        try:
            _let_each_kind_of_end_happen()
            yield Told(scrape(), database_now())
        finally:
            empty()


@pytest.fixture
def told(scraped: Told) -> Scrape:
    """Return what was scraped after each kind of end."""
    return scraped.values


def _let_each_kind_of_end_happen() -> None:
    tenants = make_tenant("Alpha"), make_tenant("Beta")
    _attempts_that_end_badly(tenants[0])
    _runs(tenants[0])
    _silent_holder(tenants[0])
    make_work(*tenants)
    make_fleet(*tenants)
    make_schedules(*tenants)
    totals.fold()


def _attempts_that_end_badly(tenant: Tenant) -> None:
    for outcome, code in (("TIMED_OUT", "timeout_total"), ("WORKER_LOST", "worker_lost")):
        for status, parts in (("FAILED", {}), ("RETRYING", {"retry_in": 900.0})):
            make_task(tenant, once(name=outcome))
            prepare()
            for row in release():
                finish(row, status, outcome=outcome, error_code=code, **parts)


def _runs(tenant: Tenant) -> None:
    for status in ("SUCCEEDED", "FAILED"):
        flow = make_workflow(tenant, [calls("one"), calls("two", "one")])
        work_through(begin_run(flow), partial(_always, status))


def _always(status: str, key: str, item: int) -> str:
    return status


def _silent_holder(tenant: Tenant) -> None:
    work(tenant)
    lease = take_one(tenant, worker="silent")
    call(lease.execution_id, "heartbeat", lease.token)
    Execution.objects.filter(pk=lease.execution_id).update(
        lease_expires_at=F("lease_expires_at") - timedelta(hours=1)
    )
    rescuer = Rescuer(Partitions())
    rescuer.partitions.run_once()
    assert rescuer.run_once().done == 1
    rescuer.partitions.release_all()


def test_attempts_are_those_of_the_table_by_outcome(told: Scrape):
    found = values(told, "punctual_attempts_total")

    assert found == counted("SELECT lower(outcome), count(*) FROM attempts GROUP BY 1")
    assert set(found) == set(BY_NAME["punctual_attempts_total"].known["outcome"])  # type: ignore[index]  # it has them


def test_executions_runs_and_steps_are_those_of_the_ledger(told: Scrape):
    sql = (
        "SELECT lower(status), count(*) FROM executions"
        " WHERE status IN ('SUCCEEDED', 'FAILED') AND span_count IS NULL AND "
    )
    of_tasks = counted(f"{sql} revision < %s AND pool <> 'workflow' GROUP BY 1", FIRST_OF_STEPS)
    of_runs = counted(f"{sql} pool = 'workflow' GROUP BY 1")
    of_steps = counted(f"{sql} revision >= %s GROUP BY 1", FIRST_OF_STEPS)

    assert values(told, "tasks_executed_total") == {
        **{("task", status): number for status, number in of_tasks.items()},
        **{("workflow", status): number for status, number in of_runs.items()},
    }
    assert values(told, "tasks_failed_total") == {
        "task": of_tasks["failed"],
        "workflow": of_runs["failed"],
    }
    assert values(told, "punctual_workflow_runs_total") == of_runs
    assert values(told, "punctual_steps_total") == of_steps
    assert min(of_runs.values()) > 0
    assert set(of_steps) == {"succeeded", "failed"}


def test_what_was_scheduled_is_what_events_report(told: Scrape):
    reported = one(
        "SELECT count(*) FROM events e CROSS JOIN LATERAL unnest(e.subjects) AS s (id)"
        " LEFT JOIN executions x ON x.id = s.id"
        " WHERE e.name = 'execution.materialized' AND coalesce(x.revision, 0) < %s",
        FIRST_OF_STEPS,
    )

    assert sum(values(told, "tasks_scheduled_total").values()) == reported
    assert set(values(told, "tasks_scheduled_total")) == {"schedule", "manual"}


def test_retries_and_dead_letters_are_those_of_events_and_table(told: Scrape):
    retried = one("SELECT count(*) FROM events WHERE name = 'execution.retrying'")

    assert told["punctual_retries_total",] == retried > 0
    assert told["punctual_dead_letters_total",] == one("SELECT count(*) FROM dead_letters")
    assert told["punctual_dead_letters_open",] == one(
        "SELECT count(*) FROM dead_letters WHERE NOT resolved"
    )


def buckets(observed: Iterable[float], name: str) -> dict[float, int]:
    """Return how many observations each bucket of a metric should hold, with all below it."""
    bounds = [*BY_NAME[name].bounds_ms, float("inf")]
    places = Counter(bisect_left(bounds, one) for one in observed)
    below = 0
    return {bound / 1000: (below := below + places[place]) for place, bound in enumerate(bounds)}


@pytest.mark.parametrize(
    ("name", "sql"),
    [
        (
            "execution_delay_seconds",
            "SELECT extract(epoch FROM a.started_at - a.due_at)::float8 * 1000 FROM attempts a"
            " JOIN executions e ON e.id = a.execution_id"
            " WHERE a.number = 1 AND e.pool NOT LIKE 'pull.%%' AND a.started_at IS NOT NULL",
        ),
        (
            "punctual_waiting_seconds",
            "SELECT extract(epoch FROM a.started_at - greatest(a.due_at, a.queued_at))::float8"
            " * 1000 FROM attempts a JOIN executions e ON e.id = a.execution_id"
            " WHERE e.pool NOT LIKE 'pull.%%' AND a.started_at IS NOT NULL",
        ),
        (
            "punctual_attempt_duration_seconds",
            "SELECT greatest(coalesce(round(extract(epoch FROM a.finished_at - a.started_at)"
            " * 1000), 0), 0)::float8 FROM attempts a",
        ),
    ],
)
def test_a_histogram_has_each_attempt_once_in_its_bucket(told: Scrape, name: str, sql: str):
    observed = [value for (value,) in ask(sql)]

    shown = {float(key[1]): value for key, value in told.items() if key[0] == f"{name}_bucket"}
    assert shown == buckets(observed, name)
    assert told[f"{name}_count",] == len(observed) > 0
    assert told[f"{name}_sum",] == pytest.approx(sum(max(0.0, one) for one in observed) / 1000)


def test_open_work_is_that_of_the_ledger(scraped: Told, told: Scrape):
    waits = "SELECT count(*) FROM open_executions WHERE status IN ('PENDING', 'RETRYING')"
    due = f"{waits} AND NOT held AND due_at <= %s AND pool <> 'workflow'"
    at = scraped.at

    assert told["queue_depth", "due"] == one(
        f"{due} AND NOT parked AND pool NOT LIKE 'pull.%%'", at
    )
    assert told["queue_depth", "parked"] == one(f"{due} AND parked", at)
    assert told["queue_depth", "queued"] == one(
        "SELECT count(*) FROM open_executions WHERE status = 'QUEUED' AND due_at <= %s", at
    )
    assert told["punctual_executions_running",] == one(
        "SELECT count(*) FROM open_executions WHERE status = 'RUNNING' AND pool <> 'workflow'"
    )
    assert told["punctual_pull_queue_depth",] == one(f"{due} AND pool LIKE 'pull.%%'", at)
    assert told["punctual_workflow_runs_open",] == one("SELECT count(*) FROM workflow_runs")
    assert min(values(told, "queue_depth").values()) > 0


def test_workers_and_their_use_are_those_of_heartbeats(told: Scrape):
    assert told["punctual_workers", "default", "live"] == 2
    assert told["punctual_workers", "default", "draining"] == 1
    assert told["punctual_workers", "default", "lost"] == 1
    assert told["punctual_workers", "pull", "live"] >= 2
    assert told["punctual_worker_slots", "default"] == 48
    assert told["worker_utilization", "default"] == pytest.approx(15 / 48)


def test_the_lease_that_ran_out_is_counted(told: Scrape):
    assert told["punctual_lease_expiries_total", "execution"] == 1


def test_own_faults_are_attempts_whose_worker_of_ours_was_lost(told: Scrape):
    lost = one(
        "SELECT count(*) FROM attempts a JOIN executions e ON e.id = a.execution_id"
        " WHERE a.outcome = 'WORKER_LOST' AND e.pool NOT LIKE 'pull.%%'"
    )

    assert values(told, "punctual_own_faults_total") == {"worker_lost": lost}
    assert 0 < lost < told["punctual_attempts_total", "worker_lost"]


def test_without_an_outage_no_instant_is_missed(told: Scrape):
    assert set(told) >= {
        ("punctual_missed_total", "skipped"),
        ("punctual_missed_total", "replayed"),
    }
    assert values(told, "punctual_missed_total") == {}


def test_both_servers_answer_and_all_that_is_told_is_in_the_catalogue(told: Scrape):
    suffixes = ("_bucket", "_count", "_sum")
    names = {key[0] for key in told}
    known = set(BY_NAME) | {
        name + suffix for name, one in BY_NAME.items() if one.bounds_ms for suffix in suffixes
    }

    assert values(told, "punctual_source_up") == {"postgresql": 1, "redis": 1}
    assert names <= known
    untold = {name for name, one in BY_NAME.items() if not one.bounds_ms} - names
    # On request, from the second request on, and where targets have certificates.
    absent = {
        "punctual_tenant_lag_seconds",
        "punctual_http_requests_total",
        "punctual_client_certificate_end_timestamp_seconds",
    }
    assert untold == absent - names
