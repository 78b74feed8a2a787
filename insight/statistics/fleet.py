"""The processes that do the work: schedulers and their partitions, workers, recorders.

They serve all tenants, except a tenant's own workers, which lease over the API. Reads of Redis
raise its errors while it cannot be reached.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Any
from uuid import UUID

import redis
from django.db.models import Count

from executions.housekeeping.worker_history import in_hand, leased_by_worker
from executions.loop.clocks import database_now
from executions.models import PartitionLease, SchedulerNode
from shared import process_sight
from shared.conf import conf
from shared.redis_client import OUTCOME_GROUP, OUTCOME_STREAM, client
from tasks.definition import plain_pool
from wire import heartbeats
from wire.heartbeats import WorkerInfo

#: A recorder asks at least every two seconds, and writes its largest batch in less.
RECORDER_SILENT_SECONDS = 10.0


@dataclass(frozen=True, slots=True)
class SchedulerView:
    """A scheduler that was heard of within the last hour.

    Host, process and number of partitions are empty or None where processes are hidden.
    """

    id: UUID
    name: str
    host: str
    pid: int
    started_at: datetime
    silent_seconds: float
    live: bool
    reaches_redis: bool
    partitions: int | None


@dataclass(frozen=True, slots=True)
class PartitionView:
    """A partition; unless it is ``owned`` no scheduler has a valid lease on it.

    ``owner`` is None, too, where processes are hidden.
    """

    partition: int
    owner: UUID | None
    epoch: int
    expires_at: datetime | None
    owned: bool = False


@dataclass(frozen=True, slots=True)
class WorkerView:
    """A worker as it last described itself; ``state``: live, quiet, draining or lost.

    Not ``settled``: an operator has just made it quiet, or made it work again, and it has not yet
    read that. Not ``heeds``: its version cannot become quiet.
    ``in_flight`` of its ``capacity`` are being sent, ``held`` wait in it for their time. A pull
    worker (``leases``) has in flight what it has leased, as the ledger knows it. Hosts, versions
    and load are empty or None where processes are hidden.
    """

    id: str
    leases: bool
    name: str
    host: str
    pid: int
    pool: str
    version: str
    state: str
    silent_seconds: float
    capacity: int
    in_flight: int | None
    held: int | None
    cpu_percent: float | None
    memory_bytes: int | None
    settled: bool
    heeds: bool

    @property
    def may_stop(self) -> bool:
        """Whether it takes no new work and runs nothing: ending it now loses nothing."""
        return self.state in ("quiet", "draining") and self.settled and not self.in_flight


@dataclass(frozen=True, slots=True)
class RecorderView:
    """A recorder; it has received ``pending`` outcomes that it has not written yet.

    ``pending`` is None where processes are hidden: the outcomes are of all tenants.
    """

    name: str
    silent_seconds: float
    live: bool
    pending: int | None


def schedulers() -> list[SchedulerView]:
    """Return the schedulers by name, with how many partitions each owns."""
    now = database_now()
    owned = dict(
        PartitionLease.objects.standing().values_list("owner").annotate(Count("partition"))
    )
    return [_scheduler(node, now, owned) for node in SchedulerNode.objects.order_by("name", "id")]


def partition_map() -> list[PartitionView]:
    """Return every partition in order."""
    now = database_now()
    return [
        _partition(lease, now) for lease in PartitionLease.objects.with_ends().order_by("partition")
    ]


def workers(tenant_id: UUID | None = None) -> list[WorkerView]:
    """Return the workers by pool and name, also the ones lost within the last day.

    With a tenant, of the workers that lease over the API only the tenant's own. Where processes are
    hidden, ours are shown by pool, state and capacity alone.
    """
    known = heartbeats.workers(tenant_id)
    any_leases = any(info.tenant is not None for info in known)
    leased = leased_by_worker(tenant_id) if any_leases else {}
    found = [_as_seen(_worker(info, leased)) for info in known]
    return sorted(found, key=lambda worker: (worker.pool, worker.id))


def _as_seen(worker: WorkerView) -> WorkerView:
    if not process_sight.is_hidden() or worker.leases:
        return worker
    shown = process_sight.shown_worker(worker.id)
    return replace(
        worker,
        id=shown,
        name=shown,
        host="",
        pid=0,
        version="",
        in_flight=None,
        held=None,
        cpu_percent=None,
        memory_bytes=None,
    )


def recorders() -> list[RecorderView]:
    """Return the recorders by name."""
    try:
        consumers = client().xinfo_consumers(OUTCOME_STREAM, OUTCOME_GROUP)
    except redis.ResponseError:
        # No stream or no group: no recorder has ever read from this server.
        return []
    found = [_recorder(consumer) for consumer in consumers]
    return sorted(found, key=lambda recorder: recorder.name)


def _partition(lease: Any, now: datetime) -> PartitionView:
    owner = lease.owner if lease.ends_at and lease.ends_at > now else None
    hidden = process_sight.is_hidden()
    return PartitionView(
        partition=lease.partition,
        owner=None if hidden else owner,
        epoch=lease.epoch,
        expires_at=lease.ends_at,
        owned=owner is not None,
    )


def _scheduler(node: SchedulerNode, now: datetime, owned: dict[Any, int]) -> SchedulerView:
    name, _, host = node.name.partition("@")
    silent = max(0.0, (now - node.heartbeat_at).total_seconds())
    hidden = process_sight.is_hidden()
    return SchedulerView(
        id=node.id,
        name=name,
        host="" if hidden else host,
        pid=0 if hidden else node.pid,
        started_at=node.started_at,
        silent_seconds=silent,
        live=silent < conf().partition_lease_seconds,
        reaches_redis=node.reaches_redis,
        partitions=None if hidden else owned.get(node.id, 0),
    )


def _worker(info: WorkerInfo, leased: Mapping[tuple[str, str, str], int]) -> WorkerView:
    name, _, rest = info.id.partition("@")
    said = info.details
    return WorkerView(
        id=info.id,
        leases=info.tenant is not None,
        name=str(said.get("name", name)),
        host=str(said.get("host", rest.rpartition(":")[0])),
        pid=int(said.get("pid", 0)),
        pool=plain_pool(info.pool),
        version=str(said.get("version") or ""),
        state=info.state,
        silent_seconds=info.silent_seconds,
        capacity=info.slots,
        in_flight=in_hand(info, leased),
        held=int(said.get("held", 0)),
        cpu_percent=said.get("cpu_percent"),
        memory_bytes=said.get("memory_bytes"),
        settled=info.is_settled,
        heeds=info.heeds and info.tenant is None,
    )


def _recorder(consumer: dict[str, Any]) -> RecorderView:
    name, idle = consumer["name"], consumer["idle"] / 1000
    name = name.decode() if isinstance(name, bytes) else str(name)
    return RecorderView(
        name=process_sight.shown_worker(name),
        silent_seconds=idle,
        live=idle < RECORDER_SILENT_SECONDS,
        pending=None if process_sight.is_hidden() else int(consumer["pending"]),
    )
