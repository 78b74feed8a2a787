"""The targets of tasks, against which the lateness of their runs is measured."""

from __future__ import annotations

from collections.abc import Collection
from uuid import UUID

from shared.sql import rows
from shared.sql_arrays import of_uuids


def targets_of(task_ids: Collection[UUID]) -> dict[UUID, tuple[float | None, float | None]]:
    """Return the targets of those of the tasks that have one: of the start, and of the duration."""
    found = rows("timing_targets/targets", {"tasks": of_uuids(task_ids)})
    return {task: (within, longest) for task, within, longest in found}


def start_targets(task_ids: Collection[UUID]) -> dict[UUID, float]:
    """Return how many seconds after its due time each of these tasks may start, by its target.

    Only tasks that have such a target now are in it.
    """
    return dict(rows("timing_targets/start_targets", {"tasks": of_uuids(task_ids)}))
