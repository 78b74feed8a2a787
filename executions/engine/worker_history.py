"""Keeps a row per worker and minute of what its heartbeats said: its work and its load (C10).

Run by the scheduler that holds the first partition, once a minute; heartbeats live in Redis, so a
minute in which nobody could ask has no rows. A week is kept.
"""

from __future__ import annotations

from datetime import datetime, timedelta

from executions.engine.clocks import database_now
from executions.engine.counts import Counts
from executions.engine.partitions import Partitions
from executions.models import WorkerMinute
from executions.workers import registry
from executions.workers.registry import WorkerInfo

KEPT = timedelta(days=7)
_WRITER_PARTITION = 0
_MINUTE_SECONDS = 60.0
_FIGURES = ("pool", "host", "version", "slots", "running", "held", "cpu_percent", "memory_bytes")


def run_once(partitions: Partitions) -> Counts:
    """Write the current minute of every worker heard within it; return how many rows."""
    now = database_now()
    minute = now.replace(second=0, microsecond=0)
    next_in = _MINUTE_SECONDS - (now - minute).total_seconds()
    if _WRITER_PARTITION not in partitions.held:
        return Counts(next_in=next_in)
    found = [
        _row(worker, minute)
        for worker in registry.workers()
        if worker.silent_seconds < _MINUTE_SECONDS
    ]
    WorkerMinute.objects.bulk_create(
        found,
        update_conflicts=True,
        unique_fields=["worker", "minute"],
        update_fields=[*_FIGURES, "ended"],
    )
    return Counts(done=len(found), next_in=next_in)


def prune(before: datetime) -> int:
    """Delete the minutes before a moment; return how many rows. Index worker_minutes_idx."""
    return WorkerMinute.objects.filter(minute__lt=before).delete()[0]


def minutes_of(worker: str, hours: int) -> list[WorkerMinute]:
    """Return the minutes of the last hours in which the worker was heard, oldest first."""
    since = database_now() - timedelta(hours=hours)
    return list(WorkerMinute.objects.filter(worker=worker, minute__gte=since).order_by("minute"))


def _row(worker: WorkerInfo, minute: datetime) -> WorkerMinute:
    said = worker.details
    return WorkerMinute(
        worker=worker.id[:120],
        minute=minute,
        pool=worker.pool[:63],
        host=str(said.get("host", ""))[:120],
        version=str(said.get("version", ""))[:40],
        slots=worker.slots,
        running=int(said.get("running", 0)),
        held=int(said.get("held", 0)),
        cpu_percent=float(said.get("cpu_percent") or 0.0),
        memory_bytes=said.get("memory_bytes"),
        ended=int(said.get("ended", 0)),
    )
