"""The answers that show executions, for every door."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import datetime
from typing import Any

from executions.captured_logs import log_url
from executions.choices import Status
from executions.models import Execution
from shared.instants import format_instant
from shared.payload_sight import hide
from shared.process_sight import shown_worker
from shared.trace_context import context_of
from tasks.definition import plain_pool
from tasks.models import Task

_UNSTARTED = frozenset({Status.PENDING, Status.QUEUED, Status.RETRYING})


def present_execution(
    execution: Execution, *, task_name: str, detail: dict[str, Any] | None = None
) -> dict[str, Any]:
    """Return the execution as the API answers it; ``detail`` adds fields of the single view."""
    return {
        "id": str(execution.id),
        "task_id": str(execution.task_id),
        "task_name": task_name,
        "status": str(execution.status),
        "reason": _reason(execution),
        "trigger": str(execution.trigger),
        "scheduled_for": format_instant(execution.scheduled_for),
        "due_at": format_instant(execution.due_at),
        "queued_at": instant_or_none(execution.queued_at),
        "started_at": instant_or_none(execution.started_at),
        "finished_at": instant_or_none(execution.finished_at),
        "start_delay_ms": _rounded(execution.start_delay_ms),
        "duration_ms": duration_ms(execution.started_at, execution.finished_at),
        "attempt": execution.attempt,
        "max_attempts": execution.max_attempts,
        "next_attempt_at": _next_attempt_at(execution),
        "worker": shown_worker(execution.worker) or None,
        "pool": plain_pool(execution.pool),
        "log_url": log_url(execution),
        "response_status": execution.response_status,
        "error": error_or_none(execution.error_code, execution.error_message),
        "progress": None,
        "result": None,
        "trace_id": context_of(execution.id.hex, execution.trace_context).trace_id,
        "parent_id": str(execution.parent_id) if execution.parent_id else None,
        **(detail or {}),
    }


def present_executions(executions: Iterable[Execution]) -> list[dict[str, Any]]:
    """Return the executions as lists answer them; the names of their tasks come in one query."""
    rows = list(executions)
    ids = {row.task_id for row in rows}
    # Deleted tasks too: their executions stay readable.
    names = dict(Task.objects.filter(id__in=ids).values_list("id", "name")) if ids else {}
    return [present_execution(row, task_name=names.get(row.task_id, "")) for row in rows]


def instant_or_none(moment: datetime | None) -> str | None:
    """Return the wire form of a time that may be missing."""
    return None if moment is None else format_instant(moment)


def error_or_none(code: str, message: str) -> dict[str, str] | None:
    """Return the wire form of an error; no code means that there is none.

    The message may quote what was answered or printed.
    """
    return {"code": code, "message": hide(message)} if code else None


def duration_ms(started_at: datetime | None, finished_at: datetime | None) -> float | None:
    """Return the milliseconds between two times, or None while one is missing."""
    if started_at is None or finished_at is None:
        return None
    return _rounded(max(0.0, (finished_at - started_at).total_seconds() * 1000))


def _rounded(milliseconds: float | None) -> float | None:
    return None if milliseconds is None else round(milliseconds, 3)


def _reason(execution: Execution) -> str | None:
    if execution.status == Status.RUNNING and execution.cancel_requested_at is not None:
        return "cancel_requested"
    return execution.reason or None


def _next_attempt_at(execution: Execution) -> str | None:
    # Work on hold waits until its task resumes, at an unknown time.
    waits = execution.status in _UNSTARTED and not execution.held
    return format_instant(execution.due_at) if waits else None
