"""The answers that show statistics, workers, schedulers and tests of a delivery."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict
from typing import Any

from executions.housekeeping.worker_history import EarlierWorker
from executions.models import WorkerHour, WorkerMinute
from executions.models.minute_stat import START_DELAY_BUCKETS_MS
from executions.triggering.test_delivery import TestResult
from insight.presentation.execution import error_or_none, instant_or_none
from insight.presentation.execution_detail import present_timings
from insight.statistics import (
    MinutePoint,
    Overview,
    PartitionView,
    RecorderView,
    SchedulerView,
    WorkerView,
)
from insight.statistics.minutes import wire_bound
from shared.instants import format_instant
from tasks.definition import plain_pool


def present_overview(overview: Overview) -> dict[str, Any]:
    """Return a tenant's overview."""
    oldest = overview.oldest_due_seconds
    return {
        "at": format_instant(overview.at),
        "due_now": overview.due_now,
        "late": overview.late,
        "queued": overview.queued,
        "running": overview.running,
        "retrying": overview.retrying,
        "exact": overview.exact,
        "oldest_due_seconds": None if oldest is None else round(oldest, 3),
        "dead_letters_open": overview.dead_letters_open,
        "paused_tasks": overview.paused_tasks,
        "standing_pauses": overview.standing_pauses,
        "last_hour": {
            "succeeded": overview.succeeded_last_hour,
            "failed": overview.failed_last_hour,
            "retried": overview.retried_last_hour,
            "late": overview.late_last_hour,
            "success_rate": overview.success_rate,
            "start_delay_ms": {
                "p50": wire_bound(overview.start_delay.p50),
                "p95": wire_bound(overview.start_delay.p95),
                "p99": wire_bound(overview.start_delay.p99),
                "count": overview.start_delay.count,
            },
        },
    }


def present_throughput(points: Sequence[MinutePoint]) -> dict[str, Any]:
    """Return the ended attempts by minute, with the bounds of the buckets."""
    return {
        "minutes": [
            {
                "minute": format_instant(point.minute),
                "succeeded": point.succeeded,
                "failed": point.failed,
                "retried": point.retried,
                "cancelled": point.cancelled,
                "late": point.late,
                "start_delays": list(point.start_delays),
            }
            for point in points
        ],
        "bucket_bounds_ms": list(START_DELAY_BUCKETS_MS),
    }


def present_workers(
    workers: Sequence[WorkerView], recorders: Sequence[RecorderView]
) -> dict[str, Any]:
    """Return the workers and the recorders."""
    return {
        "workers": [_worker(worker) for worker in workers],
        "recorders": [
            {
                "name": recorder.name,
                "live": recorder.live,
                "silent_seconds": round(recorder.silent_seconds, 3),
                "pending": recorder.pending,
            }
            for recorder in recorders
        ],
    }


def present_worker_history(
    worker: str, *, minutes: Sequence[WorkerMinute] = (), hours: Sequence[WorkerHour] = ()
) -> dict[str, Any]:
    """Return the work and the load of a worker by minute and by hour."""
    return {
        "worker": worker,
        "minutes": [
            {
                "minute": format_instant(row.minute),
                "pool": plain_pool(row.pool),
                "version": row.version or None,
                "capacity": row.slots,
                "in_flight": row.running,
                "held": row.held,
                "ended": row.ended_in_minute,
                "cpu_percent": row.cpu_percent,
                "memory_bytes": row.memory_bytes,
            }
            for row in minutes
        ],
        "hours": [
            {
                "hour": format_instant(row.hour),
                "pool": plain_pool(row.pool),
                "version": row.version or None,
                "minutes": row.minutes,
                "capacity": row.slots,
                "in_flight": round(row.running, 1),
                "most_in_flight": row.most_running,
                "held": round(row.held, 1),
                "most_held": row.most_held,
                "ended": row.ended,
                "cpu_percent": round(row.cpu_percent, 1),
                "most_cpu_percent": round(row.most_cpu_percent, 1),
                "most_memory_bytes": row.most_memory_bytes,
            }
            for row in hours
        ],
    }


def present_earlier_workers(workers: Sequence[EarlierWorker]) -> dict[str, Any]:
    """Return the workers that were heard some time ago, by their hours."""
    return {
        "workers": [
            {
                "id": worker.id,
                "kind": _kind(worker.leases),
                "pool": plain_pool(worker.pool),
                "host": worker.host,
                "version": worker.version or None,
                "first_hour": format_instant(worker.first_hour),
                "last_hour": format_instant(worker.last_hour),
                "ended": worker.ended,
            }
            for worker in workers
        ]
    }


def present_schedulers(
    schedulers: Sequence[SchedulerView], partitions: Sequence[PartitionView]
) -> dict[str, Any]:
    """Return the schedulers and their partitions."""
    return {
        "schedulers": [
            {
                "id": str(node.id),
                "name": node.name,
                "host": node.host or None,
                "live": node.live,
                "silent_seconds": round(node.silent_seconds, 3),
                "started_at": format_instant(node.started_at),
                "partitions": node.partitions,
            }
            for node in schedulers
        ],
        "partitions": [
            {
                "partition": partition.partition,
                "owner": str(partition.owner) if partition.owner else None,
                "owned": partition.owned,
                "epoch": partition.epoch,
                "expires_at": instant_or_none(partition.expires_at),
            }
            for partition in partitions
        ],
    }


def present_test(result: TestResult) -> dict[str, Any]:
    """Return the request of a test delivery and its result."""
    return {
        "outcome": result.outcome,
        "would_retry": result.would_retry,
        "error": error_or_none(result.error_code, result.error_message),
        "request": result.request,
        "response": result.response,
        "timings": present_timings(result.timings),
        "received": result.received,
    }


def _kind(leases: bool) -> str:
    return "pull_worker" if leases else "worker"


def _worker(worker: WorkerView) -> dict[str, Any]:
    shown = asdict(worker)
    del shown["pid"], shown["leases"], shown["heeds"]
    return {
        **shown,
        "kind": _kind(worker.leases),
        "host": worker.host or None,
        "version": worker.version or None,
        "silent_seconds": round(worker.silent_seconds, 3),
    }
