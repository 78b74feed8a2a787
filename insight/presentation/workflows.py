"""The answers that show workflows: the definition with its steps, and the state of the task."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from insight.presentation.tasks import next_execution, paused_by, standing_pauses_of, upcoming
from tasks.definition import Definition
from tasks.models import Task, TaskRevision
from tasks.presentation import present_missing, present_task
from tasks.revisions import Readable, definition_of, read_readable
from tasks.validation.workflow import workflow_fields

#: What a task shows besides its definition.
PLACE = (
    "status",
    "version",
    "next_execution",
    "next_execution_local",
    "next_execution_due_at",
    "schedule_text",
    "last_execution",
    "created_at",
    "updated_at",
    "paused_until",
    "pause_note",
    "paused_by",
)


def present_workflow(task: Task, definition: Definition | None = None) -> dict[str, Any]:
    """Return a workflow; ``definition`` where the caller has it."""
    known = None if definition is None else {task.id: Readable(definition, is_whole=True)}
    return _present([task], known)[0]


def present_workflows(tasks: Sequence[Task]) -> list[dict[str, Any]]:
    """Return workflows as lists show them, in a number of queries that is always the same."""
    return _present(tasks, None)


def present_listed_workflows(tasks: Sequence[Task]) -> list[dict[str, Any]]:
    """Return workflows without their steps, of which ``step_count`` tells how many there are.

    A page of workflows of a thousand steps each has tens of megabytes of them.
    """
    return [
        {
            **{name: as_task[name] for name in ("id", "name", "labels", "owner", *PLACE)},
            "step_count": len(definition.target["steps"]),
            **present_missing(is_whole),
        }
        for as_task, definition, is_whole in _as_tasks(tasks, read_readable(tasks))
    ]


def present_workflow_revision(revision: TaskRevision, current: Definition) -> dict[str, Any]:
    """Return a version of a workflow with its definition, masked as the current one, too."""
    return {
        "version": revision.version,
        "changed_by": revision.changed_by,
        "created_at": revision.created_at,
        "definition": workflow_fields(definition_of(revision), current=current),
    }


def _present(tasks: Sequence[Task], known: dict[Any, Readable] | None) -> list[dict[str, Any]]:
    definitions = read_readable(tasks) if known is None else known
    return [
        {
            "id": as_task["id"],
            **workflow_fields(definition),
            **{name: as_task[name] for name in PLACE},
            **present_missing(is_whole),
        }
        for as_task, definition, is_whole in _as_tasks(tasks, definitions)
    ]


def _as_tasks(
    tasks: Sequence[Task], definitions: Mapping[Any, Readable]
) -> Iterator[tuple[dict[str, Any], Definition, bool]]:
    """Yield each workflow as a task, its definition, and whether that is whole."""
    soonest, pauses = upcoming(tasks), standing_pauses_of(tasks)
    for task in tasks:
        definition, is_whole = definitions[task.id]
        extra = {**next_execution(task, soonest), **paused_by(task, pauses)}
        yield present_task(task, definition, extra=extra), definition, is_whole
