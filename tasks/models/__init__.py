"""Models of tasks."""

from __future__ import annotations

from tasks.models.calendar import Calendar
from tasks.models.pause import Pause
from tasks.models.task import Task
from tasks.models.task_cursor import TaskCursor
from tasks.models.task_dependency import TaskDependency
from tasks.models.task_revision import TaskRevision
from tasks.models.zone_move import ZoneMove
from tasks.models.zone_rules import ZoneRules

__all__ = [
    "Calendar",
    "Pause",
    "Task",
    "TaskCursor",
    "TaskDependency",
    "TaskRevision",
    "ZoneMove",
    "ZoneRules",
]
