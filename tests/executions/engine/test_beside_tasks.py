"""What stands with a task, so that nothing of its definition need be read to prepare it."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from executions.engine import materialize
from executions.engine.clocks import database_now
from executions.engine.lower_bounds import NEVER
from executions.engine.partitions import Partitions
from executions.models import Execution
from shared.sql import rows
from tasks.models import Task, TaskCursor
from tenants.models import Tenant
from tests.executions.services.changes import patch
from tests.factories import daily, make_task, once

pytestmark = pytest.mark.django_db


@pytest.fixture
def partitions() -> Partitions:
    partitions = Partitions()
    partitions.run_once()
    return partitions


def schedules_read(partitions: Partitions, **parts: Any) -> list[bool]:
    """Return of each due task whether its schedule is read."""
    found = rows(
        "materialize/lock_due_tasks",
        {
            **partitions.parameters(),
            "since": NEVER,
            "horizon": database_now() + timedelta(seconds=15),
            "limit": 10,
            "each": 10,
            "owned_since": partitions.owned_since,
            **parts,
        },
    )
    return [row[3] is not None for row in found]


def test_of_a_plain_task_no_schedule_is_read(alpha: Tenant, partitions: Partitions):
    make_task(alpha, once())

    assert schedules_read(partitions) == [False]


@pytest.mark.parametrize(
    "change",
    [
        {"resumed_at": datetime(2026, 1, 1, tzinfo=UTC)},
        {"plain": False},
    ],
)
def test_the_schedule_is_read_where_something_may_decide(
    alpha: Tenant, partitions: Partitions, change: dict[str, Any]
):
    task = make_task(alpha, once())
    Task.objects.filter(pk=task.pk).update(**change)

    assert schedules_read(partitions) == [True]


def test_the_schedule_is_read_where_the_instant_fell_into_an_outage_or_is_replayed(
    alpha: Tenant, partitions: Partitions
):
    task = make_task(alpha, once())
    assert schedules_read(partitions, owned_since=database_now() + timedelta(seconds=1)) == [True]

    TaskCursor.objects.filter(task=task).update(replayed_until=database_now())

    assert schedules_read(partitions) == [True]


def test_what_is_prepared_has_the_limits_of_the_newest_version(
    alpha: Tenant, partitions: Partitions
):
    task = make_task(alpha, daily(retry_policy={"max_attempts": 3}))
    patch(
        task,
        {
            "schedule": {"every": "PT1S", "max_concurrent": 2, "cron_expression": None},
            "retry_policy": {"max_attempts": 7},
            "target": {"timeout_seconds": 11},
        },
    )
    while materialize.run_once(partitions).done:
        pass

    made = Execution.objects.filter(task=task).first()

    assert made is not None
    assert (made.max_attempts, made.timeout_seconds, made.gated) == (7, 11, True)
