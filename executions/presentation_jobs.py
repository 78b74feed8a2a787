"""The answers that show bulk jobs and their items; every door that shows one uses them."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from executions.models import BulkJob, BulkJobItem, DeadLetter, Execution
from executions.presentation import instant_or_none
from executions.services.bulk_scope import Scope
from shared.instants import format_instant
from tasks.models import Task


def present_bulk_job(job: BulkJob) -> dict[str, Any]:
    """Return a job as every list and page shows it.

    Ended, ``total`` is ``done + skipped + failed``; before, ``remaining`` makes up the rest.
    """
    decided = job.done_count + job.skipped_count + job.failed_count
    return {
        "id": str(job.id),
        "name": job.name,
        "kind": job.kind,
        "action": job.action,
        "filter": job.filters,
        "options": job.options,
        "payload_edited": job.sealed_payload is not None,
        "status": str(job.status),
        "reason": job.reason or None,
        "total": job.total,
        "done": job.done_count,
        "skipped": job.skipped_count,
        "failed": job.failed_count,
        "remaining": job.total - decided,
        "created_by": job.created_by,
        "created_at": format_instant(job.created_at),
        "started_at": instant_or_none(job.started_at),
        "finished_at": instant_or_none(job.finished_at),
    }


def present_item(item: BulkJobItem) -> dict[str, Any]:
    """Return what became of one row of a job."""
    return {
        "position": item.position,
        "id": str(item.item_id),
        "outcome": item.outcome,
        "code": item.code or None,
        "message": item.message,
        "result_id": str(item.result_id) if item.result_id else None,
    }


def present_scope(scope: Scope) -> dict[str, Any]:
    """Return how many rows a job would be about, from when to when, and of how many tasks."""
    return {
        "count": scope.count,
        "oldest": instant_or_none(scope.oldest),
        "newest": instant_or_none(scope.newest),
        "tasks": scope.tasks,
    }


def present_sample(rows: Iterable[Task | DeadLetter | Execution]) -> list[dict[str, Any]]:
    """Return rows of a scope in brief, whatever they are; names of tasks come in one query."""
    found = list(rows)
    ids = {row.task_id for row in found if not isinstance(row, Task)}
    # Deleted tasks too: what is left of them stays readable.
    names = dict(Task.objects.filter(id__in=ids).values_list("id", "name")) if ids else {}
    return [_in_brief(row, names) for row in found]


def _in_brief(row: Task | DeadLetter | Execution, names: dict[Any, str]) -> dict[str, Any]:
    if isinstance(row, Task):
        task_id, name, state, at = row.id, row.name, str(row.status), row.created_at
    elif isinstance(row, DeadLetter):
        task_id, name = row.task_id, names.get(row.task_id, "")
        state, at = row.error_signature, row.created_at
    else:
        task_id, name = row.task_id, names.get(row.task_id, "")
        state, at = str(row.status), row.scheduled_for
    return {
        "id": str(row.id),
        "task_id": str(task_id),
        "task_name": name,
        "state": state,
        "at": format_instant(at),
    }
