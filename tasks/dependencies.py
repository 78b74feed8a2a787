"""What one-time tasks wait for: other one-time tasks, which must have succeeded before.

A task that waits has its cursor on hold and a row for each prerequisite. Each move of a
prerequisite (``transitions``) marks its rows; a scheduler judges the marked tasks in a transaction
of its own (``executions.dependencies``). So neither side waits for the other, and none misses it:
new rows are marked from the start, and the judgement locks the prerequisites.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from uuid import UUID

from shared.exceptions import FieldError, InvalidInput
from shared.sql import Asked, rows, run
from shared.sql_arrays import of_integers, of_texts, of_uuids
from tasks.definition import Definition
from tasks.models import Task, TaskDependency
from tasks.versions import FIRST_REDIRECTED

#: Each task, with the definition that says what it waits for.
_Waiting = Sequence[tuple[Task, Definition]]


@dataclass(frozen=True, slots=True)
class Judged:
    """What the prerequisites of a locked task have come to.

    ``ready``: all have succeeded. ``failed``: one has ended without success. ``gone``: one never
    can succeed. ``at`` is the task's instant, ``place`` that of its cursor.
    """

    task_id: UUID
    ready: bool
    failed: bool
    gone: bool
    paused: bool
    on_failure: str
    at: datetime
    place: str

    def ends_at(self, now: datetime) -> bool:
        """Return whether the task ends without a run: its time has come with a failed one."""
        hopeless = self.gone if self.on_failure == "wait" else self.failed
        return hopeless and not self.paused and self.at <= now


def waiting(pairs: _Waiting) -> list[Asked]:
    """Return the statement that lets new tasks wait for their prerequisites; none where none do."""
    rows_ = [
        (task, prerequisite, definition.on_dependency_failure)
        for task, definition in pairs
        if definition.depends_on and task.next_run_at is not None
        for prerequisite in definition.depends_on
    ]
    if not rows_:
        return []
    parameters = {
        "tasks": of_uuids([task.id for task, _, _ in rows_]),
        "prerequisites": of_uuids([UUID(prerequisite) for _, prerequisite, _ in rows_]),
        "tenants": of_uuids([task.tenant_id for task, _, _ in rows_]),
        "partitions": of_integers([task.partition for task, _, _ in rows_]),
        "on_failure": of_texts([policy for _, _, policy in rows_]),
    }
    return [("dependencies/wait", parameters)]


def wait_no_longer(task_ids: Collection[UUID]) -> bool:
    """Forget what locked tasks wait for, and let the tasks that wait for them be judged.

    Return whether any of them waited. Their cursors are written anew after that, or removed.
    """
    return bool(rows("dependencies/wait_no_longer", {"tasks": list(task_ids)}))


def wait(task: Task, definition: Definition) -> None:
    """Let a locked task, whose cursor is written, wait for what its definition names.

    Raise InvalidInput with ``dependency_cycle`` when one of these waits for the task.
    """
    asked = waiting([(task, definition)])
    if not asked:
        return
    # Two edits at once could each miss the other's half of a cycle.
    run("dependencies/lock_graph", {"tenant": str(task.tenant_id)})
    _refuse_cycle(task, [UUID(one) for one in definition.depends_on])
    for statement, parameters in asked:
        run(statement, parameters)


def tell(task_ids: Collection[UUID]) -> None:
    """Let the tasks that wait for locked ones be judged, after a move that may have ended these."""
    run("dependencies/tell", {"ended": list(task_ids)})


def look(task_ids: Collection[UUID]) -> None:
    """Let locked tasks be judged."""
    run("dependencies/look", {"tasks": list(task_ids)})


def to_judge(partitions: Sequence[int], limit: int) -> tuple[list[UUID], bool]:
    """Return tasks to judge, found by up to ``limit`` marks, and whether any task waits at all."""
    parameters = {"partitions": of_integers(partitions), "limit": limit}
    found = rows("dependencies/to_judge", parameters)
    return [row[0] for row in found if row[0] is not None], found[0][1]


def judge(task_ids: Sequence[UUID]) -> list[Judged]:
    """Lock these tasks and their prerequisites, and judge them; leave out what others change."""
    locked = task_ids
    for step in ("dependencies/lock_waiting", "dependencies/lock_prerequisites"):
        if locked:
            locked = [row[0] for row in rows(step, {"tasks": of_uuids(locked)})]
    if not locked:
        return []
    parameters = {"tasks": of_uuids(locked), "redirected": FIRST_REDIRECTED}
    return [Judged(*row) for row in rows("dependencies/judge", parameters)]


def free(judged: Sequence[Judged]) -> dict[UUID, str]:
    """Take judged tasks off hold; return the new places of their cursors."""
    parameters = {
        "tasks": of_uuids([one.task_id for one in judged]),
        "places": of_texts([one.place for one in judged]),
    }
    return dict(rows("dependencies/free", parameters))


def open_prerequisites(task: Task) -> list[Task]:
    """Return the tasks that a task still waits for, in the order of their ids."""
    waits = TaskDependency.objects.filter(task_id=task.id, tenant_id=task.tenant_id)
    return named_tasks(task.tenant_id, list(waits.values_list("prerequisite_id", flat=True)))


def named_tasks(tenant_id: UUID, ids: Sequence[UUID]) -> list[Task]:
    """Return the tenant's tasks of these ids, deleted ones too, in the order of their ids."""
    return list(Task.objects.filter(tenant_id=tenant_id, pk__in=ids).order_by("id"))


def _refuse_cycle(task: Task, prerequisites: Sequence[UUID]) -> None:
    behind: dict[UUID, list[UUID]] = {}
    for one, prerequisite in rows(
        "dependencies/behind", {"prerequisites": of_uuids(prerequisites)}
    ):
        behind.setdefault(one, []).append(prerequisite)
    for place, first in enumerate(prerequisites):
        way = _way(first, task.id, behind)
        if way:
            ids = " → ".join(str(one) for one in (task.id, *way))
            message = f"It would wait for itself: {ids}."
            raise InvalidInput([FieldError(f"#/depends_on/{place}", "dependency_cycle", message)])


def _way(first: UUID, last: UUID, behind: Mapping[UUID, Sequence[UUID]]) -> list[UUID]:
    """Return a shortest way over prerequisites, both ends included; [] where there is none."""
    before: dict[UUID, UUID | None] = {first: None}
    for one in (ahead := [first]):
        if one == last:
            break
        for prerequisite in behind.get(one, ()):
            if prerequisite not in before:
                before[prerequisite] = one
                ahead.append(prerequisite)
    way: list[UUID] = []
    step = last if last in before else None
    while step is not None:
        way.append(step)
        step = before[step]
    return way[::-1]
