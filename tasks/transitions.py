"""The states of tasks: every move, what a task must be for it, and its statement.

The one place that writes a task's status, its pause and its count of failures; only creation and
edits write them otherwise (``creation``, ``editing``). A caller has locked the tasks, calls
these in its transaction, and stores the audit changes that they return. What becomes of work that
is prepared or released is for ``executions``.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any
from uuid import UUID

from events import audit
from shared.exceptions import Conflict
from shared.sql import Asked, run
from tasks import dependencies, standing_pauses
from tasks.choices import SUSPENSION, TaskStatus, TaskType
from tasks.models import Pause as StandingPause
from tasks.models import Task
from tasks.versions import FIRST_REDIRECTED
from tenants.suspension import TenantSuspended

#: The states of a task that has not ended.
PAUSABLE = (TaskStatus.SCHEDULED, TaskStatus.RUNNING, TaskStatus.PAUSED)
#: The states of a task that has ended by itself.
_ENDED = (TaskStatus.COMPLETED, TaskStatus.FAILED)


@dataclass(frozen=True, slots=True)
class Pause:
    """How a task pauses: until when (None: until resumed), why, and what resuming does.

    ``held_by`` is the standing pause that holds it, None for a pause of its own.
    """

    until: datetime | None = None
    note: str = ""
    on_resume: str = "skip"
    held_by: UUID | None = None

    @classmethod
    def under(cls, standing: StandingPause) -> Pause:
        """Return the pause of a task that a standing pause holds; the standing pause ends it."""
        return cls(note=standing.note, on_resume=standing.on_resume, held_by=standing.id)


def require_pausable(task: Task) -> None:
    """Raise Conflict for a task that has ended."""
    if task.status not in PAUSABLE:
        raise Conflict(f"A task that is {task.status} cannot be paused.")


def require_resumable(
    task: Task,
    holder_of: Callable[[Task], StandingPause | None] = standing_pauses.current_holder,
) -> None:
    """Raise Conflict for an ended task, or ``paused_by_pause`` when a standing pause holds it.

    ``holder_of`` returns the same as :func:`standing_pauses.current_holder`.
    """
    if task.status not in PAUSABLE:
        raise Conflict(f"A task that is {task.status} cannot be resumed.")
    standing = holder_of(task)
    if standing is not None and standing.scope == SUSPENSION:
        raise TenantSuspended
    if standing is not None:
        what = standing_pauses.describe(standing.scope, standing.value)
        raise Conflict(
            f"The standing pause {standing.id} of {what} holds this task; end that pause instead.",
            code="paused_by_pause",
        )


def require_cancellable(task: Task) -> None:
    """Raise Conflict for a task that has ended by itself."""
    if task.status in _ENDED:
        raise Conflict(f"A task that is {task.status} cannot be cancelled.")


def pause(task_ids: Collection[UUID], terms: Pause, now: datetime) -> list[audit.Change]:
    """Pause tasks; one that is paused gets the new terms and keeps the time of its pause."""
    run(
        "transitions/pause",
        {
            "tasks": list(task_ids),
            "now": now,
            "until": terms.until,
            "note": terms.note,
            "on_resume": terms.on_resume,
            "pause": terms.held_by,
        },
    )
    return [_paused(task_id, terms) for task_id in task_ids]


def show_paused(task: Task, terms: Pause, now: datetime) -> None:
    """Set the fields of a task in memory as :func:`pause` writes them."""
    task.paused_at = task.paused_at if task.status == TaskStatus.PAUSED else now
    task.status = TaskStatus.PAUSED
    task.paused_until = terms.until
    task.pause_note = terms.note
    task.on_resume = terms.on_resume
    task.pause_id = terms.held_by


def pause_unreadable(task_ids: Collection[UUID], note: str) -> None:
    """Pause waiting tasks whose stored schedule cannot be read; log an event for each."""
    run("transitions/pause_unreadable", {"tasks": list(task_ids), "note": note})


def hand_over(task_ids: Collection[UUID], standing: StandingPause, now: datetime) -> None:
    """Put paused tasks under another standing pause."""
    terms = {"pause": standing.id, "note": standing.note, "on_resume": standing.on_resume}
    run("transitions/hand_over", {"tasks": list(task_ids), "now": now, **terms})


def resume(task_ids: Collection[UUID], now: datetime) -> list[audit.Change]:
    """Resume paused tasks; their ``on_resume`` decides on the instants of the pause.

    Call :func:`settle_resumed` once their work is free again.
    """
    run("transitions/resume", {"tasks": list(task_ids), "now": now})
    # While they were paused, nothing was decided about what they wait for.
    dependencies.look(task_ids)
    return [audit.Change("task.resumed", "task", task_id) for task_id in task_ids]


def settle_resumed(task_ids: Collection[UUID]) -> None:
    """Give resumed tasks that have nothing ahead the state of their last execution."""
    parameters = {"tasks": list(task_ids), "redirected": FIRST_REDIRECTED}
    run("transitions/settle_resumed", parameters)
    dependencies.tell(task_ids)


def forget_failures(task_ids: Collection[UUID]) -> None:
    """Start the count of failures in a row anew, as a person resumes the tasks."""
    run("transitions/forget_failures", {"tasks": list(task_ids)})


def cancel(task_ids: Collection[UUID], now: datetime) -> list[audit.Change]:
    """End the future of tasks."""
    run("transitions/cancel", {"tasks": list(task_ids), "now": now})
    dependencies.wait_no_longer(task_ids)
    return [audit.Change("task.cancelled", "task", task_id) for task_id in task_ids]


def delete(tasks: Iterable[Task], now: datetime) -> list[audit.Change]:
    """Take tasks out of every list, and end the future of those that have one."""
    going = list(tasks)
    ahead = [task.id for task in going if task.status not in _ENDED]
    if ahead:
        cancel(ahead, now)
    run("transitions/delete", {"tasks": [task.id for task in going], "now": now})
    dependencies.tell([task.id for task in going])
    return [audit.Change("task.deleted", "task", task.id, before=facts_of(task)) for task in going]


def begin(task_ids: Sequence[UUID]) -> None:
    """Set one-time tasks whose execution is under way to RUNNING."""
    run("transitions/begin", {"task_ids": task_ids})


def settle(last_runs: Mapping[str, object]) -> None:
    """Store the last execution of one-time tasks, and end each with that execution's result.

    ``last_runs`` are arrays of one length: ``task_ids``, each once, and ``ids``, ``statuses``,
    ``triggers``, ``succeeded_at`` and ``streaks``, the failures since ``succeeded_at``.
    """
    run("transitions/settle", dict(last_runs))


def counted_failures(last_runs: Mapping[str, object]) -> Asked:
    """Return the statement that counts failures in a row, for a batch that runs several.

    ``last_runs`` are arrays of one length: ``task_ids``, each once, ``succeeded_at`` and
    ``streaks``, the failures since ``succeeded_at``.
    """
    wanted = ("task_ids", "succeeded_at", "streaks")
    return "transitions/count_failures", {name: last_runs[name] for name in wanted}


def restate(task: Task, *, met: str = "", unfinished: bool = False) -> None:
    """Set the status of a task in memory by its next instant; paused and cancelled tasks keep it.

    ``met`` is the state that a one-time task has from an execution of its instant. ``unfinished``:
    some of its work has not ended.
    """
    if task.status in (TaskStatus.PAUSED, TaskStatus.CANCELLED):
        return
    if met:
        task.status = met
    elif task.next_run_at or unfinished or task.type == TaskType.MANUAL:
        task.status = TaskStatus.SCHEDULED
    else:
        task.status = TaskStatus.COMPLETED


def complete(task_ids: Sequence[UUID]) -> None:
    """End the tasks whose schedule has nothing left to run."""
    run("transitions/complete", {"task_ids": task_ids, "redirected": FIRST_REDIRECTED})
    dependencies.tell(task_ids)


def facts_of(task: Task) -> dict[str, object]:
    """Return the facts that the audit log keeps of a task."""
    return {
        "name": task.name,
        "type": task.type,
        "version": task.version,
        "schedule": task.schedule,
        "priority": task.priority,
        "labels": task.labels,
        "owner": task.owner or None,
    }


def _paused(task_id: UUID, terms: Pause) -> audit.Change:
    after: dict[str, Any] = {
        "until": terms.until,
        "note": terms.note,
        "on_resume": terms.on_resume,
        **({"pause_id": terms.held_by} if terms.held_by else {}),
    }
    return audit.Change("task.paused", "task", task_id, after=after)
