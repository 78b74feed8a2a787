"""The rows of lists as files have them: flat, and without payloads, answers and logs.

API, console and commands write the same fields; texts that may quote a payload are hidden as in
every answer.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import islice
from typing import Any

from executions.models import DeadLetter, Execution
from insight.presentation.execution import instant_or_none, present_executions
from insight.presentation.tasks import present_tasks
from shared.payload_sight import hide
from tasks.models import Task


@dataclass(frozen=True, slots=True)
class ListFile:
    """The columns of a list's files, and what makes rows of them from a page of the list."""

    columns: tuple[str, ...]
    present: Callable[[Sequence[Any]], list[dict[str, Any]]]


_EXECUTION = (
    *("id", "task_id", "task_name", "status", "reason", "trigger", "scheduled_for", "due_at"),
    *("queued_at", "started_at", "finished_at", "start_delay_ms", "duration_ms", "attempt"),
    *("max_attempts", "next_attempt_at", "worker", "pool", "host", "response_status"),
    *("error_code", "error_message", "trace_id", "parent_id"),
)
_TASK = (
    *("id", "name", "type", "status", "schedule_text", "next_execution", "target", "host"),
    *("priority", "owner", "labels", "version", "created_at", "updated_at"),
)
_LETTER = (
    *("id", "execution_id", "task_id", "task_name", "error_code", "error_message"),
    *("error_signature", "attempts", "resolved", "resolution", "note", "resolved_by"),
    *("resolved_at", "retry_execution_id", "created_at"),
)


def _executions(found: Sequence[Execution]) -> list[dict[str, Any]]:
    rows = []
    for execution, shown in zip(found, present_executions(found), strict=True):
        error = shown["error"] or {"code": None, "message": None}
        rows.append(
            {
                **shown,
                "host": execution.destination or None,
                "error_code": error["code"],
                "error_message": error["message"],
            }
        )
    return rows


def _tasks(found: Sequence[Task]) -> list[dict[str, Any]]:
    return [
        {**shown, "target": shown["target"]["kind"], "host": task.destination or None}
        for task, shown in zip(found, present_tasks(found), strict=True)
    ]


def _letters(found: Sequence[DeadLetter]) -> list[dict[str, Any]]:
    wanted = {letter.task_id for letter in found}
    names = dict(Task.objects.filter(id__in=wanted).values_list("id", "name"))
    return [
        {
            "id": str(letter.id),
            "execution_id": str(letter.execution_id),
            "task_id": str(letter.task_id),
            "task_name": names.get(letter.task_id, ""),
            "error_code": letter.error_code,
            "error_message": hide(letter.error_message),
            "error_signature": letter.error_signature,
            "attempts": letter.attempt_count,
            "resolved": letter.resolved,
            "resolution": letter.resolution or None,
            "note": letter.note,
            "resolved_by": letter.resolved_by or None,
            "resolved_at": instant_or_none(letter.resolved_at),
            "retry_execution_id": str(letter.retry_execution_id)
            if letter.retry_execution_id
            else None,
            "created_at": instant_or_none(letter.created_at),
        }
        for letter in found
    ]


#: List -> its files.
LIST_FILES: Mapping[str, ListFile] = {
    "executions": ListFile(_EXECUTION, _executions),
    "tasks": ListFile(_TASK, _tasks),
    "dead_letters": ListFile(_LETTER, _letters),
}


def rows_of_file(of: str, rows: Iterator[Any], at_once: int = 500) -> Iterator[dict[str, Any]]:
    """Yield the rows of a file, made from some of a list's rows at a time."""
    while page := list(islice(rows, at_once)):
        yield from LIST_FILES[of].present(page)
