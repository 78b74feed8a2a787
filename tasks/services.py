"""Every write of a task's own rows: create, edit, pause, resume, cancel, delete.

Work that is already prepared or released is not known here: ``executions.services.changing``
wraps the verbs that must take it back, and every door calls those.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from uuid import UUID

from django.db import transaction

from events import audit
from shared.actor import Actor
from shared.conf import conf
from shared.exceptions import Conflict
from shared.ids import new_id, partition_of
from shared.notify import wake_schedulers_on_commit
from tasks.choices import TaskStatus, TaskType
from tasks.definition import Definition
from tasks.models import Task
from tasks.revisions import write_revision, write_revisions
from tasks.schedules.base import Spec
from tasks.schedules.spec import parse

_JUST_BEFORE = timedelta(microseconds=1)
PAUSABLE = (TaskStatus.SCHEDULED, TaskStatus.RUNNING, TaskStatus.PAUSED)


@dataclass(frozen=True, slots=True)
class Pause:
    """How a task pauses: until when (None: until resumed), why, and what resuming does."""

    until: datetime | None = None
    note: str = ""
    on_resume: str = "skip"


@dataclass(frozen=True, slots=True)
class Standing:
    """What the ledger keeps of a task whose definition changes.

    ``taken_back`` instants left it or will be met again, and no longer count towards
    ``max_occurrences``. ``unfinished`` says whether work stays that has to end. ``met`` is the
    state that a one-time task owes to an execution which has begun its instant already.
    """

    taken_back: int = 0
    unfinished: bool = False
    met: str = ""


def spec_of(task: Task) -> Spec:
    """Return the task's schedule, ready to be asked for instants."""
    return parse(task.type, task.schedule, seed=str(task.id), anchor=task.created_at)


def create_task(tenant_id: UUID, definition: Definition, *, actor: Actor, now: datetime) -> Task:
    """Create a task and its first revision; ``now`` is the database's time.

    Runs inside the caller's transaction, if there is one: it commits or rolls back with it (A17).
    """
    return create_tasks(tenant_id, [definition], actor=actor, now=now)[0]


@transaction.atomic
def create_tasks(
    tenant_id: UUID, definitions: Sequence[Definition], *, actor: Actor, now: datetime
) -> list[Task]:
    """Create a task for each definition, all or none, at the price of a few statements."""
    tasks = [_new_task(tenant_id, definition, now) for definition in definitions]
    Task.objects.bulk_create(tasks)
    write_revisions(tasks, definitions, actor.name)
    changes = [audit.Change("task.created", "task", task.id, after=_facts(task)) for task in tasks]
    audit.record_many(tenant_id, actor, changes)
    instants = [task.next_run_at for task in tasks if task.next_run_at is not None]
    wake_schedulers_on_commit(min(instants, default=None), now)
    return tasks


def _new_task(tenant_id: UUID, definition: Definition, now: datetime) -> Task:
    task_id = new_id()
    task = Task(
        id=task_id,
        tenant_id=tenant_id,
        partition=partition_of(task_id, conf().partition_count),
        created_at=now,
        updated_at=now,
    )
    _take_definition(task, definition)
    task.next_run_at = first_instant(task, now)
    if task.next_run_at is None:
        task.status = TaskStatus.COMPLETED
    return task


def first_instant(task: Task, now: datetime) -> datetime | None:
    """Return the first instant of the task's schedule from now on.

    A one-time task's instant stays what it is when it has just passed: it runs at once.
    """
    if task.type == TaskType.ONE_TIME:
        found = spec_of(task).next_after(datetime.min.replace(tzinfo=now.tzinfo))
    else:
        limit = task.schedule.get("max_occurrences")
        if limit is not None and task.occurrence_count >= limit:
            return None
        found = spec_of(task).next_after(now - _JUST_BEFORE)
    return found.at if found else None


@transaction.atomic
def revise_task(
    task: Task, definition: Definition, standing: Standing, *, actor: Actor, now: datetime
) -> bool:
    """Give a locked task its next version; return whether its instants changed."""
    before = _facts(task)
    changed = (task.type, task.schedule) != (definition.type, definition.schedule)
    task.version += 1
    task.updated_at = now
    _take_definition(task, definition)
    if changed:
        task.occurrence_count = max(0, task.occurrence_count - standing.taken_back)
        _restate(task, standing, now)
    task.save()
    write_revision(task, definition, actor.name)
    audit.record(
        task.tenant_id, actor, "task.updated", "task", task.id, before=before, after=_facts(task)
    )
    wake_schedulers_on_commit(task.next_run_at, now)
    return changed


def require_pausable(task: Task) -> None:
    """Raise Conflict for a task that has ended."""
    if task.status not in PAUSABLE:
        raise Conflict(f"A task that is {task.status} cannot be paused.")


def require_resumable(task: Task) -> None:
    """Raise Conflict for a task that has ended."""
    if task.status not in PAUSABLE:
        raise Conflict(f"A task that is {task.status} cannot be resumed.")


def require_cancellable(task: Task) -> None:
    """Raise Conflict for a task that has ended by itself."""
    if task.status in (TaskStatus.COMPLETED, TaskStatus.FAILED):
        raise Conflict(f"A task that is {task.status} cannot be cancelled.")


@transaction.atomic
def pause_task(
    task: Task, pause: Pause, *, actor: Actor, now: datetime, cursor: datetime | None, removed: int
) -> None:
    """Pause a locked task; ``cursor`` is the first instant that left the ledger, if any did.

    Raise Conflict for a task that has ended.
    """
    require_pausable(task)
    task.paused_at = task.paused_at if task.status == TaskStatus.PAUSED else now
    task.status = TaskStatus.PAUSED
    task.paused_until = pause.until
    task.pause_note = pause.note
    task.on_resume = pause.on_resume
    task.occurrence_count = max(0, task.occurrence_count - removed)
    if cursor is not None:
        task.next_run_at = min(cursor, task.next_run_at or cursor)
    _save_change(task, now)
    after = {"until": pause.until, "note": pause.note, "on_resume": pause.on_resume}
    audit.record(task.tenant_id, actor, "task.paused", "task", task.id, after=after)


@transaction.atomic
def resume_task(task: Task, *, actor: Actor, now: datetime) -> None:
    """Resume a locked task; what fell into the pause is decided by its ``on_resume``.

    A task that is not paused stays as it is; raise Conflict for one that has ended.
    """
    require_resumable(task)
    if task.status != TaskStatus.PAUSED:
        return
    task.status = TaskStatus.SCHEDULED
    task.resumed_at = now
    task.paused_at = None
    task.paused_until = None
    _save_change(task, now)
    audit.record(task.tenant_id, actor, "task.resumed", "task", task.id)
    wake_schedulers_on_commit(task.next_run_at, now)


@transaction.atomic
def cancel_task(task: Task, *, actor: Actor, now: datetime) -> None:
    """End a locked task's future; raise Conflict when it has ended otherwise."""
    if task.status == TaskStatus.CANCELLED:
        return
    require_cancellable(task)
    _end(task, now)
    audit.record(task.tenant_id, actor, "task.cancelled", "task", task.id)


@transaction.atomic
def delete_task(task: Task, *, actor: Actor, now: datetime) -> None:
    """Take a locked task out of every list; its executions stay readable."""
    if task.status not in (TaskStatus.COMPLETED, TaskStatus.FAILED):
        _end(task, now)
    task.deleted_at = now
    task.save(update_fields=["deleted_at"])
    audit.record(task.tenant_id, actor, "task.deleted", "task", task.id, before=_facts(task))


def _end(task: Task, now: datetime) -> None:
    task.status = TaskStatus.CANCELLED
    task.next_run_at = None
    task.paused_at = None
    task.paused_until = None
    _save_change(task, now)


def _save_change(task: Task, now: datetime) -> None:
    task.updated_at = now
    task.save()


def _take_definition(task: Task, definition: Definition) -> None:
    task.name = definition.name
    task.type = definition.type
    task.schedule = definition.schedule
    task.labels = definition.labels
    task.priority = definition.priority


def _restate(task: Task, standing: Standing, now: datetime) -> None:
    """Let a new schedule bring an ended task back; a cancelled one stays cancelled."""
    ended = task.status == TaskStatus.CANCELLED or standing.met
    task.next_run_at = None if ended else first_instant(task, now)
    if task.status in (TaskStatus.PAUSED, TaskStatus.CANCELLED):
        return
    if standing.met:
        task.status = standing.met
    elif task.next_run_at or standing.unfinished:
        task.status = TaskStatus.SCHEDULED
    else:
        task.status = TaskStatus.COMPLETED


def _facts(task: Task) -> dict[str, object]:
    return {
        "name": task.name,
        "type": task.type,
        "version": task.version,
        "schedule": task.schedule,
        "priority": task.priority,
        "labels": task.labels,
    }
