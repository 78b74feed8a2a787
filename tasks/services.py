"""Every write of the rows of an existing task: edit, pause, resume, cancel, delete.

This module does not know work that is already prepared or released: ``executions.changes.changing``
wraps the verbs that must withdraw it, and every door calls those.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any
from uuid import UUID

import orjson
from django.db import transaction

from events import audit
from shared.actor import Actor
from shared.exceptions import Conflict
from shared.notify import wake_schedulers_on_commit
from shared.sql import run
from tasks import standing_pauses
from tasks.calendars import spec_reader
from tasks.choices import SUSPENSION, TaskStatus, TaskType
from tasks.definition import (
    Definition,
    destination_of,
    is_limited,
    pool_of,
    runtime_seconds,
)
from tasks.models import Pause as StandingPause
from tasks.models import Task
from tasks.revisions import write_revision, write_revisions
from tasks.schedules.base import Spec
from tenants.suspension import TenantSuspended

_JUST_BEFORE = timedelta(microseconds=1)
PAUSABLE = (TaskStatus.SCHEDULED, TaskStatus.RUNNING, TaskStatus.PAUSED)


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


@dataclass(frozen=True, slots=True)
class Standing:
    """The state of the ledger for a task whose definition changes.

    ``taken_back`` instants left it or will be met again, and no longer count towards
    ``max_occurrences``. ``unfinished``: some work stays that has to end. ``met`` is the state of
    a one-time task from an execution that has already begun its instant.
    """

    taken_back: int = 0
    unfinished: bool = False
    met: str = ""


def spec_of(task: Task) -> Spec:
    """Return the specification of the task's schedule; read its calendars."""
    read = spec_reader([(task.tenant_id, task.schedule)])
    return read(task.type, task.schedule, task.tenant_id, str(task.id), task.created_at)


def first_instant(task: Task, now: datetime, spec: Spec | None = None) -> datetime | None:
    """Return the first instant of the task's schedule from now on; ``spec`` where it is known.

    A one-time task keeps an instant that has just passed: it runs at once.
    """
    if task.type == TaskType.ONE_TIME:
        found = (spec or spec_of(task)).next_after(datetime.min.replace(tzinfo=now.tzinfo))
    else:
        limit = task.schedule.get("max_occurrences")
        if limit is not None and task.occurrence_count >= limit:
            return None
        found = (spec or spec_of(task)).next_after(now - _JUST_BEFORE)
    return found.at if found else None


@transaction.atomic
def revise_task(
    task: Task, definition: Definition, standing: Standing, *, actor: Actor, now: datetime
) -> bool:
    """Give a locked task its next version; return whether its instants changed."""
    before = facts_of(task)
    changed = (task.type, task.schedule) != (definition.type, definition.schedule)
    task.version += 1
    task.updated_at = now
    _take_definition(task, definition)
    if changed:
        task.occurrence_count = max(0, task.occurrence_count - standing.taken_back)
        _restate(task, standing, now)
        task.trace_context = actor.callers_trace or task.trace_context
    task.save()
    write_revision(task, definition, actor.name)
    audit.record(
        task.tenant_id, actor, "task.updated", "task", task.id, before=before, after=facts_of(task)
    )
    wake_schedulers_on_commit(task.next_run_at, now)
    return changed


def revise_tasks(
    revised: Sequence[tuple[Task, Definition]], *, actor: Actor, now: datetime
) -> list[audit.Change]:
    """Give locked tasks their next versions with the same instants; return the audit changes."""
    before = [facts_of(task) for task, _ in revised]
    for task, definition in revised:
        task.version += 1
        task.updated_at = now
        _take_definition(task, definition)
    tasks = [task for task, _ in revised]
    run(
        "revising/revise_tasks",
        {
            "now": now,
            "tasks": [task.id for task in tasks],
            "versions": [task.version for task in tasks],
            "names": [task.name for task in tasks],
            "labels": [orjson.dumps(task.labels).decode() for task in tasks],
            "owners": [task.owner for task in tasks],
            "priorities": [task.priority for task in tasks],
            "pools": [task.pool for task in tasks],
            "destinations": [task.destination for task in tasks],
            "pause_after": [task.pause_after_failures for task in tasks],
            "max_attempts": [task.max_attempts for task in tasks],
            "timeouts": [task.timeout_seconds for task in tasks],
        },
    )
    write_revisions(revised, actor.name)
    soonest = min((task.next_run_at for task in tasks if task.next_run_at), default=None)
    wake_schedulers_on_commit(soonest, now)
    return [
        audit.Change("task.updated", "task", task.id, before=facts, after=facts_of(task))
        for task, facts in zip(tasks, before, strict=True)
    ]


@transaction.atomic
def restate_task(task: Task, standing: Standing, *, now: datetime) -> None:
    """Recompute a locked task from now on after its calendars changed; its version stays."""
    task.occurrence_count = max(0, task.occurrence_count - standing.taken_back)
    _restate(task, standing, now)
    task.save(update_fields=["status"])
    wake_schedulers_on_commit(task.next_run_at, now)


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
    if task.status in (TaskStatus.COMPLETED, TaskStatus.FAILED):
        raise Conflict(f"A task that is {task.status} cannot be cancelled.")


@transaction.atomic
def pause_task(
    task: Task, pause: Pause, *, actor: Actor, now: datetime, cursor: datetime | None, removed: int
) -> None:
    """Pause a locked task; ``cursor`` is the first instant that left the ledger, if any did.

    A task that a standing pause holds gets a pause of its own, which outlasts the other. Raise
    Conflict for a task that has ended.
    """
    require_pausable(task)
    take_pause(task, pause, now)
    task.occurrence_count = max(0, task.occurrence_count - removed)
    if cursor is not None:
        task.next_run_at = min(cursor, task.next_run_at or cursor)
    _save_change(task, now)
    audit.record_many(task.tenant_id, actor, [paused(task.id, pause)])


def paused(task_id: UUID, pause: Pause) -> audit.Change:
    """Return the audit change of a task that paused."""
    after = {
        "until": pause.until,
        "note": pause.note,
        "on_resume": pause.on_resume,
        **({"pause_id": pause.held_by} if pause.held_by else {}),
    }
    return audit.Change("task.paused", "task", task_id, after=after)


def take_pause(task: Task, pause: Pause, now: datetime) -> None:
    """Set a task's fields to paused; write nothing."""
    task.paused_at = task.paused_at if task.status == TaskStatus.PAUSED else now
    task.status = TaskStatus.PAUSED
    task.paused_until = pause.until
    task.pause_note = pause.note
    task.on_resume = pause.on_resume
    task.pause_id = pause.held_by


@transaction.atomic
def resume_task(task: Task, *, actor: Actor, now: datetime) -> bool:
    """Resume a locked task; its ``on_resume`` decides on the instants of the pause.

    Failures count anew from here on. A task that is not paused stays as it is. A task that an open
    standing pause covers is paused under it: return whether the task resumed. The caller must share
    the tenant's pauses. Raise Conflict for a task that has ended, or that a standing pause holds.
    """
    require_resumable(task)
    if task.status != TaskStatus.PAUSED:
        return False
    task.failure_streak = 0
    standing = standing_pauses.holder_of(task)
    if standing is not None:
        pause_task(task, Pause.under(standing), actor=actor, now=now, cursor=None, removed=0)
        return False
    task.status = TaskStatus.SCHEDULED
    task.resumed_at = now
    task.paused_at = None
    task.paused_until = None
    task.pause_id = None
    _save_change(task, now)
    audit.record(task.tenant_id, actor, "task.resumed", "task", task.id)
    wake_schedulers_on_commit(task.next_run_at, now)
    return True


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
    audit.record_many(task.tenant_id, actor, [deleted(task)])


def deleted(task: Task) -> audit.Change:
    """Return the audit change of a task that was deleted."""
    return audit.Change("task.deleted", "task", task.id, before=facts_of(task))


def _end(task: Task, now: datetime) -> None:
    task.status = TaskStatus.CANCELLED
    task.next_run_at = None
    task.paused_at = None
    task.paused_until = None
    task.pause_id = None
    _save_change(task, now)


def _save_change(task: Task, now: datetime) -> None:
    task.updated_at = now
    task.save()


def _take_definition(task: Task, definition: Definition) -> None:
    last = task.last_run
    for column, value in columns_of(definition).items():
        setattr(task, column, value)
    # A task of another type keeps it elsewhere.
    task.last_run = last


def columns_of(definition: Definition) -> dict[str, Any]:
    """Return the values of a task's own columns from its definition."""
    return {
        "name": definition.name,
        "type": definition.type,
        "schedule": definition.schedule,
        "labels": definition.labels,
        "owner": definition.owner or "",
        "priority": definition.priority,
        "pool": pool_of(definition.target),
        "destination": destination_of(definition.target),
        "pause_after_failures": definition.retry_policy["pause_after_failures"],
        "max_attempts": definition.retry_policy["max_attempts"],
        "timeout_seconds": runtime_seconds(definition.target),
        "limited": is_limited(definition.schedule),
    }


def _restate(task: Task, standing: Standing, now: datetime) -> None:
    """Set the next instant and the status; an ended task may return, a cancelled one stays so."""
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
