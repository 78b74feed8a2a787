"""The work of a backfill on its instants: make their executions, count and cancel them.

The steps of its bulk job call this, and the services that cancel or show the job. Every statement
is set based and stays within the job's own day of the ledger.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime, timedelta
from uuid import UUID

from django.db import transaction

from executions import transitions
from executions.choices import Status
from executions.ledger import days
from executions.loop.clocks import database_now
from executions.models import BulkJob, Execution
from executions.querysets import ExecutionQuerySet
from executions.triggering import triggers
from shared.ids import first_id_at, series_id
from shared.sql import rows
from tasks.choices import TaskStatus
from tasks.models import Task
from wire import start_guard

#: The kind of a bulk job whose items are instants, and its only action.
KIND = "occurrences"
ACTION = "backfill"
#: Executions of one step's transaction.
CHUNK = 1000
_MILLISECOND = timedelta(milliseconds=1)
_MICROSECOND = timedelta(microseconds=1)
#: The names under which a job shows the states of its executions.
SHOWN_STATES: Mapping[str, str] = {
    Status.PENDING: "pending",
    Status.QUEUED: "pending",
    Status.RETRYING: "pending",
    Status.RUNNING: "running",
    Status.SUCCEEDED: "succeeded",
    Status.FAILED: "failed",
    Status.CANCELLED: "cancelled",
    Status.SKIPPED: "skipped",
}
REFUSALS = {
    "task_deleted": "The task has been deleted.",
    "task_cancelled": "The task has been cancelled.",
}

#: Position, id of the execution, and its instant.
Item = tuple[int, UUID, datetime]


class _TaskChanged(Exception):
    """The task changed while its executions were made."""


def is_backfill(job: BulkJob) -> bool:
    """Return whether the job's items are instants."""
    return job.kind == KIND


def task_of(job: BulkJob) -> UUID:
    """Return the task whose instants the job runs."""
    return UUID(job.filters["task"])


def execution_of(job: BulkJob, task_id: UUID, at: datetime) -> UUID:
    """Return the id of the execution of an instant: derived, in the day that the job was made."""
    return series_id(task_id, job.created_at, at, str(job.id))


def make_executions(job: BulkJob, items: Sequence[Item]) -> str:
    """Insert the executions of a step's items, gated; a repeat changes nothing.

    Runs in the step's transaction. Return '', or a code of :data:`REFUSALS` when it made none: a
    task that was deleted or cancelled meanwhile runs nothing.
    """
    seen = Task.objects.get(pk=task_of(job))
    refusal = _refusal(seen)
    if refusal:
        return refusal
    _keep_the_day(job)
    try:
        # The race: an edit, cancel or delete of the task waits for the task's row and then finds
        # the executions, or it came first, and this makes them anew. The row is locked last:
        # locked from the beginning, it would keep the scheduler out.
        with transaction.atomic():
            _insert(job, items)
            task = triggers.lock_tasks([seen.id])[seen.id]
            if task.version != seen.version or _refusal(task):
                raise _TaskChanged
    except _TaskChanged:
        task = triggers.lock_tasks([seen.id])[seen.id]
        refusal = _refusal(task)
        if refusal:
            return refusal
        _insert(job, items)
    triggers.wake_for_made()
    return ""


def cancel_waiting(job: BulkJob) -> int:
    """Cancel the job's executions that have not started; return how many. Running ones continue.

    Runs in the caller's transaction: after the answer none of them starts. Raise Unavailable,
    changing nothing, when released work exists and Redis cannot be asked.
    """
    found = rows("backfill/lock_waiting", _of_job(job))
    waiting = [(execution_id, token) for execution_id, _, token in found]
    released = [row for row in found if row[1] == Status.QUEUED]
    if released:
        holders = start_guard.void([token for _, _, token in released])
        now = database_now()
        started = {
            row[0]: (row[0], row[2], holder, now)
            for row, holder in zip(released, holders, strict=True)
            if holder
        }
        transitions.mark_running(list(started.values()))
        waiting = [row for row in waiting if row[0] not in started]
    return len(transitions.cancel(waiting, "job_cancelled"))


def count_executions(job: BulkJob) -> dict[str, int]:
    """Return how many of the job's executions are pending, running, succeeded and so on."""
    counts = dict.fromkeys(SHOWN_STATES.values(), 0)
    for status, count in rows("backfill/count_by_status", _of_job(job)):
        counts[SHOWN_STATES[status]] += count
    return counts


def executions_made_by(tenant_id: UUID, job_id: UUID) -> ExecutionQuerySet:
    """Return the executions that a bulk job of the tenant made for its instants, for lists."""
    made = Execution.objects.for_tenant(tenant_id)
    job = BulkJob.objects.for_tenant(tenant_id).filter(pk=job_id).first()
    if job is None:
        return made.none()
    low, high = id_range(job)
    return made.filter(series_id=job.id, id__gte=low, id__lt=high)


def id_range(job: BulkJob) -> tuple[UUID, UUID]:
    """Return the bounds of the ids of the job's executions, the upper one excluded."""
    low = first_id_at(job.created_at)
    # An id holds its millisecond rounded down; the next millisecond is above all ids of the job.
    return low, first_id_at(job.created_at + _MILLISECOND)


def _insert(job: BulkJob, items: Sequence[Item]) -> None:
    transitions.insert_series(
        {
            **_of_job(job),
            "task": task_of(job),
            "trace": job.trace_context,
            "ids": [execution_id for _, execution_id, _ in items],
            "scheduled_for": [at for _, _, at in items],
            # A microsecond apart, so that the order of the instants is the order of their turns.
            "due_at": [job.created_at + position * _MICROSECOND for position, _, _ in items],
        }
    )


def _refusal(task: Task) -> str:
    if task.deleted_at is not None:
        return "task_deleted"
    return "task_cancelled" if task.status == TaskStatus.CANCELLED else ""


def _of_job(job: BulkJob) -> dict[str, object]:
    low, high = id_range(job)
    return {"job": job.id, "low": low, "high": high}


def _keep_the_day(job: BulkJob) -> None:
    """Make the job's day again if it left the ledger while the job waited; open work keeps it."""
    low, _ = id_range(job)
    if days.is_old(low, database_now()):
        days.make_days(days.missing_days([job.created_at]))
