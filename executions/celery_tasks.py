"""The Celery functions: doors to the engine, nothing else."""

from __future__ import annotations

import logging
from typing import Any
from uuid import UUID

import redis
from celery import shared_task
from celery.signals import worker_init, worker_shutdown, worker_shutting_down
from django.conf import settings
from django.db import DatabaseError

from executions.broker import CHECK_ZONES, DELIVER, FOLLOW_CALENDAR, RUN_BULK_JOB
from executions.bulk.steps import hand_on, run_some
from executions.changes.calendar_changes import follow_some
from executions.changes.zone_recompute import check_zone_rules as follow_zones
from executions.housekeeping import stage as housekeeping
from shared.exceptions import Unavailable
from wire import messages
from worker.loop import WorkerLoop

log = logging.getLogger(__name__)

_loop: WorkerLoop | None = None


@shared_task(name=DELIVER, acks_late=False, ignore_result=True)
def deliver(batch: dict[str, Any]) -> None:
    """Hand a batch to this worker's loop; our lease, not the broker's, covers it."""
    if _loop is None:
        raise RuntimeError("this worker delivers nothing; its queues belong to no pool")
    message = messages.decode(batch)
    _loop.accept(message, message["bytes"])


@shared_task(
    name="executions.keep_house",
    autoretry_for=(DatabaseError, redis.RedisError),
    retry_backoff=True,
    retry_jitter=True,
    max_retries=5,
    ignore_result=True,
)
def keep_house() -> None:
    """Make days ahead, drop days past retention, remove expired records."""
    housekeeping.run_once()


@shared_task(
    name=RUN_BULK_JOB,
    autoretry_for=(DatabaseError, redis.RedisError),
    retry_backoff=True,
    retry_jitter=True,
    max_retries=5,
    ignore_result=True,
)
def run_bulk_job(job_id: str) -> None:
    """Do a part of a bulk job; put the rest at the end of the queue, behind other jobs."""
    if run_some(UUID(job_id)):
        hand_on(UUID(job_id))


@shared_task(
    name=FOLLOW_CALENDAR,
    autoretry_for=(DatabaseError, redis.RedisError, Unavailable),
    retry_backoff=True,
    retry_jitter=True,
    max_retries=None,
    ignore_result=True,
)
def follow_calendar(calendar_id: str, after: str) -> None:
    """Make some of the tasks that name a changed calendar follow it, and ask for the rest."""
    follow_some(UUID(calendar_id), UUID(after))


@shared_task(
    name=CHECK_ZONES,
    autoretry_for=(DatabaseError, redis.RedisError, Unavailable),
    retry_backoff=True,
    retry_jitter=True,
    max_retries=None,
    ignore_result=True,
)
def check_zone_rules() -> None:
    """Recompute the tasks whose zones have other rules than at their last computation."""
    follow_zones()


@worker_init.connect
def start_loop(**_: object) -> None:
    """Start the loop in a worker that delivers; the system worker has none."""
    global _loop
    if settings.WORKER_POOL == "system":
        return
    loop = WorkerLoop(settings.WORKER_POOL)
    try:
        loop.start()
    except Exception as error:
        # Celery only logs errors of a signal's receiver, and would take batches without a loop.
        log.critical("worker_loop_cannot_start", exc_info=True)
        raise SystemExit(1) from error
    _loop = loop


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
