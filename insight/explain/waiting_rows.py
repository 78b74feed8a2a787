"""What each waiting row of a list waits for, in a few reads for the whole page.

The same words as ``waiting_for`` gives for one execution, which also has a sentence and looks
deeper: it counts places and asks the key. Rows of workflows' runs have no entry; their page tells.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from uuid import UUID

import redis

from executions.changes.paused_places import PLACE_PAUSED
from executions.changes.paused_runs import RUN_PAUSED
from executions.choices import Status
from executions.models import Execution, Pool
from executions.ownership import fence
from insight.explain.evidence import Owner, end_of_pause
from insight.explain.waiting import place_word
from shared.conf import conf
from shared.sql import rows
from tasks.choices import SUSPENSION, TENANT_SUSPENDED, TaskStatus
from tasks.definition import PULL_PREFIX, WORKFLOW_POOL, plain_pool
from tasks.models import Pause, Task
from tasks.versions import is_of_step
from tenants.models import Tenant
from tenants.quotas.limits import TENANT_LIMIT
from wire.heartbeats import workers

_WAITING = frozenset({Status.PENDING, Status.RETRYING, Status.QUEUED})
_WORDS = {
    "pause": "the end of a pause",
    "tenant": "its tenant, which is suspended",
    "due_time": "its time",
    "scheduler": "a scheduler: none owns its partition",
    "overlap": "an earlier run to end",
    "max_concurrent": "a place: max_concurrent is reached",
    "concurrency_key": "a place of its concurrency key",
    "backfill_limit": "a place of its bulk job",
    "retry": "its next attempt",
    "pool": "its pool, which is paused",
    "redis": "Redis, which cannot be reached",
    "tenant_limit": "a limit of its tenant",
    "destination": "capacity of its destination",
    "worker": "a free worker",
    "start": "its worker to start it",
}
_AT_DESTINATION = {
    "circuit_open": "the circuit of {} to close",
    "destination_rate": "its turn at {}",
    "destination_in_flight": "a free place at {}",
}


@dataclass(frozen=True, slots=True)
class RowWait:
    """What a row waits for: one of ``WAITS_FOR``, its words, and until when as far as known."""

    what: str
    words: str
    until: datetime | None = None


class _Around:
    """What the rows of a page share, each kind of fact in one read."""

    def __init__(self, tenant_id: UUID, found: Sequence[Execution]) -> None:
        self.tenant_suspended = Tenant.objects.filter(
            pk=tenant_id, suspended_at__isnull=False
        ).exists()
        tasks = Task.objects.filter(tenant_id=tenant_id, pk__in={row.task_id for row in found})
        self.tasks = {task.pk: task for task in tasks}
        held_by = {task.pause_id for task in self.tasks.values() if task.pause_id}
        pauses = Pause.objects.for_tenant(tenant_id).filter(pk__in=held_by) if held_by else ()
        self.pauses = {pause.pk: pause for pause in pauses}
        partitions = sorted({row.partition for row in found})
        self.owners = {
            partition: Owner(*facts)
            for partition, *facts in rows("explain/partitions", {"partitions": partitions})
        }
        names = {plain_pool(row.pool) for row in found if row.pool.startswith(PULL_PREFIX)}
        paused = Pool.objects.filter(tenant_id=tenant_id, name__in=names, paused=True)
        self.paused_pools = set(paused.values_list("name", flat=True)) if names else set()
        self.live_pools = _live_pools(tenant_id)


def waits_of_rows(
    tenant_id: UUID, found: Sequence[Execution], now: datetime
) -> Mapping[UUID, RowWait]:
    """Return the wait of each row that waits; nothing of rows that run or have ended."""
    waiting = [row for row in found if row.status in _WAITING and row.pool != WORKFLOW_POOL]
    if not waiting:
        return {}
    around = _Around(tenant_id, waiting)
    return {row.pk: _wait_of(row, around, now) for row in waiting}


def _wait_of(row: Execution, around: _Around, now: datetime) -> RowWait:
    task = around.tasks.get(row.task_id)
    if row.status == Status.QUEUED:
        ahead = row.due_at > now
        until = row.due_at if ahead else row.lease_expires_at
        return _wait("due_time" if ahead else "start", until=until)
    held = _pause_of(row, task, around.pauses) if task is not None else None
    if held is not None:
        return held
    if around.tenant_suspended:
        return _wait("tenant")
    if row.due_at > now:
        return _wait("retry" if row.status == Status.RETRYING else "due_time", until=row.due_at)
    if not _is_looked_after(around.owners.get(row.partition), now):
        return _wait("scheduler")
    return _place_of(row, task) or _on_the_way(row, around)


def _place_of(row: Execution, task: Task | None) -> RowWait | None:
    """Return the place, of its job, task or key, that due work is not admitted without."""
    if row.gated and row.series_id is not None:
        return _wait("backfill_limit")
    if row.gated:
        return _wait(place_word(task) if task else "overlap")
    return _wait("concurrency_key") if row.key_place == 0 else None


def _on_the_way(row: Execution, around: _Around) -> RowWait:
    """Return what keeps due work that is admitted from its worker."""
    if row.reason == TENANT_LIMIT:
        return _wait("tenant_limit")
    if plain_pool(row.pool) in around.paused_pools and row.pool.startswith(PULL_PREFIX):
        return _wait("pool")
    if around.live_pools is None:
        return _wait("redis")
    if row.parked:
        words = _AT_DESTINATION.get(row.reason, "capacity of {}")
        return RowWait("destination", words.format(row.destination or "its destination"))
    pool = plain_pool(row.pool)
    takes_work = around.live_pools.get(row.pool)
    if takes_work is None:
        return RowWait("worker", f"a worker: none of the pool {pool} lives")
    if not takes_work:
        return RowWait("worker", f"a worker: those of the pool {pool} take no new work")
    return RowWait("worker", f"a free worker of the pool {pool}")


def _pause_of(row: Execution, task: Task, pauses: Mapping[UUID, Pause]) -> RowWait | None:
    """Return the pause that holds the row; a suspension of its tenant is no pause."""
    if row.held and row.reason in (RUN_PAUSED, PLACE_PAUSED):
        return _wait("pause")
    if is_of_step(row.revision):
        return None
    pause = pauses.get(task.pause_id) if task.pause_id else None
    if pause is not None and pause.scope == SUSPENSION:
        return None
    if pause is None and row.held and row.reason == TENANT_SUSPENDED:
        return None
    if task.status != TaskStatus.PAUSED:
        on_hold = row.held and not row.gated and row.key_place != 0 and row.reason != TENANT_LIMIT
        return _wait("pause") if on_hold else None
    if not row.held or row.key_place == 0:
        return None
    return _wait("pause", until=end_of_pause(task, pause))


def _is_looked_after(owner: Owner | None, now: datetime) -> bool:
    """Return whether a live scheduler owns the partition."""
    if owner is None or owner.owner in (None, fence.OWNER):
        return False
    silent = timedelta(seconds=conf().partition_lease_seconds)
    lease, heard = owner.expires_at, owner.heartbeat_at
    return lease is not None and lease > now and heard is not None and now - heard <= silent


def _live_pools(tenant_id: UUID) -> dict[str, bool] | None:
    """Return the pools that have a live worker, and whether one of them takes new work.

    None where Redis cannot be asked.
    """
    found: dict[str, bool] = {}
    try:
        for worker in workers(tenant_id):
            if worker.live:
                found[worker.pool] = found.get(worker.pool, False) or worker.takes_work
        return found
    except (redis.RedisError, OSError):
        return None


def _wait(what: str, *, until: datetime | None = None) -> RowWait:
    return RowWait(what, _WORDS[what], until)
