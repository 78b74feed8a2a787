"""Models of tasks."""

from __future__ import annotations

from tasks.models.budget import TaskBudget
from tasks.models.calendar import Calendar
from tasks.models.named_secret import NamedSecret, SecretUse
from tasks.models.pause import Pause
from tasks.models.task import Task
from tasks.models.task_cursor import TaskCursor
from tasks.models.task_dependency import TaskDependency
from tasks.models.task_revision import TaskRevision
from tasks.models.zone_move import ZoneMove
from tasks.models.zone_rules import ZoneRules

__all__ = [
    "Calendar",
    "NamedSecret",
    "Pause",
    "SecretUse",
    "Task",
    "TaskBudget",
    "TaskCursor",
    "TaskDependency",
    "TaskRevision",
    "ZoneMove",
    "ZoneRules",
]
