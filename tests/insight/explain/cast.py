"""States of the ledger and the machinery around it, as Explain meets them.

The rows that only a scheduler's past could leave are written as they would stand; everything
else goes through the product's own services.
"""

from __future__ import annotations

from datetime import datetime, timedelta
from functools import cache
from typing import Any
from uuid import uuid4

import orjson
import pytest

from executions.choices import Status
from executions.loop.clocks import database_now
from executions.models import Execution, PartitionLease, SchedulerNode
from shared.ids import execution_id
from shared.redis_client import WORKER_INFO_KEY, WORKERS_KEY, client
from tasks.models import Task
from tenants.models import Tenant
from tests.factories import daily, make_task
from tests.support.cursors import change_task
from wire.heartbeats import beat_script

HOUR = timedelta(hours=1)
MINUTE = timedelta(minutes=1)
SECOND = timedelta(seconds=1)


@cache
def _minute_of_test() -> datetime:
    # The next one when it is about to begin: it must not turn between two lines of a test.
    return (database_now() + 30 * SECOND).replace(second=0, microsecond=0)


@pytest.fixture(autouse=True)
def one_minute() -> None:
    """Let each test have its minute; test files import it."""
    _minute_of_test.cache_clear()


def this_minute(offset: timedelta = timedelta()) -> datetime:
    """Return the whole minute of this test, moved by an offset of minutes."""
    return _minute_of_test() + offset


def minutely(tenant: Tenant, schedule: dict[str, Any] | None = None, **fields: Any) -> Task:
    """Return a task of every minute, its cursor on the next one unless told; made an hour ago."""
    body = daily(schedule={"cron_expression": "* * * * *", **(schedule or {})})
    task = make_task(tenant, body)
    aged(task, HOUR)
    defaults = {"next_run_at": this_minute(MINUTE)}
    change_task(task.pk, **{**defaults, **fields})
    task.refresh_from_db()
    return task


def aged(task: Task, by: timedelta) -> None:
    """Let a task and its versions be older than they are."""
    made = task.created_at - by
    Task.objects.filter(pk=task.pk).update(created_at=made)
    task.revisions.update(created_at=made)
    task.refresh_from_db()


def row(task: Task, at: datetime, status: str = "PENDING", **fields: Any) -> Execution:
    """Return a row of the ledger for an instant of the task."""
    leased = status in (Status.QUEUED, Status.RUNNING)
    now = database_now()
    defaults: dict[str, Any] = {
        "tenant_id": task.tenant_id,
        "task_id": task.pk,
        "partition": task.partition,
        "revision": task.version,
        "status": status,
        "scheduled_for": at,
        "due_at": at,
        "created_at": at - 15 * SECOND,
    }
    if leased:
        defaults |= {"fencing_token": 1, "lease_expires_at": now + MINUTE, "queued_at": at}
    if status == Status.RUNNING:
        defaults |= {"attempt": 1, "started_at": at, "worker": "worker-1@host:1"}
    if status in ("SUCCEEDED", "FAILED", "CANCELLED", "SKIPPED"):
        defaults |= {"finished_at": now}
    if status in ("SUCCEEDED", "FAILED"):
        defaults |= {"attempt": 1, "started_at": at, "queued_at": at, "worker": "worker-1@host:1"}
    values = {**defaults, **fields}
    made = Execution.objects.create(id=values.pop("id", execution_id(task.pk, at)), **values)
    made.refresh_from_db()
    return made


def owned(*, silent: timedelta = timedelta(), expired: timedelta | None = None) -> None:
    """Let one scheduler own every partition; silent since, or with leases that have run out."""
    node, now = uuid4(), database_now()
    SchedulerNode.objects.create(id=node, name="scheduler-1@host", pid=1)
    SchedulerNode.objects.update(heartbeat_at=now - silent)
    end = now - expired if expired is not None else now + HOUR
    PartitionLease.objects.update(owner=node, epoch=41, expires_at=end)


def working(*, slots: int = 4, pool: str = "default") -> None:
    """Let one worker of the pool live."""
    said = orjson.dumps({"pool": pool, "slots": slots, "hold": 0})
    client().eval(beat_script(), 2, WORKERS_KEY, WORKER_INFO_KEY, "worker-1@host:1", said)
