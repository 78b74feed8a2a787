"""The answers that show bulk jobs and their items, for every door."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from executions.bulk import sealed_options
from executions.bulk.backfill import Plan
from executions.bulk.results import count_results
from executions.bulk.scope import Scope
from executions.models import BulkJob, BulkJobItem, DeadLetter, Execution
from insight.presentation.execution import instant_or_none
from shared.instants import format_instant, format_local
from shared.payload_sight import hide, hide_url
from tasks.masking import seen_patch
from tasks.models import Task
from tasks.schedules.zones import find_zone


def present_bulk_job(job: BulkJob) -> dict[str, Any]:
    """Return a job as every list and page shows it.

    ``total`` is ``done + skipped + failed + remaining``; ``remaining`` is 0 once it has ended.
    """
    decided = job.done_count + job.skipped_count + job.failed_count
    return {
        "id": str(job.id),
        "name": job.name,
        "kind": job.kind,
        "action": job.action,
        "filter": _filter(job),
        "options": _options(sealed_options.shown(job)),
        "payload_edited": sealed_options.has_payload(job),
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


def _filter(job: BulkJob) -> dict[str, Any]:
    """Return the filter; a text that was searched for in errors may be one of an answer."""
    shown = dict(job.filters)
    if "q" in shown and job.kind != "tasks":
        shown["q"] = hide(shown["q"])
    return shown


def _options(options: Mapping[str, Any]) -> dict[str, Any]:
    """Return the options; without the right to see payloads no query of a URL, and of a change of
    tasks only what does not tell of them."""
    shown = dict(options)
    if isinstance(shown.get("set"), Mapping):
        shown["set"] = seen_patch(shown["set"])
    into = shown.get("into")
    if isinstance(into, Mapping) and isinstance(into.get("url"), str):
        shown["into"] = {**into, "url": hide_url(into["url"])}
    return shown


def present_job_detail(job: BulkJob) -> dict[str, Any]:
    """Return a job as its own page shows it: with the states of the executions that it made."""
    return {**present_bulk_job(job), "executions": count_results(job)}


def present_backfill_plan(plan: Plan) -> dict[str, Any]:
    """Return the plan of a backfill: how many instants, from when to when, the first few."""
    zone = find_zone(plan.task.schedule["timezone"]).info
    return {
        "count": plan.count,
        "first": format_instant(plan.instants[0].at),
        "last": format_instant(plan.instants[-1].at),
        "excluded": plan.excluded,
        "max_parallel": plan.max_parallel,
        "overlap_policy": plan.overlap_policy,
        "estimated_seconds": plan.estimated_seconds,
        "sample": [
            {
                "utc": format_instant(occurrence.at),
                "local": format_local(occurrence.at, zone),
                "notes": list(occurrence.notes),
            }
            for occurrence in plan.sample
        ],
    }


def present_item(item: BulkJobItem) -> dict[str, Any]:
    """Return the outcome of one row of a job, or of one instant of a backfill."""
    return {
        "position": item.position,
        "id": str(item.item_id),
        "at": instant_or_none(item.at),
        "outcome": item.outcome,
        "code": item.code or None,
        "message": item.message,
        "result_id": str(item.result_id) if item.result_id else None,
    }


def present_scope(scope: Scope) -> dict[str, Any]:
    """Return how many rows a job would cover, from when to when, and of how many tasks.

    With ``into``, also how many of them cannot go there.
    """
    return {
        "count": scope.count,
        "oldest": instant_or_none(scope.oldest),
        "newest": instant_or_none(scope.newest),
        "tasks": scope.tasks,
        **({} if scope.unfit is None else {"unfit": scope.unfit}),
    }


def present_sample(rows: Iterable[Task | DeadLetter | Execution]) -> list[dict[str, Any]]:
    """Return rows of a scope of any kind in brief; names of tasks come in one query."""
    found = list(rows)
    ids = {row.task_id for row in found if not isinstance(row, Task)}
    # Deleted tasks too: their remaining rows stay readable.
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
