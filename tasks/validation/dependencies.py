"""Validation of a task's prerequisites: the tasks that must have succeeded before it may start."""

from __future__ import annotations

import re
from collections.abc import Collection, Sequence

from tasks.choices import ON_DEPENDENCY_FAILURE, TaskType
from tasks.field_reader import Errors, FieldReader
from tasks.limits import DEPENDENCIES, Limits

_UUID = re.compile(r"[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}", re.IGNORECASE)


def read_dependencies(reader: FieldReader, task_type: str) -> list[str]:
    """Return the ids of the prerequisites in normal form, each once; note what is wrong."""
    given = reader.sequence("depends_on", [])
    if len(given) > DEPENDENCIES:
        reader.error("depends_on", "too_many", f"Give at most {DEPENDENCIES} ids.")
        return []
    ids: list[str] = []
    for place, value in enumerate(given):
        pointer = _pointer(place)
        if not isinstance(value, str) or not is_task_id(value):
            reader.errors.add(pointer, "invalid", "Must be the id of a task.")
        elif value.lower() in ids:
            reader.errors.add(pointer, "not_unique", "Name each task once.")
        else:
            ids.append(value.lower())
    if ids and task_type != TaskType.ONE_TIME and not reader.errors.below("#/depends_on"):
        message = "Only a one-time task can wait for others; give run_at or delay_seconds."
        reader.error("depends_on", "not_applicable", message)
    return ids


def is_task_id(text: str) -> bool:
    """Return whether a text is written as the id of a task."""
    return _UUID.fullmatch(text) is not None


def read_policy(reader: FieldReader, task_type: str) -> str:
    """Return what becomes of the task when a prerequisite has ended without success."""
    usual = ON_DEPENDENCY_FAILURE[0]
    chosen = reader.choice("on_dependency_failure", ON_DEPENDENCY_FAILURE, usual)
    if chosen != usual and task_type != TaskType.ONE_TIME:
        message = "Only a one-time task can wait for others; leave it out."
        reader.error("on_dependency_failure", "not_applicable", message)
    return chosen


def check_dependencies(
    ids: Sequence[str], known: Collection[str], errors: Errors, limits: Limits
) -> None:
    """Note each id that is not a one-time task of the tenant.

    ``known`` are the ids that the task has already: such a task may have been deleted since.
    """
    new = [one for one in ids if one not in known]
    if not new or errors.below("#/depends_on"):
        return
    types = limits.tasks(new)
    for place, one in enumerate(ids):
        if one not in new:
            continue
        if one not in types:
            errors.add(_pointer(place), "task_unknown", "There is no such task.")
        elif types[one] != TaskType.ONE_TIME:
            message = "A recurring task never ends; name one-time tasks."
            errors.add(_pointer(place), "not_applicable", message)


def _pointer(place: int) -> str:
    return f"#/depends_on/{place}"
