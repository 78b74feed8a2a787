"""The steps of a bulk job: lock it, apply the action to some items, note the result of each.

The Celery task of the system worker calls them, and the news thread of a recorder wakes them. A
step locks the job's row, so that no two workers take the same items. Its effects, their outcomes
and the job's position commit together or not at all.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Sequence
from datetime import datetime, timedelta
from typing import Any, cast
from uuid import UUID

import redis
from django.db import transaction
from django.db.models import Min, Q

from events import audit, outbox
from executions.broker import RUN_BULK_JOB, publish_system_job
from executions.bulk.actions import (
    Action,
    BatchAction,
    SetAction,
    action_of,
    apply_to,
    apply_together,
    order_of,
)
from executions.bulk.backfill_steps import Item
from executions.bulk.canary import Verdict, judge
from executions.bulk.items import Order, Result
from executions.choices import ItemOutcome, JobStatus
from executions.loop.clocks import database_now
from executions.models import BulkJob
from executions.querysets import BulkJobQuerySet
from shared.actor import SYSTEM, Actor
from shared.encryption import DecryptionFailed
from shared.exceptions import Unavailable
from shared.sql import run
from tasks import standing_pauses
from tenants.suspension import is_suspended, suspended_tenants

log = logging.getLogger("executions.services.bulk_steps")

#: The name of the event that reports that a job has moved.
CHANGED = "bulk_job.changed"
_CHUNK = 200
_CHUNK_SECONDS = 1.0
#: Items that one batch takes in a fixed number of statements. Their work is locked meanwhile.
_BATCH = 500
#: A job that no worker took for this long has lost its message.
_LOST_AFTER = timedelta(seconds=5)
_LOOK_AGAIN = timedelta(seconds=2)
_REDIS_AWAY = timedelta(seconds=5)
#: Delay that a job catches up after a slow wake-up: keeps its rate on average, without a burst.
_CATCH_UP = timedelta(seconds=2)
_WAKE_AT_ONCE = 100
_SHORTEST, _LONGEST = 0.2, 3.0
#: Reasons for which a job stops by itself.
_STOPS = {Verdict.STOP: "too_many_failures", Verdict.CIRCUIT: "circuit_open"}


def run_some(job_id: UUID) -> bool:
    """Do a bounded part of a job, in transactions of its own; return whether more is left now.

    False also when another worker has the job, when it waits for its rate or its canary, and
    when it has ended. Raise database errors: uncommitted work was not done.
    """
    deadline = time.monotonic() + _CHUNK_SECONDS
    left = _CHUNK
    try:
        while True:
            done, more = _step(job_id, left, deadline)
            left -= done
            if not more or left <= 0 or time.monotonic() >= deadline:
                return more
    except Unavailable as error:
        log.warning("bulk_job.postponed", extra={"job_id": str(job_id), "reason": error.message})
        _postpone(job_id)
        return False


def wake_waiting() -> float:
    """Hand every due job without a worker to one; return the seconds to the next look.

    The message is only a wake-up: a lost one is sent again some seconds later.
    """
    with transaction.atomic(durable=True):
        now = database_now()
        idle = Q(woken_at__isnull=True) | Q(woken_at__lte=now - _LOST_AFTER)
        due = _runnable().filter(idle, next_at__lte=now).order_by("next_at")
        # A locked job is under way: its worker hands it on.
        locked = due.select_for_update(skip_locked=True, no_key=True)
        ids = list(locked.values_list("id", flat=True)[:_WAKE_AT_ONCE])
        BulkJob.objects.filter(pk__in=ids).update(woken_at=now)
    for job_id in ids:
        hand_on(job_id)
    waiting = _runnable().filter(woken_at__isnull=True)
    soonest: datetime | None = waiting.aggregate(soonest=Min("next_at"))["soonest"]
    seconds = (soonest - now).total_seconds() if soonest else _LONGEST
    return min(_LONGEST, max(_SHORTEST, seconds))


def _runnable() -> BulkJobQuerySet:
    """Return the active jobs of tenants that are not suspended."""
    return BulkJob.objects.active().exclude(tenant_id__in=suspended_tenants())


def hand_on(job_id: UUID) -> None:
    """Ask the system worker to continue a job; only log when the broker is away."""
    try:
        publish_system_job(RUN_BULK_JOB, str(job_id))
    except redis.RedisError as error:
        log.warning("bulk_job.not_handed_on", extra={"job_id": str(job_id), "reason": str(error)})


def wake_on_commit(job_id: UUID) -> None:
    """Hand a job to a worker after this transaction commits."""
    transaction.on_commit(lambda: hand_on(job_id), robust=True)


def end_job(job: BulkJob, status: JobStatus, actor: Actor, reason: str = "") -> None:
    """End a locked job and audit it; skip the items that it has not reached, with the reason.

    Afterwards total is the sum of done, skipped and failed.
    """
    if job.position < job.total:
        run("bulk/take_time")
        parameters = {"job": job.id, "position": job.position, "code": reason}
        job.skipped_count += run("bulk/skip_remaining", parameters)
    now = database_now()
    BulkJob.objects.filter(pk=job.id).update(
        status=status,
        reason=reason,
        skipped_count=job.skipped_count,
        finished_at=now,
        started_at=job.started_at or now,
    )
    facts = {
        "done": job.done_count,
        "skipped": job.skipped_count,
        "failed": job.failed_count,
        **({"reason": reason} if reason else {}),
    }
    outbox.append(job.tenant_id, CHANGED, job.id)
    audit.record(
        job.tenant_id, actor, f"bulk_job.{status.lower()}", "bulk_job", job.id, None, facts
    )


def _step(job_id: UUID, most: int, deadline: float) -> tuple[int, bool]:
    """Take the job's next items in one transaction; return how many, and whether more is due."""
    with transaction.atomic(durable=True):
        job = _take(job_id) if _share_active(job_id) else None
        now = database_now()
        if job is None or job.next_at > now:
            return 0, False
        verdict = judge(job)
        if verdict in _STOPS:
            end_job(job, JobStatus.STOPPED, SYSTEM, _STOPS[verdict])
            return 0, False
        if verdict is Verdict.WAIT:
            _move(job, now, next_at=now + _LOOK_AGAIN, now_due=False)
            return 0, False
        if _canary(job) <= job.position:
            job.canary_passed = True
        try:
            order = order_of(job, now)
        except DecryptionFailed as error:
            # No key opens the payload that every item sends: a retry would fail for ever.
            end_job(job, JobStatus.STOPPED, SYSTEM, error.code)
            return 0, False
        action = action_of(job)
        if isinstance(action, SetAction):
            results = _apply_set(job, action)
        elif isinstance(action, BatchAction):
            results = _apply_batch(job, action, order)
        else:
            size = min(most, _size(job, _CHUNK if action.hold else 1))
            results = _apply(job, action, order, size, deadline)
        next_at = _next_at(job, len(results), now)
        more = job.position < job.total
        _move(job, now, next_at=next_at, now_due=more and next_at <= now)
        if not more:
            end_job(job, JobStatus.COMPLETED, SYSTEM)
        else:
            outbox.append(job.tenant_id, CHANGED, job.id)
        return len(results), more and next_at <= now


def _share_active(job_id: UUID) -> bool:
    """Share the pauses of the job's tenant for the step's work; False while it is suspended.

    The job of a suspended tenant stays as it is, and continues when the tenant is resumed.
    """
    tenant_id = BulkJob.objects.filter(pk=job_id).values_list("tenant_id", flat=True).first()
    if tenant_id is None:
        return False
    standing_pauses.share(tenant_id)
    return not is_suspended(tenant_id)


def _take(job_id: UUID) -> BulkJob | None:
    # The race: two messages of one job. The second one skips the locked row.
    found = BulkJob.objects.active().filter(pk=job_id)
    return found.select_for_update(skip_locked=True, no_key=True).first()


def _apply(job: BulkJob, action: Action, order: Order, size: int, deadline: float) -> list[Result]:
    positions, item_ids = _next_items(job, size)
    results = apply_to(action, order, item_ids, deadline)
    _settle(job, positions[: len(results)], results)
    return results


def _apply_batch(job: BulkJob, action: BatchAction, order: Order) -> list[Result]:
    positions, item_ids = _next_items(job, _size(job, _BATCH))
    # One statement may touch many rows: all unfinished work of each task.
    run("bulk/take_time")
    results = apply_together(action, order, item_ids)
    _settle(job, positions[: len(results)], results)
    return results


def _next_items(job: BulkJob, size: int) -> tuple[list[int], list[UUID]]:
    items = job.items.filter(position__gte=job.position).order_by("position")[:size]
    found = list(items.values_list("position", "item_id"))
    return [position for position, _ in found], [item_id for _, item_id in found]


def _apply_set(job: BulkJob, action: SetAction) -> list[Result]:
    items = job.items.filter(position__gte=job.position).order_by("position")[: action.chunk]
    found = cast(list[Item], list(items.values_list("position", "item_id", "at")))
    results = action.apply(job, found)
    _settle(job, [position for position, _, _ in found], results)
    return results


def _settle(job: BulkJob, positions: Sequence[int], results: Sequence[Result]) -> None:
    run(
        "bulk/settle_items",
        {
            "job": job.id,
            "positions": list(positions),
            "outcomes": [str(result.outcome) for result in results],
            "codes": [result.code for result in results],
            "messages": [result.message for result in results],
            "result_ids": [result.result_id for result in results],
        },
    )
    outcomes = [result.outcome for result in results]
    job.position += len(results)
    job.done_count += outcomes.count(ItemOutcome.DONE)
    job.skipped_count += outcomes.count(ItemOutcome.SKIPPED)
    job.failed_count += outcomes.count(ItemOutcome.FAILED)


def _move(job: BulkJob, now: datetime, *, next_at: datetime, now_due: bool) -> None:
    job.started_at = job.started_at or now
    BulkJob.objects.filter(pk=job.id).update(
        status=JobStatus.RUNNING,
        position=job.position,
        canary_passed=job.canary_passed,
        done_count=job.done_count,
        skipped_count=job.skipped_count,
        failed_count=job.failed_count,
        started_at=job.started_at,
        next_at=next_at,
        # With null, wake_waiting hands the job to a worker as soon as it is due.
        woken_at=now if now_due else None,
    )


def _size(job: BulkJob, size: int) -> int:
    if job.position < _canary(job):
        size = min(size, _canary(job) - job.position)
    rate = job.options.get("rate_per_second")
    return size if rate is None else min(size, max(1, int(rate)))


def _canary(job: BulkJob) -> int:
    canary: Any = job.options.get("canary")
    return 0 if canary is None else int(canary)


def _next_at(job: BulkJob, count: int, now: datetime) -> datetime:
    rate = job.options.get("rate_per_second")
    if rate is None:
        return now
    return max(job.next_at, now - _CATCH_UP) + timedelta(seconds=count / rate)


def _postpone(job_id: UUID) -> None:
    with transaction.atomic(durable=True):
        later = database_now() + _REDIS_AWAY
        BulkJob.objects.active().filter(pk=job_id).update(next_at=later, woken_at=None)
