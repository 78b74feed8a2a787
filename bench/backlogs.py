"""Backlogs of a tenant, written by SQL: a hundred thousand executions in a few seconds.

Each execution is a copy for one of the tenant's own tasks, whose next instant is far ahead, so
that nothing else of them runs. Tokens, messages, calls and ends are those of any execution; the
event of the preparation alone is not written. Created by the API, a backlog would take so long
that its first part had run before its last part was there.
"""

from __future__ import annotations

import asyncio
import threading
import time
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any
from uuid import UUID

import psycopg

from bench.failing import create
from bench.installation import Installation, InstallationError
from bench.members import Member
from operations.proof.client import ApiClient
from operations.proof.oracle import to_text

_FAR_MS = 30 * 86_400_000
_TASKS = 64
_LOOK_SECONDS = 0.25
_FILL = """
INSERT INTO open_executions (
    id, tenant_id, task_id, partition, priority, pool, destination, revision, status, reason,
    trigger, scheduled_for, due_at, attempt, max_attempts, lost_count, timeout_seconds,
    incarnation, worker, held, gated, error_code, error_message, created_at)
SELECT uuidv7(), t.tenant_id, t.id, coalesce(%(partition)s::integer, n.n %% 256), %(priority)s,
       t.pool, t.destination, t.version, 'PENDING', '', 'schedule', n.at, n.at, 0, 1, 0,
       t.timeout_seconds, '', '', false, false, '', '', now()
FROM (
    SELECT n, %(begin)s + n * %(step)s * interval '1 millisecond' AS at
    FROM generate_series(0, %(count)s - 1) AS n
) AS n
JOIN unnest(%(tasks)s::uuid[]) WITH ORDINALITY AS k (id, place)
  ON k.place = n.n %% cardinality(%(tasks)s::uuid[]) + 1
JOIN tasks t ON t.id = k.id
"""
_WAITING = """
SELECT count(*) FROM open_executions
WHERE tenant_id = %s AND status IN ('PENDING', 'RETRYING') AND due_at <= now()
"""
_OPEN = "SELECT count(*) FROM open_executions WHERE tenant_id = %s"
_DROP = "DELETE FROM open_executions WHERE tenant_id = %s AND status IN ('PENDING', 'RETRYING')"


@dataclass(frozen=True, slots=True)
class Backlog:
    """Executions of one tenant that call a URL, each ``step_ms`` after the one before it.

    ``partition`` is the one that has all of them; None for all partitions in turn. ``others`` are
    further URLs, called in turn with the first one.
    """

    url: str
    count: int
    priority: int = 5
    partition: int | None = None
    step_ms: float = 0.005
    timeout_seconds: int = 60
    others: tuple[str, ...] = ()


def resting_task(backlog: Backlog, number: int) -> dict[str, object]:
    """Return a task that calls the backlog's URL, and fires for the first time in a month."""
    first_ms = time.time_ns() // 1_000_000 + _FAR_MS
    urls = (backlog.url, *backlog.others)
    target = {"kind": "webhook", "url": urls[number % len(urls)], "method": "POST"}
    return {
        "name": f"backlog {number}",
        "schedule": {"every": "PT86400S", "start_at": to_text(first_ms)},
        "target": {**target, "timeout_seconds": backlog.timeout_seconds},
        "retry_policy": {"max_attempts": 1},
    }


def tasks_of(product: Installation, member: Member, backlog: Backlog) -> list[UUID]:
    """Create the tasks whose executions a backlog has; return their ids."""
    return asyncio.run(_tasks_of(product, member, backlog))


async def _tasks_of(product: Installation, member: Member, backlog: Backlog) -> list[UUID]:
    tasks = [resting_task(backlog, number) for number in range(_TASKS)]
    async with ApiClient(product.base_url, member.api_key) as client:
        return [UUID(one) for one in await create(client, tasks)]


def fill(product: Installation, backlog: Backlog, tasks: list[UUID], begin: float) -> None:
    """Write the backlog of these tasks, the first due at ``begin`` (seconds since 1970)."""
    with session(product) as database:
        database.execute(
            _FILL,
            {
                "tasks": tasks,
                "partition": backlog.partition,
                "priority": backlog.priority,
                "begin": datetime.fromtimestamp(begin, UTC),
                "step": backlog.step_ms,
                "count": backlog.count,
            },
        )


def waiting(product: Installation, tenant_id: UUID) -> int:
    """Return how many of a tenant's executions are due and have not been handed out."""
    with session(product) as database:
        [(found,)] = database.execute(_WAITING, [tenant_id]).fetchall()
    return int(found)


def require_waiting(product: Installation, members: list[Member]) -> None:
    """Raise InstallationError where a tenant's backlog has run out: nothing was saturated."""
    if not all(waiting(product, member.tenant_id) for member in members):
        raise InstallationError("a backlog ran out before its end; give a larger one")


def clear(product: Installation, tenant_id: UUID, seconds: float = 90.0) -> None:
    """Drop what waits of a tenant, let what workers have of it end, and clean up.

    Raise InstallationError where it does not end in time. The dead rows of a dropped backlog would
    slow down the measurement that follows.
    """
    deadline = time.monotonic() + seconds
    with session(product) as database:
        while True:
            database.execute(_DROP, [tenant_id])
            [(left,)] = database.execute(_OPEN, [tenant_id]).fetchall()
            if not left:
                break
            if time.monotonic() > deadline:
                raise InstallationError(f"{left} executions of a backlog did not end")
            threading.Event().wait(_LOOK_SECONDS)
        database.execute("VACUUM (ANALYZE) open_executions")


def session(product: Installation) -> psycopg.Connection[Any]:
    """Return a session of the installation's database; InstallationError when it is away."""
    try:
        return psycopg.connect(product.database_url, autocommit=True)
    except psycopg.Error as error:
        raise InstallationError(f"the database: {error}") from error
