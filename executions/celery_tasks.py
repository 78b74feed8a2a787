"""The Celery functions: doors to the engine, nothing else."""

from __future__ import annotations

import logging
from collections.abc import Callable
from datetime import UTC, datetime
from typing import Any
from uuid import UUID

import redis
from celery import shared_task
from celery.signals import worker_init, worker_ready, worker_shutdown, worker_shutting_down
from django.conf import settings
from django.db import DatabaseError

from events.audit.heads import NoKey, write_heads
from events.audit.retention import forget_old_entries
from executions.broker import (
    CHECK_ZONES,
    DELIVER,
    FOLLOW_CALENDAR,
    MAKE_DAYS,
    RECOUNT_QUOTAS,
    RESEAL,
    RUN_BULK_JOB,
    RUN_ERASURE,
    WRITE_HEADS,
    publish_system_job,
)
from executions.bulk.steps import hand_on, run_some
from executions.changes.calendar_changes import follow_some
from executions.changes.zone_recompute import check_zone_rules as follow_zones
from executions.erasure import steps as erasure_steps
from executions.housekeeping import stage as housekeeping
from executions.ledger.days import day_of, make_kept_days
from executions.loop.clocks import database_now
from executions.resealing import passes as resealing
from executions.worker_intake import Intake
from shared.exceptions import Unavailable
from tasks.quotas import recount_some
from tenants.quotas import counters
from wire import messages
from worker.data_keys import take_keys_from_messages
from worker.loop import WorkerLoop

log = logging.getLogger(__name__)

_Job = Callable[..., None]

_loop: WorkerLoop | None = None
_take_keys: Callable[[messages.Shared], None] | None = None


def _job(name: str, *errors: type[Exception], most: int | None = 5) -> Callable[[_Job], Any]:
    """Return the decorator of a job of the system worker.

    A job is tried again, later each time, while the database is away or one of ``errors`` is
    raised: ``most`` times at most, None for as long as it takes.
    """
    decorator: Callable[[_Job], Any] = shared_task(
        name=name,
        autoretry_for=(DatabaseError, *errors),
        retry_backoff=True,
        retry_jitter=True,
        max_retries=most,
        ignore_result=True,
    )
    return decorator


@shared_task(name=DELIVER, acks_late=False, ignore_result=True)
def deliver(batch: dict[str, Any]) -> None:
    """Hand a batch to this worker's loop; our lease, not the broker's, covers it."""
    if _loop is None:
        raise RuntimeError("this worker delivers nothing; its queues belong to no pool")
    message = messages.decode(batch)
    if _take_keys is not None:
        _take_keys(message)
    _loop.accept(message, message["bytes"])


@_job("executions.keep_house", redis.RedisError)
def keep_house() -> None:
    """Make days ahead, drop days past retention, remove expired records; wake interrupted jobs."""
    housekeeping.run_once()
    erasure_steps.wake_waiting()
    resealing.wake_waiting()


@_job(MAKE_DAYS)
def make_days(days: str) -> None:
    """Make the tables of days, given as YYYYMMDD, for executions of the web that end late."""
    make_kept_days(day_of(day) for day in days.split())


@_job(WRITE_HEADS)
def write_audit_heads() -> None:
    """Keep the heads of audit chains that have moved; the log names chains that went back."""
    try:
        written = write_heads(database_now())
    except (OSError, NoKey) as error:
        log.error("audit_heads.not_written", extra={"reason": str(error)})
        return
    for chain in written.gone_back:
        log.critical("audit_chain.went_back", extra={"chain": str(chain)})
    # Behind the heads: what goes has been in a head.
    # By the earlier of two clocks: who sets that of the database alone cannot make entries old.
    for one in forget_old_entries(min(database_now(), datetime.now(UTC))):
        if one.breaks_at is not None:
            log.critical(
                "audit_chain.not_verified",
                extra={"chain": str(one.tenant_id), "breaks_at": one.breaks_at},
            )


@_job(RUN_BULK_JOB, redis.RedisError)
def run_bulk_job(job_id: str) -> None:
    """Do a part of a bulk job; put the rest at the end of the queue, behind other jobs."""
    if run_some(UUID(job_id)):
        hand_on(UUID(job_id))


@_job(RUN_ERASURE, redis.RedisError, Unavailable)
def run_erasure(erasure_id: str) -> None:
    """Do a part of an erasure; put the rest at the end of the queue, behind other jobs."""
    if erasure_steps.run_some(UUID(erasure_id)):
        erasure_steps.hand_on(UUID(erasure_id))
    elif erasure_steps.is_running(UUID(erasure_id)):
        # Celery calls again, later each time; after that, housekeeping does.
        raise Unavailable("The erasure waits for executions to end.")


@_job(RESEAL, redis.RedisError)
def reseal(resealing_id: str) -> None:
    """Seal some values of a tenant anew; put the rest at the end of the queue."""
    if resealing.run_some(UUID(resealing_id)):
        resealing.hand_on(UUID(resealing_id))


@_job(FOLLOW_CALENDAR, redis.RedisError, Unavailable, most=None)
def follow_calendar(calendar_id: str, after: str) -> None:
    """Make some of the tasks that name a changed calendar follow it, and ask for the rest."""
    follow_some(UUID(calendar_id), UUID(after))


@_job(CHECK_ZONES, redis.RedisError, Unavailable, most=None)
def check_zone_rules() -> None:
    """Recompute the tasks whose zones have other rules than at their last computation."""
    follow_zones()


@_job(RECOUNT_QUOTAS, redis.RedisError, most=1)
def recount_quotas(after: str = "") -> None:
    """Count what tenants with quotas store; put the rest at the end of the queue.

    A pass that takes longer than the time to the next one is not overtaken: the next does nothing.
    """
    if not (counters.continues_pass(after) if after else counters.begin_pass()):
        return
    try:
        _, last = recount_some(UUID(after) if after else None)
        counters.move_pass(None if last is None else str(last))
        if last is not None:
            publish_system_job(RECOUNT_QUOTAS, str(last))
    except Exception:
        counters.move_pass(after)  # a retry goes on here, or begins anew
        raise


@worker_init.connect
def start_loop(**_: object) -> None:
    """Start the loop in a worker that delivers; the system worker has none."""
    global _loop, _take_keys
    if settings.WORKER_POOL == "system":
        return
    _take_keys = take_keys_from_messages()
    loop = WorkerLoop(settings.WORKER_POOL)
    try:
        loop.start()
    except Exception as error:
        # Celery only logs errors of a signal's receiver, and would take batches without a loop.
        log.critical("worker_loop.not_started", exc_info=True)
        raise SystemExit(1) from error
    _loop = loop


@worker_ready.connect
def read_queues(sender: Any, **_: object) -> None:
    """Let operators make this worker leave its queues to others."""
    if _loop is not None:
        _loop.read_queues_by(Intake(sender).set)


@worker_shutting_down.connect
def stop_taking(**_: object) -> None:
    """Hand back batches that still arrive after the first stop signal."""
    if _loop is not None:
        _loop.stop_taking()


@worker_shutdown.connect
def drain(**_: object) -> None:
    """Hand back buffered work and wait for requests in flight, before the process ends."""
    if _loop is not None:
        _loop.drain(settings.DRAIN_SECONDS)
