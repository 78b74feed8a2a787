"""The single view of an execution: its attempts, requests and answers, and why it waits."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime
from functools import partial
from typing import Any

from executions.attempts import attempts_of
from executions.choices import Status
from executions.models import Attempt, Execution
from executions.payloads import as_readable, payload_of, progress_of, result_of
from executions.redacted_fields import paths_of
from executions.request_view import captured_response, planned_request, sent_request, with_body
from insight.explain.waiting import waiting_for
from insight.presentation.execution import (
    duration_ms,
    error_or_none,
    instant_or_none,
    present_execution,
)
from shared.field_redaction import redacted
from shared.payload_sight import hide, hide_url
from shared.process_sight import shown_worker
from tasks.models import Task
from tasks.presentation import present_missing
from tasks.revisions import read_readable_version
from tasks.versions import into_of

_PHASES = ("dns", "connect", "tls", "first_byte", "total")
_NEVER_SENT = frozenset({Status.SKIPPED, Status.CANCELLED})


def present_execution_detail(execution: Execution, *, now: datetime) -> dict[str, Any]:
    """Return the single view; ``now`` is the database's time."""
    task = Task.objects.get(pk=execution.task_id)
    attempts = attempts_of([execution.id])[execution.id]
    definition, is_whole = read_readable_version(task, execution.revision)
    target = definition.target
    payload, progress, result = (
        as_readable(partial(opened, execution)) for opened in (payload_of, progress_of, result_of)
    )
    last = attempts[-1] if attempts else None
    redact = paths_of(execution.task_id, execution.revision)
    detail = {
        "attempts": present_attempts(attempts, execution, target, redact),
        "request": _request(execution, target, last, redacted(payload.payload, redact)),
        **present_missing(is_whole and payload.is_whole and progress.is_whole and result.is_whole),
        "response": captured_response(last, redact) if last else None,
        "timings": present_timings(last.timings if last else {}),
        "into": _into(into_of(execution.revision, target)),
        "concurrency_key": execution.concurrency_key,
        "waiting_for": waiting_for(execution, task, now),
        "lease_expires_at": instant_or_none(execution.lease_expires_at),
        "progress": hide(progress.payload, redact),
        "result": hide(result.payload, redact),
    }
    return present_execution(execution, task_name=task.name, detail=detail)


def present_attempts(
    attempts: Sequence[Attempt],
    execution: Execution,
    target: Mapping[str, Any],
    redact: Sequence[str],
) -> list[dict[str, Any]]:
    """Return each attempt with its request, without the body, which is the same for all."""
    return [
        {
            **present_attempt(attempt),
            "request": sent_request(target, execution, attempt),
            "response": captured_response(attempt, redact),
        }
        for attempt in attempts
    ]


def present_attempt(attempt: Attempt) -> dict[str, Any]:
    """Return an attempt in brief, without opening its sealed request and answer."""
    return {
        "number": attempt.number,
        "outcome": str(attempt.outcome),
        "error": error_or_none(attempt.error_code, attempt.error_message),
        "response_status": attempt.response_status,
        "worker": shown_worker(attempt.worker) or None,
        "due_at": instant_or_none(attempt.due_at),
        "started_at": instant_or_none(attempt.started_at),
        "finished_at": instant_or_none(attempt.finished_at),
        "duration_ms": duration_ms(attempt.started_at, attempt.finished_at),
        "timings": present_timings(attempt.timings),
        "cost": attempt.timings.get("cost"),
        "cost_ignored": attempt.timings.get("cost_ignored"),
    }


def present_timings(timings: Mapping[str, Any]) -> dict[str, float | None]:
    """Return milliseconds by phase; null for a phase that was not needed or not reached."""
    return {
        f"{phase}_ms": round(timings[phase], 3) if phase in timings else None for phase in _PHASES
    }


def _request(
    execution: Execution, target: Mapping[str, Any], last: Attempt | None, payload: Any
) -> dict[str, Any] | None:
    if last is not None:
        return with_body(sent_request(target, execution, last), payload)
    if execution.status in _NEVER_SENT:
        return None
    return with_body(planned_request(target), payload)


def _into(into: Mapping[str, str] | None) -> dict[str, str] | None:
    """Return the place of a replay; of a URL no query without the right to see payloads."""
    if into is None:
        return None
    return {name: hide_url(value) if name == "url" else value for name, value in into.items()}
