"""The end of a suspension: each task's misfire policy decides what fell into it."""

from __future__ import annotations

from datetime import timedelta
from itertools import pairwise
from typing import Any

import pytest

from executions.loop.clocks import database_now
from executions.models import Execution
from tenants.models import Tenant
from tests.factories import (
    daily,
    every_second,
    executions_of,
    make_task,
    once,
    prepare,
    reload,
)
from tests.support.cursors import change_task
from tests.support.suspending import resume, suspend


def waits(tenant: Tenant) -> set[tuple[str, bool]]:
    """Return the states of the tenant's unfinished work, each with whether it is on hold."""
    found = Execution.objects.for_tenant(tenant.id).filter(finished_at=None)
    return set(found.values_list("status", "held"))


# --- resuming ------------------------------------------------------------------------------


def after_seconds_of_suspension(tenant: Tenant, seconds: int, **schedule: Any) -> list[Execution]:
    """Return what a task that fires each second has in the ledger after a suspension so long."""
    body = every_second()
    body["schedule"] |= schedule
    task = make_task(tenant, body)
    suspend(tenant)
    since = (database_now() - timedelta(seconds=seconds)).replace(microsecond=0)
    change_task(task.pk, next_run_at=since)
    resume(tenant)
    prepare()
    resumed_at = reload(task).resumed_at
    assert resumed_at is not None
    return [row for row in executions_of(task) if row.scheduled_for <= resumed_at]


@pytest.mark.parametrize(
    ("policy", "ran", "reason"),
    [
        ({"misfire_policy": "skip"}, 0, None),
        ({"misfire_policy": "coalesce"}, 1, "suspended_coalesced"),
        ({"misfire_policy": "replay", "misfire_replay_limit": 5}, 5, "suspended_replayed"),
        ({"misfire_policy": "replay", "misfire_grace_seconds": 0}, 0, None),
    ],
)
def test_each_tasks_misfire_policy_decides_and_what_does_not_run_is_skipped_tenant_suspended(
    alpha: Tenant, policy: dict[str, Any], ran: int, reason: str | None
):
    rows = after_seconds_of_suspension(alpha, 600, **policy)

    to_run = [row for row in rows if row.status == "PENDING"]
    skipped = [row for row in rows if row.status == "SKIPPED"]
    assert len(to_run) + len(skipped) == len(rows)
    assert len(to_run) == ran
    assert {row.reason for row in to_run} == ({reason} if reason else set())
    assert {row.reason for row in skipped} == {"tenant_suspended"}
    # The instants of ten minutes are a few rows.
    assert len(skipped) <= 3
    first, last = rows[0].scheduled_for, rows[-1].span_last or rows[-1].scheduled_for
    instants = sum(row.span_count or 1 for row in rows)
    assert instants == (last - first).total_seconds() + 1


def test_what_is_replayed_after_a_suspension_keeps_the_pace(alpha: Tenant):
    rows = after_seconds_of_suspension(
        alpha,
        60,
        misfire_policy="replay",
        misfire_replay_limit=10,
        misfire_replay_per_second=2,
    )

    dues = sorted(row.due_at for row in rows if row.status == "PENDING")
    steps = {(later - earlier).total_seconds() for earlier, later in pairwise(dues)}
    assert len(dues) == 10
    assert steps == {0.5}


@pytest.mark.parametrize(
    ("grace", "status", "reason"),
    [(None, "PENDING", "suspended_replayed"), (60, "SKIPPED", "tenant_suspended")],
)
def test_a_one_time_task_of_the_suspension_runs_on_resuming_unless_its_grace_is_over(
    alpha: Tenant, grace: int | None, status: str, reason: str
):
    body = once(database_now() + timedelta(hours=1))
    if grace is not None:
        body["schedule"] |= {"misfire_grace_seconds": grace}
    task = make_task(alpha, body)
    suspend(alpha)
    late = database_now() - timedelta(minutes=10)
    schedule = {**task.schedule, "run_at": late.isoformat()}
    change_task(task.pk, next_run_at=late, schedule=schedule)

    resume(alpha)
    prepare()

    [row] = executions_of(task)
    assert (row.status, row.reason) == (status, reason)


def test_an_interval_keeps_its_phase_over_a_suspension(alpha: Tenant):
    body = daily(schedule={"every": "PT10S"})
    task = make_task(alpha, body)
    phase = reload(task).next_run_at
    assert phase is not None
    suspend(alpha)
    resume(alpha)
    prepare()

    assert {(row.scheduled_for - phase).total_seconds() % 10 for row in executions_of(task)} <= {0}
