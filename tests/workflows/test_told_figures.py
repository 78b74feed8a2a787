"""What is told of runs whose items fail: overview, status, lists, events and a recount agree.

Fault 30 of the design.
"""

from __future__ import annotations

from collections import Counter
from typing import Any
from uuid import UUID

import pytest
from django.db import connection

from executions import transitions
from executions.loop.clocks import database_now
from executions.models import DeadLetter, Execution
from executions.transitions import Finish
from insight.list_filters import with_bounds
from insight.statistics import overview, throughput
from operations import status
from tenants.models import Tenant
from tests.factories import WORKER, make_tenant, release, reload
from tests.recount import recounts as anew
from tests.recount.recounts import World
from tests.support.recounting import recounts
from tests.support.workflows import (
    begin_children,
    begin_run,
    calls,
    go_on,
    make_workflow,
    status_of,
)

pytestmark = pytest.mark.django_db
DAILY = {"cron_expression": "0 8 * * *"}
ONCE: dict[str, Any] = {"retry_policy": {"max_attempts": 1}}


@pytest.fixture
def tenant() -> Tenant:
    return make_tenant()


def end_items(run_id: UUID, failing: int) -> None:
    """Let workers end all items of a run; of each ten, this many fail."""
    while claimed := [row for row in release() if row.id != run_id]:
        now = database_now()
        items = dict(Execution.objects.filter(run_id=run_id).values_list("id", "item"))
        fails = {row.id for row in claimed if (items[row.id] or 0) % 10 < failing}
        transitions.finish(
            [
                Finish(
                    row.id,
                    row.token,
                    row.attempt + 1,
                    "FAILED" if row.id in fails else "SUCCEEDED",
                    "FAILED" if row.id in fails else "SUCCEEDED",
                    worker=WORKER,
                    started_at=max(now, row.due_at),
                    finished_at=max(now, row.due_at),
                    error_code="timeout_total" if row.id in fails else "",
                )
                for row in claimed
            ]
        )
        go_on(run_id)


def events_of(task_id: UUID) -> Counter[str]:
    sql = (
        "SELECT e.name, count(*) FROM events e"
        " CROSS JOIN LATERAL unnest(coalesce(e.tasks, ARRAY[e.task_id])) AS t (id)"
        " WHERE t.id = %s GROUP BY e.name"
    )
    with connection.cursor() as cursor:
        cursor.execute(sql, [task_id])
        return Counter(dict(cursor.fetchall()))


def calls_by_minute(tenant: Tenant) -> tuple[int, int]:
    points = throughput(tenant.id)
    return sum(point.succeeded for point in points), sum(point.failed for point in points)


def check_told(tenant: Tenant, succeeded: int, failed: int) -> None:
    """Assert the results of the last hour, wherever they are told."""
    told = overview(tenant.id)
    assert (told.succeeded_last_hour, told.failed_last_hour) == (succeeded, failed)
    whole = status.read_status()
    assert (whole.succeeded_last_hour, whole.failed_last_hour) == (succeeded, failed)
    world = World(tenant, told.at)
    assert anew.ended(world, "SUCCEEDED") == succeeded
    assert anew.ended(world, "FAILED") == failed
    for state, count in (("SUCCEEDED", succeeded), ("FAILED", failed)):
        filters = with_bounds({"ended": "last_hour", "status": [state]}, told.at)
        assert Execution.objects.for_tenant(tenant.id).filtered(filters).count() == count


@recounts("run.counts")
def test_a_thousand_items_of_which_300_fail_and_are_tolerated_are_one_success(tenant: Tenant):
    steps = [calls("load", for_each="{{ input }}", min_success_share=0.7, max_parallel=500, **ONCE)]
    task = make_workflow(tenant, steps, schedule=DAILY)
    run_id = begin_run(task, list(range(1000)))

    end_items(run_id, failing=3)

    assert status_of(run_id) == "SUCCEEDED"
    found = reload(task)
    assert (found.failure_streak, found.last_execution_status) == (0, "SUCCEEDED")
    assert not DeadLetter.objects.exists()
    assert calls_by_minute(tenant) == (700, 300)
    assert overview(tenant.id).start_delay.count == 1000
    check_told(tenant, succeeded=1, failed=0)
    told = events_of(task.id)
    assert (told["execution.succeeded"], told["execution.failed"]) == (701, 300)


def test_a_run_that_fails_fast_is_one_failure_with_one_letter(tenant: Tenant):
    steps = [calls("load", for_each="{{ input }}", max_parallel=10, **ONCE)]
    task = make_workflow(tenant, steps, schedule=DAILY)
    run_id = begin_run(task, list(range(1000)))

    end_items(run_id, failing=10)

    assert status_of(run_id) == "FAILED"
    [letter] = DeadLetter.objects.all()
    assert (letter.execution_id, letter.error_code) == (run_id, "timeout_total")
    assert reload(task).failure_streak == 1
    assert calls_by_minute(tenant) == (0, 10)
    check_told(tenant, succeeded=0, failed=1)
    assert events_of(task.id)["execution.failed"] == 11


def test_a_run_that_runs_another_counts_both(tenant: Tenant):
    other = make_workflow(tenant, [calls("a")], name="Other")
    steps = [{"key": "run", "kind": "workflow", "workflow_id": str(other.id)}]
    run_id = begin_run(make_workflow(tenant, steps))

    child = begin_child()
    end_items(child, failing=0)
    go_on(run_id)

    assert status_of(run_id) == "SUCCEEDED"
    assert calls_by_minute(tenant) == (1, 0)
    check_told(tenant, succeeded=2, failed=0)


def begin_child() -> UUID:
    """Begin the run that a step has asked for."""
    begin_children()
    return Execution.objects.get(trigger="workflow", pool="workflow").id
