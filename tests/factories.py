"""Valid objects for tests, and the steps that bring an execution to a state.

A test states only what matters to it; everything made here goes through the product's own
services and stages, never past them.
"""

from __future__ import annotations

import copy
from collections.abc import Mapping, Sequence
from datetime import datetime, timedelta
from typing import Any, cast
from uuid import UUID

from django.db import connection

from executions import transitions
from executions.dispatch.band_shares import ALL, priorities_of
from executions.loop.clocks import database_now
from executions.loop.lower_bounds import LowerBounds
from executions.materialize import stage as materialize
from executions.models import DeadLetter, Execution
from executions.ownership.partitions import Partitions
from executions.transitions import Finish
from shared.actor import Actor
from shared.conf import conf
from shared.instants import format_instant
from shared.redis_client import INCARNATION_KEY, client, lua
from tasks.calendars import limits_of
from tasks.creation import create_task
from tasks.models import Task, TaskRevision
from tasks.validation.bodies import parse_create
from tenants.models import Tenant
from tests.support.api import ApiClient, make_client, make_key, make_tenant
from tests.support.loops import by_the_loops
from wire import start_guard
from wire.messages import Claimed
from wire.priorities import PRIORITIES

__all__ = ["ApiClient", "make_client", "make_key", "make_tenant"]

ACTOR = Actor("test", "127.0.0.1", "0" * 32)
WORKER = "worker-1"
TARGET: dict[str, Any] = {"url": "https://api.example.com/reports"}
#: Fires every second, so that the ledger's horizon holds about fifteen of its instants.
EVERY_SECOND: dict[str, Any] = {
    "name": "Every second",
    "schedule": {"cron_expression": "* * * * * *"},
    "target": TARGET,
    "payload": {"report": 1},
}
DAILY: dict[str, Any] = {
    "name": "Daily report",
    "schedule": {"cron_expression": "0 8 * * *", "timezone": "Europe/Berlin"},
    "target": TARGET,
    "payload": {"report": 1},
    "labels": {"team": "billing"},
}


def api(key: str | None = None) -> ApiClient:
    """Return a client that calls as the key: ``api(key).post(path, body, idempotency_key="1")``."""
    return ApiClient(key)


def once(at: datetime | None = None, **parts: Any) -> dict[str, Any]:
    """Return the body of a one-time task, due now unless told."""
    when = {"run_at": format_instant(at)} if at else {"delay_seconds": 0}
    return {
        "name": "Once",
        "schedule": when,
        "target": copy.deepcopy(TARGET),
        "payload": {"n": 1},
        **parts,
    }


def daily(**parts: Any) -> dict[str, Any]:
    """Return the body of a recurring task whose next instant is beyond the horizon."""
    return {**copy.deepcopy(DAILY), **parts}


def every_second(**parts: Any) -> dict[str, Any]:
    """Return the body of a task that has instants within the horizon."""
    return {**copy.deepcopy(EVERY_SECOND), **parts}


def make_task(tenant: Tenant, body: Mapping[str, Any] | None = None) -> Task:
    """Create a task of the tenant; daily unless told."""
    now = database_now()
    definition = parse_create(body or daily(), now=now, limits=limits_of(tenant.id))
    return create_task(tenant.id, definition, actor=ACTOR, now=now)


def next_minute() -> datetime:
    """Return the begin of the minute after the next, so that what is made now precedes it."""
    return database_now().replace(second=0, microsecond=0) + timedelta(minutes=2)


def spoil(task: Task) -> Task:
    """Make the task's payload and secrets such as no key opens."""
    TaskRevision.objects.filter(task=task).update(sealed=b"\x01")
    return task


@by_the_loops
def prepare(owner: Partitions | None = None) -> Partitions:
    """Write the ledger rows of every task up to the horizon, as the scheduler does.

    The owner of the partitions has to be told where there is one: beside it, a second scheduler
    would own none of them, or some by the chance of its id.
    """
    partitions = owner or Partitions()
    for _ in range(50):
        if not partitions.held:
            # Trusted for so long only: a slow machine takes longer to get here.
            partitions.run_once()
            assert len(partitions.held) == conf().partition_count, "another scheduler owns some"
        if not materialize.run_once(partitions).done:
            break
    if owner is None:
        partitions.release_all()
    return partitions


#: As dispatch claims where every destination has room.
_ROOMS = ("tenants", "hosts", "rooms", "why", "old_rooms", "eldests")
NO_ROOMS: dict[str, list[Any]] = {name: [] for name in _ROOMS}


@by_the_loops
def release(
    limit: int = 1000,
    *,
    window_seconds: float = 3.0,
    margin_seconds: float = 60.0,
    rooms: Mapping[str, Sequence[Any]] = NO_ROOMS,
) -> list[Claimed]:
    """Hand due work to workers, as the dispatcher does: QUEUED under a token and a lease.

    The lease lasts `margin_seconds` after the due time; by default for longer than a test takes
    on a loaded machine, because the guard refuses what is over.
    """
    # In a test's transaction now() stands still, while due times follow the clock.
    window_seconds += _seconds_since_begin()
    claimed: list[Claimed] = []
    for band in ALL:
        found, _ = transitions.mark_queued(
            {
                "priorities": priorities_of(band),
                "oldest": 0,
                "eldest": [None],
                "since": LowerBounds(len(PRIORITIES)).since,
                "window": window_seconds,
                "margin": margin_seconds,
                "pool": "default",
                "partitions": list(range(256)),
                "incarnation": start_guard.current_incarnation(),
                "limit": limit,
                **rooms,
            }
        )
        claimed += found
    return claimed


def _seconds_since_begin() -> float:
    with connection.cursor() as cursor:
        cursor.execute("SELECT extract(epoch FROM clock_timestamp() - now())::float8")
        return float(cursor.fetchone()[0])


def pass_guard(claimed: Sequence[Claimed], worker: str = WORKER) -> list[int]:
    """Ask the start guard as a worker does; 1 for each that may start."""
    arguments: list[Any] = [start_guard.current_incarnation(), worker]
    for row in claimed:
        arguments += [row.token, int(row.lease_expires_at.timestamp() * 1000), "nonce"]
    return cast(list[int], client().eval(lua("start"), 1, INCARNATION_KEY, *arguments))


def start(claimed: Sequence[Claimed], worker: str = WORKER) -> None:
    """Let a worker start released work, and the recorder note it: RUNNING."""
    assert pass_guard(claimed, worker) == [1] * len(claimed)
    now = database_now()
    transitions.mark_running([(row.id, row.token, worker, now) for row in claimed])


@by_the_loops
def finish(row: Claimed, status: str = "SUCCEEDED", **parts: Any) -> None:
    """Record what came of a released or running execution's attempt, which began in time."""
    now = database_now()
    handed = Execution.objects.filter(pk=row.id).values_list("queued_at", flat=True)
    begins = [now - timedelta(milliseconds=20), *filter(None, handed)]
    outcome = "SUCCEEDED" if status == "SUCCEEDED" else "FAILED"
    defaults: dict[str, Any] = {
        "outcome": "CANCELLED" if status == "CANCELLED" else outcome,
        "worker": WORKER,
        "started_at": max(begins),
        "finished_at": now,
        "response_status": 200 if status == "SUCCEEDED" else 500,
    }
    if outcome == "FAILED" and status != "CANCELLED":
        defaults |= {"error_code": "http_status", "error_message": "The answer was 500."}
    transitions.finish(
        [Finish(row.id, row.token, row.attempt + 1, status, **{**defaults, **parts})]
    )


def make_execution(tenant: Tenant, status: str = "PENDING", body: Any = None) -> Execution:
    """Return an execution of a new one-time task, brought to the state by the engine's own steps.

    Any state but SKIPPED and RETRYING with a due time to wait for; see ``prepare`` for those.
    """
    task = make_task(tenant, body or once())
    prepare()
    execution = Execution.objects.get(task_id=task.id)
    if status == "PENDING":
        return execution
    if status == "CANCELLED":
        transitions.cancel([(execution.id, None)], "cancelled")
    else:
        _bring(execution.id, status)
    execution.refresh_from_db()
    return execution


def make_dead_letter(tenant: Tenant, body: Any = None) -> DeadLetter:
    """Return the dead letter of an execution that failed for good."""
    execution = make_execution(tenant, "FAILED", body)
    return DeadLetter.objects.get(execution_id=execution.id)


def reload(task: Task) -> Task:
    """Return the task as it is stored now, deleted ones too."""
    return Task.objects.get(pk=task.id)


def executions_of(task: Task, *statuses: str) -> list[Execution]:
    """Return the task's rows in the ledger in order of their time."""
    found = Execution.objects.filter(task_id=task.id)
    return list((found.filter(status__in=statuses) if statuses else found).order_by("id"))


def _bring(execution_id: UUID, status: str) -> None:
    row = next(row for row in release() if row.id == execution_id)
    if status == "QUEUED":
        return
    start([row])
    if status == "RUNNING":
        return
    reason = "attempts_exhausted" if status == "FAILED" else ""
    finish(row, status, reason=reason, **({"retry_in": 60.0} if status == "RETRYING" else {}))
