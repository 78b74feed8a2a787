"""The models of tasks."""

from __future__ import annotations

from tasks.models.task import Task
from tasks.models.task_revision import TaskRevision

__all__ = ["Task", "TaskRevision"]
