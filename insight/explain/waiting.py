"""What one execution waits for and until when, in short, by the checks of Explain."""

from __future__ import annotations

from datetime import datetime
from typing import Any

from executions.choices import FINAL, Status
from executions.models import Execution
from insight.explain.answer import Check
from insight.explain.checks import first_to_wait_for
from insight.explain.evidence import Situation
from shared.instants import format_instant
from tasks.definition import WORKFLOW_POOL
from tasks.models import Task

#: Check -> the word of ``waiting_for``; the gate's is chosen by the task's policy.
_WHAT = {
    "task_active": "pause",
    "tenant_active": "tenant",
    "due": "due_time",
    "prepared": "scheduler",
    "budget": "budget",
    "overlap": "overlap",
    "concurrency_key": "concurrency_key",
    "bulk_job": "backfill_limit",
    "retry": "retry",
    "pool": "pool",
    "redis": "redis",
    "tenant_limit": "tenant_limit",
    "destination": "destination",
    "workers": "worker",
    "lease": "start",
}
WAITS_FOR = (*_WHAT.values(), "max_concurrent")


def waiting_for(execution: Execution, task: Task, now: datetime) -> dict[str, Any] | None:
    """Return what it waits for (``WAITS_FOR``), until when as far as known, and a sentence.

    None for an execution that runs or has ended.
    """
    if execution.status in FINAL or execution.status == Status.RUNNING:
        return None
    check = first_to_wait_for(Situation(task, execution.scheduled_for, now, execution))
    if check is None:
        unhanded = "scheduler" if execution.pool == WORKFLOW_POOL else "worker"
        what = place_word(task) if execution.gated else unhanded
        return {"what": what, "until": None, "detail": "No check stops it any more."}
    until = format_instant(check.until) if check.until else None
    return {"what": _what(check, task), "until": until, "detail": check.evidence}


def _what(check: Check, task: Task) -> str:
    return place_word(task) if check.name == "overlap" else _WHAT.get(check.name, "worker")


def place_word(task: Task) -> str:
    """Return the word of ``WAITS_FOR`` for a row at the gate, by the policy of its task."""
    allowed = task.schedule.get("overlap_policy", "allow") == "allow"
    return "max_concurrent" if allowed else "overlap"
