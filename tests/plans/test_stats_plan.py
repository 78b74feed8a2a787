from __future__ import annotations

import re
from datetime import timedelta
from typing import Any

import pytest
from django.db import connection

from executions.ledger import objectives
from executions.ledger.objectives import Answers
from executions.loop.clocks import database_now
from executions.models import Execution
from insight.list_filters import with_bounds
from insight.month.local_days import days_from
from insight.month.past import ended_of_filter, ended_of_tenant
from insight.statistics import (
    dead_letter_sparklines,
    next_fires,
    overview,
    run_strips,
    running_now,
)
from insight.statistics.objectives import objectives_of
from insight.statistics.of_task import history_of
from insight.task_calendar import calendar_of
from shared.conf import conf
from tasks.forecast_groups import Scope, computed_tasks, read_groups
from tasks.models import Task
from tasks.schedules.zones import find_zone
from tenants.models import Tenant
from tests.factories import finish, make_task, make_tenant, once, prepare, release, start

pytestmark = pytest.mark.django_db


@pytest.fixture
def full(db: None) -> Tenant:
    """Return the tenant of the full ledger."""
    return Tenant.objects.get(name="Full")


def test_open_work_is_found_without_the_history(plans: Any, full: Tenant):
    with plans() as found:
        overview(full.id)
        running_now(full.id)

    found.check("statistics/open_work", "statistics/running_now")


def test_what_comes_is_found_without_reading_all_tasks(plans: Any, full: Tenant):
    with plans() as found:
        assert len(next_fires(full.id)) == 20

    found.check("statistics/next_of_tasks", "statistics/next_prepared")


def test_the_coming_hour_is_counted_by_what_starts_in_it(full: Tenant):
    now = database_now()
    whole = Scope(full.id, now + timedelta(hours=1))
    sample = Scope(full.id, now + timedelta(hours=1), partitions=range(8))

    for scope in (whole, sample):
        plan = computed_tasks(scope).order_by().explain()
        assert re.search("task_cursors_(of_tenant|due)_idx", plan), plan
        assert "Seq Scan" not in plan


_OF_OPEN_WORK = [f"open_executions_{name}_idx" for name in ("due", "parked", "leased")]


@pytest.mark.parametrize(
    ("filters", "indexes"),
    [
        ({"due": "now"}, _OF_OPEN_WORK),
        ({"due": "late"}, _OF_OPEN_WORK),
        ({"ended": "last_hour", "status": ["FAILED"]}, ["executions_unsuccessful_idx"]),
    ],
)
def test_lists_of_this_moment_are_found_without_the_history(
    full: Tenant, filters: dict[str, Any], indexes: list[str]
):
    now = database_now()
    bounded = with_bounds(filters, now)
    # What ended in the last hour was due at most some minutes more than another hour before.
    first = f"{now - timedelta(hours=3):%Y%m%d}"

    parts = Execution.objects.for_tenant(full.id).parts(full.id, bounded)

    for part, index in zip(parts, indexes, strict=True):
        plan = part.order_by("-id")[:51].explain()
        days = set(re.findall(r"executions_(\d{8})", plan))
        assert all(day >= first for day in days), plan
        # What is open is little here.
        assert "Seq Scan on executions_" not in plan, (index, plan)


def test_paused_tasks_are_counted_by_their_index(full: Tenant):
    paused = Task.objects.for_tenant(full.id).filter(status="PAUSED").order_by()

    assert "tasks_paused_idx" in paused[:10_000].explain()


def test_strips_of_runs_are_found_by_task(plans: Any, full: Tenant):
    recent = Execution.objects.filter(tenant_id=full.id).order_by("-id")[:100]
    tasks = list({execution.task_id for execution in recent})

    with plans() as found:
        strips = run_strips(full.id, tasks)

    assert all(strips.values())
    near, far = found.found["statistics/latest_runs"]
    assert len(near.days("executions")) <= 2 + conf().partition_days_ahead
    assert len(far.days("executions")) <= 37
    for plan in (near, far):
        assert "tasks" not in plan.touched


def test_strips_of_busy_tasks_touch_few_days(plans: Any, full: Tenant):
    recent = Execution.objects.filter(tenant_id=full.id).order_by("-id").first()
    assert recent is not None

    with plans() as found:
        run_strips(full.id, [recent.task_id], runs=1)

    found.check("statistics/latest_runs")


def test_the_history_of_a_task_is_found_by_its_index(plans: Any, full: Tenant):
    recent = Execution.objects.filter(tenant_id=full.id).order_by("-id").first()
    assert recent is not None
    task = Task.objects.get(pk=recent.task_id)

    with plans() as found:
        history_of(task, "24h")
        calendar_of(task)

    found.check("task_reads/reach", "task_reads/history")
    for name in ("task_reads/reach", "task_reads/history", "task_reads/days"):
        for plan in found.found[name]:
            # Of a day that holds next to nothing of the range any index may be taken.
            assert any("task_id" in one for one in plan.indexes), plan.indexes
            assert not plan.large_read_whole(), name


def test_past_days_of_a_month_are_found_by_their_indexes(plans: Any, full: Tenant):
    now = database_now()
    days = days_from((now - timedelta(days=5)).date(), 6, find_zone("UTC"))

    with plans() as found:
        ended_of_tenant(full.id, days, now)
        ended_of_filter(full.id, days, now, lambda tasks: tasks)

    found.check("month_reads/ended_of_tenant")
    for plan in found.found["month_reads/ended_of_tasks"]:
        assert any("task_id" in one for one in plan.indexes), plan.indexes
        assert not plan.large_read_whole()


def test_coming_runs_are_counted_from_a_bounded_number_of_tasks(full: Tenant):
    now = database_now()
    scope = Scope(full.id, now + timedelta(days=31), most=5)

    groups, tasks = read_groups(scope)

    assert sum(group.tasks for group in groups) == tasks == 5


def test_letters_are_counted_by_index(plans: Any, full: Tenant):
    with plans() as found:
        dead_letter_sparklines(full.id, ["timeout_total"])

    found.check("statistics/letters_by_hour")


#: A month of hours and the minutes of two days, of tenants that were never asked for.
_COUNTS_OF_OTHERS = (
    "INSERT INTO minute_stats (tenant_id, minute, succeeded, failed, retried, cancelled, late,"
    " start_delays, by_band) SELECT md5((n % 4)::text)::uuid, now() - n * interval '1 minute',"
    " 1, 0, 0, 0, 0, '{}', '{1,1,1,1,1,1}' FROM generate_series(0, 8000) AS n",
    "INSERT INTO objective_hours (tenant_id, hour, band, starts, attempts)"
    " SELECT md5((n % 4)::text)::uuid, now() - n * interval '1 hour', 1, 1, 1"
    " FROM generate_series(0, 8000) AS n",
    "INSERT INTO objective_counts (tenant_id, at, objective, cause, counted, bad, hourly)"
    " SELECT md5((n % 4)::text)::uuid, now() - n * interval '5 minutes', 'start', 'internal', 0,"
    " 1, true FROM generate_series(0, 8000) AS n",
)


def test_objectives_are_read_by_the_keys_of_hours_minutes_and_counts(plans: Any, full: Tenant):
    now = database_now()
    with connection.cursor() as cursor:
        for statement in _COUNTS_OF_OTHERS:
            cursor.execute(statement)
        cursor.execute("ANALYZE minute_stats, objective_hours, objective_counts")

    with plans() as found:
        objectives_of(full.id)
        objectives.add_answers([Answers(full.id, 5, 1)])
        objectives.roll_up(now - timedelta(days=1), now)
        objectives.fold(now)

    found.check("objective_reads/figures_of", "objective_reads/causes_of")
    found.check("objectives/add_answers", "objectives/roll_up_hours", "objectives/fold")


def test_minutes_are_added_to_by_their_key(plans: Any):
    alpha = make_tenant("Alpha")
    make_task(alpha, once())
    prepare()
    (row,) = [row for row in release() if row.tenant_id == alpha.id]
    start([row])

    with plans() as found:
        finish(row)

    found.check("statistics/add_to_minutes")
    assert Task.objects.filter(tenant_id=alpha.id).exists()
