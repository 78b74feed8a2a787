"""The answers that show standing pauses, for every door."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from executions.changes.pauses import Reach, task_counts
from insight.presentation.execution import instant_or_none
from shared.instants import format_instant
from tasks.models import Pause


def present_pauses(pauses: Sequence[Pause]) -> list[dict[str, Any]]:
    """Return pauses as lists show them; one query counts the tasks that they hold."""
    counts = task_counts(pauses)
    return [present_pause(pause, counts[pause.id]) for pause in pauses]


def present_pause(pause: Pause, task_count: int) -> dict[str, Any]:
    """Return a pause; ``task_count`` is how many tasks it holds, or held when it just ended."""
    return {
        "id": str(pause.id),
        "scope": str(pause.scope),
        "value": pause.value,
        "note": pause.note,
        "on_resume": str(pause.on_resume),
        "until": instant_or_none(pause.until),
        "task_count": task_count,
        "created_by": pause.created_by,
        "created_at": format_instant(pause.created_at),
        "ended_by": pause.ended_by or None,
        "ended_at": instant_or_none(pause.ended_at),
    }


def present_reach(scope: str, reach: Reach) -> dict[str, Any]:
    """Return the tasks that a pause would hold: the answer of a dry run."""
    return {
        "scope": scope,
        "value": reach.value,
        "task_count": reach.task_count,
        "sample": [
            {"id": str(task.id), "name": task.name, "status": str(task.status)}
            for task in reach.sample
        ],
    }
