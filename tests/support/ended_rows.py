"""Ended executions of a task at chosen moments, as the recorder leaves them."""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import Any

from executions.ledger import days as ledger
from executions.models import Execution
from shared.ids import execution_id
from tasks.models import Task


def ended(
    task: Task,
    at: datetime,
    status: str = "SUCCEEDED",
    *,
    delay_ms: float = 5,
    took_ms: float = 40,
    **parts: Any,
) -> Execution:
    """Write an execution of the instant ``at`` that has ended so."""
    ledger.make_days([at])
    started = at + timedelta(milliseconds=delay_ms)
    ran = status in ("SUCCEEDED", "FAILED")
    written = {
        "id": execution_id(task.pk, at),
        "tenant_id": task.tenant_id,
        "task_id": task.pk,
        "partition": task.partition,
        "revision": 1,
        "status": status,
        "scheduled_for": at,
        "due_at": at,
        "started_at": started if ran else None,
        "finished_at": started + timedelta(milliseconds=took_ms),
        "start_delay_ms": delay_ms if ran else None,
        "attempt": int(ran),
        "error_code": "http_status" if status == "FAILED" else "",
        "response_status": {"SUCCEEDED": 200, "FAILED": 503}.get(status),
    }
    return Execution.objects.create(**{**written, **parts})
