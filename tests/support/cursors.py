"""Tasks and their cursors as a test wants them, whatever the product would make of it."""

from __future__ import annotations

from typing import Any
from uuid import UUID

from tasks.models import Task, TaskCursor

_COLUMNS = {"next_run_at", "occurrence_count", "replayed_until"}


def change_task(task_id: UUID, **columns: Any) -> None:
    """Write columns of a task and of its cursor, which keeps step with its status.

    Those of the cursor may be expressions of it.
    """
    own = {name: columns.pop(name) for name in _COLUMNS & set(columns)}
    if columns:
        Task.objects.filter(pk=task_id).update(**columns)
    task = Task.objects.get(pk=task_id)
    expressions = [name for name in own if hasattr(own[name], "resolve_expression")]
    computed = {name: own.pop(name) for name in expressions}
    if computed:
        TaskCursor.objects.filter(task_id=task_id).update(**computed)
        task.refresh_from_db()
    for name, value in own.items():
        setattr(task, name, value)
    task.save_cursor()
