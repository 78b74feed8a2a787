"""Which fields of an execution's payload and answers are masked, and masks that come back.

Those of the version that the execution runs under and those of its task's current version: a field
that is named later is masked in older executions, too, and one that is no longer named stays masked
in them. Of the execution of a step it is the step of these versions, beside the task's own fields.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from typing import Any
from uuid import UUID

from shared.exceptions import FieldError, InvalidInput
from shared.field_redaction import masks_in, restored
from shared.sql import json_value, rows
from shared.sql_arrays import of_integers, of_uuids
from tasks.versions import is_of_step, step_in

#: A task and one of its versions.
Version = tuple[UUID, int]


def paths_of(task_id: UUID, version: int) -> list[str]:
    """Return the paths that are masked of an execution of a task's version."""
    return paths_of_versions([(task_id, version)]).get((task_id, version), [])


def paths_of_versions(versions: Collection[Version]) -> dict[Version, list[str]]:
    """Return the paths by version, in one query; a version without any is left out."""
    if not versions:
        return {}
    ordered = sorted(versions)
    wanted = {
        "tasks": of_uuids([task_id for task_id, _ in ordered]),
        "versions": of_integers([version for _, version in ordered]),
    }
    own: dict[Version, list[str]] = {}
    current: dict[UUID, int] = {}
    for task_id, version, newest, paths in rows("redacted_fields/paths", wanted):
        own[task_id, version] = json_value(paths)
        current[task_id] = newest
    both = {one: _joined(own, one, current.get(one[0], 0)) for one in versions}
    return {one: paths for one, paths in both.items() if paths}


def with_restored(payload: Any, task_id: UUID, version: int, before: Callable[[], Any]) -> Any:
    """Return a payload that a person wrote, each mask replaced by what ``before`` has there.

    Raise InvalidInput ``value_masked`` for a mask in a place where that has nothing.
    """
    paths = paths_of(task_id, version)
    if not paths:
        return payload
    found = restored(payload, before(), paths)
    left = masks_in(found, paths)
    if left:
        message = f"At {left[0]} is the mask of an answer; write the value itself."
        raise InvalidInput([FieldError("#/payload", "value_masked", message)], message)
    return found


def _joined(found: Mapping[Version, list[str]], one: Version, newest: int) -> list[str]:
    task_id, version = one
    same = [version, newest]
    if is_of_step(version):
        same.append(step_in(version, newest))
    paths = (path for number in same for path in found.get((task_id, number), ()))
    return list(dict.fromkeys(paths))
