"""How the views of tasks answer with one task: its version is the ``ETag``."""

from __future__ import annotations

from typing import Any
from uuid import UUID

from rest_framework.response import Response

from api.protocol.views import PunctualView
from insight.presentation.tasks import (
    next_execution,
    paused_by,
    present_latest,
    present_tasks,
    standing_pauses_of,
    upcoming,
)
from tasks.definition import Definition
from tasks.models import Task
from tasks.presentation import present_missing, present_task
from tasks.revisions import read_readable

__all__ = ["OneTaskView", "present_latest", "present_tasks", "task_answer"]


class OneTaskView(PunctualView):
    """A view of one task; the view of one workflow of the same verb says otherwise."""

    def require(self, task_id: UUID) -> None:
        """Raise NotFound where the verb is not for this task."""

    def answer(self, task: Task) -> Response:
        """Return the answer that shows the task."""
        return task_answer(task)


def task_answer(
    task: Task, definition: Definition | None = None, *, status: int = 200, **extra: Any
) -> Response:
    """Return the answer that shows a task; 201 carries its location."""
    if definition is None:
        # What cannot be opened may be paused, and a pause that is done is no failure.
        definition, is_whole = read_readable([task])[task.id]
        extra = {**present_missing(is_whole), **extra}
    # A new task has nothing in the ledger yet: its cursor tells the next instant but for jitter.
    if status != 201 or task.schedule.get("jitter_seconds"):
        extra = {**next_execution(task, upcoming([task])), **extra}
    extra = {**paused_by(task, standing_pauses_of([task])), **extra}
    shown = present_task(task, definition, extra=extra)
    headers = {"ETag": f'"{task.version}"'}
    if status == 201:
        headers["Location"] = f"/v1/tasks/{task.id}"
    return Response(shown, status=status, headers=headers)
