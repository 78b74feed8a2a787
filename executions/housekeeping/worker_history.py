"""Keep the heartbeats of workers: a row per worker and minute, and one per hour.

The scheduler that owns the first partition runs it once a minute, some seconds after the minute has
passed: only then are its ended attempts known. Heartbeats live in Redis, so a minute in which Redis
could not be asked has no rows. Minutes are kept for a week, hours for 90 days.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta
from uuid import UUID

from django.db.models import Q

from executions.loop.clocks import database_now
from executions.loop.counts import Counts
from executions.models import WorkerHour, WorkerMinute
from executions.ownership.partitions import Partitions
from shared.process_sight import is_hidden
from shared.sql import rows, run
from tenants.models import Tenant
from wire import heartbeats
from wire.heartbeats import WorkerInfo

KEPT = timedelta(days=7)
HOURS_KEPT = timedelta(days=90)
_WRITER_PARTITION = 0
_MINUTE = timedelta(minutes=1)
#: Every live worker has reported the minute before by then: it beats every 2 seconds.
_AFTER_SECONDS = 5.0
_LONGEST_ID = 120
_FIGURES = (
    *("tenant_id", "pool", "host", "version", "slots", "running", "held"),
    *("cpu_percent", "memory_bytes", "ended", "ended_in_minute"),
)


@dataclass(frozen=True, slots=True)
class _PullWork:
    """Work of pull workers: leased now, by the ledger, and ended in the minute, by Redis."""

    leased: Mapping[tuple[str, str, str], int]
    ended: Mapping[str, int]


@dataclass(frozen=True, slots=True)
class EarlierWorker:
    """A worker by its hours: first and last heard, and the attempts that it ended."""

    id: str
    pool: str
    host: str
    version: str
    leases: bool
    first_hour: datetime
    last_hour: datetime
    ended: int | None


def run_once(partitions: Partitions) -> Counts:
    """Write the last minute of every worker heard within it; return how many rows.

    Adds up the last hour once it is over.
    """
    now = database_now()
    current = now.replace(second=0, microsecond=0)
    next_in = (current + _MINUTE - now).total_seconds() + _AFTER_SECONDS
    if _WRITER_PARTITION not in partitions.held:
        return Counts(next_in=next_in)
    minute = current - _MINUTE
    known = [
        worker
        for worker in heartbeats.everyone()
        if worker.silent_seconds < _MINUTE.total_seconds() + _AFTER_SECONDS
    ]
    known = _without_removed(known)
    work = _PullWork(leased_by_worker(None), heartbeats.ended_in(minute))
    WorkerMinute.objects.bulk_create(
        [_row(worker, minute, work) for worker in known],
        update_conflicts=True,
        unique_fields=["worker", "minute"],
        update_fields=_FIGURES,
    )
    run("workers/roll_up", {"now": now})
    return Counts(done=len(known), next_in=next_in)


def prune(before: datetime) -> int:
    """Delete the minutes before a moment; return how many rows. Index worker_minutes_idx."""
    return WorkerMinute.objects.filter(minute__lt=before).delete()[0]


def prune_hours(before: datetime) -> int:
    """Delete the hours before a moment; return how many rows. Index worker_hours_idx."""
    return WorkerHour.objects.filter(hour__lt=before).delete()[0]


def _without_removed(workers: list[WorkerInfo]) -> list[WorkerInfo]:
    """Leave out pull workers of removed tenants: their heartbeats outlive the tenant a while."""
    theirs = {worker.tenant for worker in workers if worker.tenant is not None}
    there = {str(one) for one in Tenant.objects.filter(pk__in=theirs).values_list("pk", flat=True)}
    return [worker for worker in workers if worker.tenant is None or worker.tenant in there]


def minutes_of(worker: str, hours: int, tenant_id: UUID | None = None) -> list[WorkerMinute]:
    """Return the minutes of the last hours in which the worker was heard, oldest first.

    With a tenant, leave out the pull workers of other tenants, and where processes are hidden all
    workers but the tenant's own.
    """
    since = database_now() - timedelta(hours=hours)
    found = WorkerMinute.objects.filter(
        _visible(tenant_id), worker=worker[:_LONGEST_ID], minute__gte=since
    )
    return list(found.order_by("minute"))


def hours_of(worker: str, hours: int, tenant_id: UUID | None = None) -> list[WorkerHour]:
    """Return the last hours in which the worker was heard, oldest first; see minutes_of."""
    since = database_now() - timedelta(hours=hours)
    found = WorkerHour.objects.filter(
        _visible(tenant_id), worker=worker[:_LONGEST_ID], hour__gte=since
    )
    return list(found.order_by("hour"))


def is_known(worker: str, tenant_id: UUID | None = None) -> bool:
    """Return whether any minute or hour of the worker is kept that the tenant may see."""
    wanted = Q(_visible(tenant_id), worker=worker[:_LONGEST_ID])
    return (
        WorkerMinute.objects.filter(wanted).exists() or WorkerHour.objects.filter(wanted).exists()
    )


def earlier_workers(
    days: int, *, tenant_id: UUID | None = None, q: str = "", limit: int = 100
) -> list[EarlierWorker]:
    """Return the workers heard within the last days, by the hours that are over; latest first."""
    found = rows(
        "workers/earlier",
        {
            "since": database_now() - timedelta(days=days),
            "tenant": tenant_id,
            "own": tenant_id is not None and is_hidden(),
            "q": q,
            "limit": limit,
        },
    )
    return [EarlierWorker(*row) for row in found]


def leased_by_worker(tenant_id: UUID | None) -> dict[tuple[str, str, str], int]:
    """Return leased or running work by (tenant, pool in the ledger, name of the pull worker)."""
    found = rows("pull/in_flight", {"tenant": tenant_id})
    return {(str(tenant), pool, worker): count for tenant, pool, worker, count in found}


def in_hand(worker: WorkerInfo, leased: Mapping[tuple[str, str, str], int]) -> int:
    """Return how much a worker has in flight; ``leased`` has the counts of pull workers."""
    if worker.tenant is None:
        return int(worker.details.get("running", 0))
    return leased.get((worker.tenant, worker.pool, str(worker.details.get("name", ""))), 0)


def _visible(tenant_id: UUID | None) -> Q:
    if tenant_id is not None and is_hidden():
        return Q(tenant_id=tenant_id)
    return Q() if tenant_id is None else Q(tenant_id=None) | Q(tenant_id=tenant_id)


def _row(worker: WorkerInfo, minute: datetime, work: _PullWork) -> WorkerMinute:
    said = worker.details
    return WorkerMinute(
        worker=worker.id[:_LONGEST_ID],
        minute=minute,
        tenant_id=worker.tenant,
        pool=worker.pool[:63],
        host=str(said.get("host") or "")[:120],
        version=str(said.get("version") or "")[:40],
        slots=worker.slots,
        running=in_hand(worker, work.leased),
        held=int(said.get("held", 0)),
        cpu_percent=float(said.get("cpu_percent") or 0.0),
        memory_bytes=said.get("memory_bytes"),
        ended=int(said.get("ended", 0)),
        ended_in_minute=_ended_in(worker, minute, work),
    )


def _ended_in(worker: WorkerInfo, minute: datetime, work: _PullWork) -> int | None:
    """Return how many attempts ended; None for an older worker, which reports a total only."""
    if worker.tenant is not None:
        return work.ended.get(worker.id, 0)
    told = worker.details.get("ended_by_minute")
    return None if told is None else int(told.get(str(int(minute.timestamp()) // 60), 0))
