"""The pools that a tenant's workers lease from: list, find, change, delete.

The first lease or :func:`change_pool` makes a pool. ``insight.presentation.pools`` shows them
(``present_pool``). Each change runs in one transaction, and holds from its answer on: workers lease
nothing from a paused pool, nor beyond its limit.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any
from uuid import UUID

from django.db import transaction
from django.db.models.functions import Now

from events import audit
from executions.models import Pool
from shared.actor import Actor
from shared.exceptions import Conflict, FieldError, InvalidInput, NotFound, VersionMismatch
from shared.redis_client import ConnectionFailed
from shared.sql import rows
from tasks.definition import PULL_PREFIX
from tasks.models import Task
from tasks.validation.pools import is_pool_name
from tenants.models import Tenant
from wire import heartbeats
from wire.heartbeats import WorkerInfo

#: The fields of a pool that may be changed.
SETTINGS = ("paused", "max_in_flight")
_MOST_IN_FLIGHT = 1_000_000
#: The most pools of a tenant.
MOST_POOLS = 1000


@dataclass(frozen=True, slots=True)
class PoolView:
    """A pool and its state: due work that waits and since when, leased work, and workers.

    ``workers`` are the live ones, None while Redis, which knows them, cannot be asked.
    """

    pool: Pool
    depth: int
    oldest_due_at: datetime | None
    in_flight: int
    workers: Sequence[WorkerInfo] | None

    @property
    def name(self) -> str:
        """The name that people gave it."""
        return self.pool.name


def list_pools(tenant_id: UUID) -> list[PoolView]:
    """Return the tenant's pools by name."""
    return _views(tenant_id, list(Pool.objects.filter(tenant_id=tenant_id).order_by("name")))


def get_pool(tenant_id: UUID, name: str) -> PoolView:
    """Return one pool of the tenant; raise NotFound."""
    pool = Pool.objects.filter(tenant_id=tenant_id, name=name).first()
    if pool is None:
        raise _not_found(name)
    return _views(tenant_id, [pool])[0]


@transaction.atomic
def change_pool(
    tenant_id: UUID,
    name: str,
    changes: Mapping[str, Any],
    *,
    actor: Actor,
    expected_version: int | None = None,
) -> PoolView:
    """Change ``paused`` and ``max_in_flight`` of a pool; make the pool if it is missing.

    Leased work continues. Raise InvalidInput, or VersionMismatch.
    """
    _judge(changes)
    existed = Pool.objects.filter(tenant_id=tenant_id, name=name).exists()
    pool = lock_pool(tenant_id, name)
    if expected_version is not None and expected_version != pool.version:
        raise VersionMismatch(
            f"The pool is at version {pool.version}, not {expected_version}; read it again."
        )
    before = {key: getattr(pool, key) for key in SETTINGS}
    after = before | dict(changes)
    if after != before:
        for key, value in after.items():
            setattr(pool, key, value)
        pool.version += 1
        pool.updated_at = Now()
        pool.save(update_fields=[*SETTINGS, "version", "updated_at"])
        pool.refresh_from_db()
    if after != before or not existed:
        audit.record(tenant_id, actor, "pool.changed", "pool", pool.name, before, after)
    return _views(tenant_id, [pool])[0]


@transaction.atomic
def delete_pool(tenant_id: UUID, name: str, *, actor: Actor) -> None:
    """Delete a pool; raise NotFound, or Conflict ``pool_in_use`` while a task names it."""
    pool = Pool.objects.select_for_update().filter(tenant_id=tenant_id, name=name).first()
    if pool is None:
        raise _not_found(name)
    naming = Task.objects.for_tenant(tenant_id).filter(pool=PULL_PREFIX + name).count()
    if naming:
        words = "1 task names" if naming == 1 else f"{naming} tasks name"
        message = f"{words} the pool {name!r}; change or delete them first."
        raise Conflict(message, code="pool_in_use")
    pool.delete()
    audit.record(tenant_id, actor, "pool.deleted", "pool", name)


def lock_pool(tenant_id: UUID, name: str, *, share: bool = False) -> Pool:
    """Return a pool, made if it is missing, locked until this transaction ends.

    ``share`` locks it against changes only: any number of leases may share it. Raise InvalidInput
    for a name that no pool may have, Conflict ``too_many_pools`` where the tenant has its most.
    """
    if not is_pool_name(name):
        message = "Lower-case letters, digits, and _ or - between them; at most 50."
        raise InvalidInput([FieldError("#/pool", "name_invalid", message)], message)
    found = _locked(tenant_id, name, share)
    if found is None:
        _refuse_too_many(tenant_id)
        # The race: two first leases at once. One insert wins.
        Pool.objects.bulk_create([Pool(tenant_id=tenant_id, name=name)], ignore_conflicts=True)
        found = _locked(tenant_id, name, share)
        if found is not None:
            found.is_new = True
    if found is None:
        raise _not_found(name)
    return found


def _refuse_too_many(tenant_id: UUID) -> None:
    # The tenant's row is locked: two workers at once would both make the last pool. A key that may
    # only lease can name any pool, so their number has a bound.
    Tenant.objects.select_for_update(no_key=True).filter(pk=tenant_id).first()
    if Pool.objects.filter(tenant_id=tenant_id).count() >= MOST_POOLS:
        message = f"A tenant has at most {MOST_POOLS} pools. Delete unused ones first."
        raise Conflict(message, code="too_many_pools")


def _locked(tenant_id: UUID, name: str, share: bool) -> Pool | None:
    if not share:
        found = Pool.objects.select_for_update(no_key=True)
        return found.filter(tenant_id=tenant_id, name=name).first()
    ids = rows("pull/share_pool", {"tenant": tenant_id, "name": name})
    return Pool.objects.get(pk=ids[0][0]) if ids else None


def _views(tenant_id: UUID, pools: Sequence[Pool]) -> list[PoolView]:
    if not pools:
        return []
    bounds = {"tenant": tenant_id}
    depths = {pool: (count, oldest) for pool, count, oldest in rows("pull/depths", bounds)}
    leased: dict[str, int] = {}
    for _, pool, _, count in rows("pull/in_flight", bounds):
        leased[pool] = leased.get(pool, 0) + count
    workers = _live_workers(tenant_id)
    return [_view(pool, depths, leased, workers) for pool in pools]


def _view(
    pool: Pool,
    depths: Mapping[str, tuple[int, datetime | None]],
    leased: Mapping[str, int],
    workers: Sequence[WorkerInfo] | None,
) -> PoolView:
    key = PULL_PREFIX + pool.name
    depth, oldest = depths.get(key, (0, None))
    own = None if workers is None else [worker for worker in workers if worker.pool == key]
    return PoolView(pool, depth, oldest, leased.get(key, 0), own)


def _live_workers(tenant_id: UUID) -> list[WorkerInfo] | None:
    try:
        found = heartbeats.workers(tenant_id)
    except ConnectionFailed:
        return None
    return [worker for worker in found if worker.live and worker.tenant is not None]


def _judge(changes: Mapping[str, Any]) -> None:
    limit = changes.get("max_in_flight")
    if limit is not None and not 1 <= limit <= _MOST_IN_FLIGHT:
        message = f"Give 1 to {_MOST_IN_FLIGHT}, or null for no limit."
        raise InvalidInput([FieldError("#/max_in_flight", "out_of_range", message)], message)


def _not_found(name: str) -> NotFound:
    return NotFound(f"There is no pool {name!r}.")
