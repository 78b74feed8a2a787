"""What alert rules ask of tasks, read once for a batch."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from uuid import UUID

from tasks.definition import WORKFLOW_POOL
from tasks.models import Task


@dataclass(frozen=True, slots=True)
class TaskFacts:
    """A task as rules see it; ``streak``: how many executions failed since the last success."""

    id: UUID
    name: str = ""
    labels: Mapping[str, str] = field(default_factory=dict)
    pool: str = ""
    streak: int = 0

    @property
    def is_workflow(self) -> bool:
        """Whether its executions are runs of a workflow."""
        return self.pool == WORKFLOW_POOL


def facts_of(task_ids: Collection[UUID]) -> dict[UUID, TaskFacts]:
    """Return the facts of the tasks that have not been removed, by id."""
    if not task_ids:
        return {}
    found = Task.objects.filter(id__in=task_ids)
    columns = ("id", "name", "labels", "pool", "failure_streak")
    return {row[0]: TaskFacts(*row) for row in found.values_list(*columns)}
