"""Tasks that wait for other tasks, and what becomes of those."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from typing import Any

from executions.changes import changing
from executions.dependencies import stage as dependencies
from executions.ownership.partitions import Partitions
from tasks.calendars import limits_of
from tasks.models import Task, TaskDependency
from tasks.validation.bodies import parse_patch
from tenants.models import Tenant
from tests.factories import ACTOR, executions_of, finish, make_task, once, prepare, release


def make_waiting(
    tenant: Tenant, prerequisites: Sequence[Task], at: datetime | None = None, **parts: Any
) -> Task:
    """Return a one-time task that waits for others, due now unless told."""
    ids = [str(task.id) for task in prerequisites]
    return make_task(tenant, once(at, name="Waiting", depends_on=ids, **parts))


def edit(task: Task, body: dict[str, Any]) -> Task:
    """Edit a task as its tenant does, whose tasks it may name."""

    def merged(current: Any, now: datetime) -> Any:
        return parse_patch(current, body, now=now, limits=limits_of(task.tenant_id))

    return changing.edit_task(task.tenant_id, task.id, merged, actor=ACTOR)


def end(task: Task, status: str = "SUCCEEDED") -> None:
    """Run the task's only execution to its end."""
    prepare()
    [row] = [row for row in release() if row.task_id == task.id]
    reason = "attempts_exhausted" if status == "FAILED" else ""
    finish(row, status, reason=reason)


def look() -> None:
    """Judge all that is marked, as the scheduler does."""
    partitions = Partitions()
    partitions.run_once()
    while dependencies.run_once(partitions).done:
        pass
    partitions.release_all()


def starts(task: Task) -> list[str]:
    """Return the states of the task's executions once everything marked is judged."""
    look()
    prepare()
    return [row.status for row in executions_of(task)]


def open_rows(task: Task) -> int:
    """Return how many prerequisites the task still waits for."""
    return TaskDependency.objects.filter(task_id=task.id).count()
