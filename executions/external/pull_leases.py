"""Lease work to pull workers: the door of stage 2 for pools that a tenant's workers serve.

A lease claims as dispatch does, for one tenant and pool, and marks the tokens at the start guard in
the same transaction: from then on an edit or a cancel treats the work as started. Work whose lease
is lost with its answer returns when the lease expires. The registry knows workers by their calls.
"""

from __future__ import annotations

import logging
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any
from uuid import UUID

import orjson
from django.db import transaction

from delivery.headers import traceparent
from events import audit
from executions import transitions
from executions.dispatch.band_shares import Bands
from executions.external import callbacks
from executions.external.callbacks import Ending, Failure
from executions.external.pools import lock_pool
from executions.models import Pool
from executions.ownership import fence
from executions.payloads import open_sealed_payload
from executions.transitions import Beaten
from shared import execution_tokens
from shared.actor import SYSTEM, Actor
from shared.encryption import DecryptionFailed, open_json
from shared.redis_client import ConnectionFailed
from shared.sealing_contexts import progress_context, revision_context
from shared.sql import json_value, rows
from shared.tracing.sampling import context_of_attempt
from tasks.definition import PULL_PREFIX
from wire import heartbeats, start_guard
from wire.messages import Claimed
from wire.priorities import band_of

log = logging.getLogger("executions.services.pull_workers")

#: How much longer than its lease a worker may be silent before it is shown as lost.
_PATIENCE_SECONDS = 10.0
#: Marks at the guard outlast the lease they belong to by this much.
_MARK_SECONDS = 60.0

# One per process: all workers that ask the process share the places owed to the lower bands.
_bands = Bands()


@dataclass(frozen=True, slots=True)
class Load:
    """A pull worker's report about itself; None for a missing value."""

    version: str = ""
    capacity: int | None = None
    cpu_percent: float | None = None
    memory_bytes: int | None = None


@dataclass(frozen=True, slots=True)
class Ask:
    """A worker's request: up to ``most`` executions of a pool that its labels fit."""

    pool: str
    worker: str
    most: int = 10
    lease_seconds: float = 60.0
    wait_seconds: float = 0.0
    labels: Mapping[str, str] = field(default_factory=dict)
    load: Load = Load()

    @property
    def key(self) -> str:
        """The pool as the ledger names it."""
        return PULL_PREFIX + self.pool


@dataclass(frozen=True, slots=True)
class Lease:
    """One execution that a worker was handed, with all that it needs."""

    execution_id: UUID
    handler: str
    payload: Any
    attempt: int
    scheduled_for: datetime
    lease_expires_at: datetime
    fencing_token: int
    token: str
    progress: Any
    #: The headers by which the worker's own spans continue the trace; the state may be empty.
    traceparent: str
    tracestate: str


@transaction.atomic
def lease(tenant_id: UUID, ask: Ask, *, actor: Actor = SYSTEM) -> list[Lease]:
    """Hand due work of the pool to a worker, by priority and then by due time.

    Return none while the pool is paused or at its limit. Raise InvalidInput for the pool's name,
    Unavailable, handing out nothing, when Redis cannot be asked.
    """
    pool = lock_pool(tenant_id, ask.pool, share=True)
    leases = _handed_out(tenant_id, ask, pool)
    if pool.is_new:
        # Last: the audit's chain is locked behind executions.
        audit.record(tenant_id, actor, "pool.created", "pool", pool.name, after={"by": "lease"})
    return leases


def _handed_out(tenant_id: UUID, ask: Ask, pool: Pool) -> list[Lease]:
    if pool.paused or fence.holds():
        return []
    incarnation = start_guard.current_incarnation()
    bounds = {
        "tenant": tenant_id,
        "pool": ask.key,
    }
    wanted = min(ask.most, _room(pool, bounds))
    if wanted <= 0:
        return []
    parameters = {
        **bounds,
        "incarnation": incarnation,
        "worker": ask.worker,
        "lease_seconds": ask.lease_seconds,
        "labels": labels_text(ask.labels),
    }

    key = f"{tenant_id}/{ask.key}"
    heads = [(row[0], row[1]) for row in rows("pull/heads", parameters)]

    def claim(band: int, limit: int) -> tuple[list[Claimed], bool]:
        among = [head for head in heads if band_of(head[0]) == band]
        shares = _bands.oldest(key, limit, [priority for priority, _ in among], lambda: among)
        found = transitions.mark_leased({**parameters, **shares, "limit": limit})
        return found, len(found) >= limit

    claimed, _ = _bands.share_out(key, wanted, claim, {band_of(priority) for priority, _ in heads})
    leases = _leases(claimed)
    tokens = [one.fencing_token for one in leases]
    start_guard.mark_started(tokens, ask.worker, incarnation, ask.lease_seconds + _MARK_SECONDS)
    return leases


def noticed(tenant_id: UUID, ask: Ask, host: str) -> None:
    """Note in the registry that the worker lives, with its request and its load.

    Its leased work is in the ledger, which alone knows when that ends.
    """
    load = ask.load
    details: heartbeats.Description = {
        "tenant": str(tenant_id),
        "name": ask.worker,
        "pool": ask.key,
        "host": host,
        "slots": ask.most if load.capacity is None else load.capacity,
        "labels": dict(ask.labels),
        "patience": max(ask.lease_seconds, ask.wait_seconds) + _PATIENCE_SECONDS,
        "version": load.version,
        "cpu_percent": load.cpu_percent,
        "memory_bytes": load.memory_bytes,
    }
    with _unless_away():
        heartbeats.beat(heartbeats.pull_worker_id(tenant_id, ask.key, ask.worker), details)


def heard(beaten: Beaten) -> None:
    """Note in the registry that the worker which sent a heartbeat lives."""
    if not beaten.pool.startswith(PULL_PREFIX):
        return
    with _unless_away():
        heartbeats.touch(heartbeats.pull_worker_id(beaten.tenant_id, beaten.pool, beaten.worker))


def ended(ending: Ending) -> None:
    """Count an attempt that a pull worker ended, and note that the worker lives."""
    if ending.ended_by is None:
        return
    with _unless_away():
        heartbeats.count_ended(heartbeats.pull_worker_id(*ending.ended_by))


def ready(
    waiting: Mapping[int, tuple[UUID, str, str, int]],
) -> dict[int, int]:
    """Return how much each group of waiting workers could lease now.

    Group -> (tenant, pool of the ledger, labels as JSON text, how many are wanted).
    """
    if fence.holds():
        return {}
    found = rows(
        "pull/ready",
        {
            "numbers": list(waiting),
            "tenants": [row[0] for row in waiting.values()],
            "pools": [row[1] for row in waiting.values()],
            "labels": [row[2] for row in waiting.values()],
            "wanted": [row[3] for row in waiting.values()],
        },
    )
    return {number: count for number, count in found if count}


def labels_text(labels: Mapping[str, str]) -> str:
    """Return labels as statements compare them; equal labels are equal texts."""
    return orjson.dumps(dict(labels), option=orjson.OPT_SORT_KEYS).decode()


def _room(pool: Pool, bounds: dict[str, Any]) -> int:
    if pool.max_in_flight is None:
        return 2**31
    # The race: two leases would count at once and together go beyond the limit.
    rows("pull/own_pool", {"tenant": bounds["tenant"], "pool": bounds["pool"]})
    leased: int = rows("pull/count_leased", bounds)[0][0]
    return pool.max_in_flight - leased


def _leases(claimed: list[Claimed]) -> list[Lease]:
    """Return the leases; fail the attempt of work that no key opens, as our own workers do.

    If this raised instead, the next worker that asks would claim the same work again, and the pool
    would never hand out any.
    """
    opened: dict[tuple[UUID, int], Any] = {}
    leases: list[Lease] = []
    for row in claimed:
        try:
            leases.append(_lease(row, opened))
        except DecryptionFailed as error:
            callbacks.fail(row.id, row.token, Failure(error.message, code="internal"))
    return leases


def _lease(row: Claimed, opened: dict[tuple[UUID, int], Any]) -> Lease:
    progress, context = row.sealed_progress, progress_context(row.tenant_id, row.id)
    number = row.attempt + 1
    trace = context_of_attempt(str(row.id), row.trace_context, number)
    return Lease(
        execution_id=row.id,
        handler=str(json_value(row.target).get("handler", "")),
        payload=_payload(row, opened),
        attempt=number,
        scheduled_for=row.scheduled_for,
        lease_expires_at=row.lease_expires_at,
        fencing_token=row.token,
        token=execution_tokens.make(str(row.id), row.token),
        progress=None if progress is None else open_json(bytes(progress), context),
        traceparent=traceparent(str(row.id), number, trace),
        tracestate=trace.state,
    )


def _payload(row: Claimed, opened: dict[tuple[UUID, int], Any]) -> Any:
    """Return the execution's payload; ``opened`` keeps the payloads of task versions."""
    if row.sealed_payload is not None:
        return open_sealed_payload(row.sealed_payload, row.tenant_id, row.id)
    version = (row.task_id, row.revision)
    if version not in opened:
        context = revision_context(row.tenant_id, *version)
        opened[version] = open_json(bytes(row.sealed), context)["payload"]
    return opened[version]


@contextmanager
def _unless_away() -> Iterator[None]:
    """Log the loss of a note about a pull worker, without refusing the worker's call."""
    try:
        yield
    except ConnectionFailed as error:
        log.warning("pull_worker.not_noted", extra={"reason": type(error).__name__})
