"""Edit, pause, resume, cancel and delete a task, and take back its prepared work.

Every door calls these. Each runs in one transaction: it refuses first, then locks prepared and
released work (in the recorder's order), then the task's row. When Redis is away, so that released
work cannot be taken back, it raises Unavailable and changes nothing.
"""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime
from uuid import UUID

from django.db import transaction

from events import audit
from executions import transitions
from executions.changes import bulk_pause, replanning, withdrawal
from executions.changes.withdrawal import Open
from executions.choices import Status
from executions.loop.clocks import database_now
from executions.loop.control import abort_on_commit
from shared.actor import Actor
from shared.exceptions import VersionMismatch
from tasks import editing, standing_pauses
from tasks import transitions as task_transitions
from tasks.choices import TaskStatus
from tasks.definition import Definition, waits_otherwise
from tasks.models import Task
from tasks.revisions import read_definition, require_room
from tasks.step_definitions import with_numbers_of
from tasks.transitions import Pause
from tasks.validation.bodies import StatusChange

#: From the current definition to the next one, and whether to pause or resume besides.
Edit = Callable[[Definition, datetime], tuple[Definition, StatusChange | None]]


@transaction.atomic
def edit_task(
    tenant_id: UUID,
    task_id: UUID,
    edit: Edit,
    *,
    actor: Actor,
    expected_version: int | None = None,
) -> Task:
    """Change a task's definition; no occurrence of the old one starts once this has committed.

    Prepared instants that the new schedule also has run under the new version, others leave the
    ledger. A task that comes under an open standing pause pauses, one that leaves its pause
    resumes. Raise NotFound, InvalidInput, VersionMismatch (``expected_version``), Conflict,
    QuotaExceeded, Unavailable.
    """
    standing_pauses.share_active(tenant_id)
    seen = _read(tenant_id, task_id, expected_version)
    current = read_definition(seen)
    definition, change = _edited(edit, current, database_now())
    if definition == current and change is None:
        return seen
    _refuse_early(seen, change, unchanged=definition == current)
    if definition != current:
        require_room([(seen, definition)])
    task, found, now = _lock(tenant_id, task_id)
    if task.version != seen.version:
        # Another edit came in between: apply this one to the current definition.
        _require_version(task, expected_version)
        current = read_definition(task)
        definition, change = _edited(edit, current, now)
    if definition != current:
        _revise(task, (current, definition), found, actor, now)
    if change is StatusChange.PAUSE and not _paused_by_itself(task):
        _pause(task, Pause(), actor, now)
    if definition != current:
        _follow_pauses(task, actor, now)
    if change is StatusChange.RESUME:
        resume_locked(task, actor=actor, now=now)
    return task


@transaction.atomic
def pause_task(tenant_id: UUID, task_id: UUID, pause: Pause, *, actor: Actor) -> Task:
    """Pause a task: none of its executions starts until it is resumed; running ones continue."""
    task_transitions.require_pausable(_read(tenant_id, task_id))
    task, _, now = _lock(tenant_id, task_id)
    _pause(task, pause, actor, now)
    return task


@transaction.atomic
def resume_task(tenant_id: UUID, task_id: UUID, *, actor: Actor) -> Task:
    """Resume a task; its ``on_resume`` decides about the instants that fell into the pause.

    A task that an open standing pause covers goes under that pause instead. Raise NotFound, or
    Conflict: ``paused_by_pause`` for a task that a standing pause holds.
    """
    standing_pauses.share_active(tenant_id)
    _read(tenant_id, task_id)
    # Released work (run by hand during the pause) stays released; this only keeps the lock order.
    withdrawal.lock(task_id)
    task: Task = Task.objects.get_for_tenant(tenant_id, task_id, lock=True)
    resume_locked(task, actor=actor, now=database_now())
    return task


@transaction.atomic
def cancel_task(tenant_id: UUID, task_id: UUID, *, actor: Actor) -> Task:
    """Stop future fires and cancel unstarted executions; running ones continue."""
    task_transitions.require_cancellable(_read(tenant_id, task_id))
    task, found, now = _lock(tenant_id, task_id)
    if task.status != TaskStatus.CANCELLED:
        task_transitions.require_cancellable(task)
        audit.record_many(tenant_id, actor, task_transitions.cancel([task_id], now))
    _cancel_unstarted(found, "task_cancelled")
    task.refresh_from_db()
    return task


@transaction.atomic
def delete_task(
    tenant_id: UUID,
    task_id: UUID,
    *,
    actor: Actor,
    cancel_running: bool = False,
    expected_version: int | None = None,
) -> None:
    """Delete a task: no further fires, history stays; optionally abort its running executions."""
    _read(tenant_id, task_id, expected_version)
    task, found, now = _lock(tenant_id, task_id)
    _require_version(task, expected_version)
    audit.record_many(tenant_id, actor, task_transitions.delete([task], now))
    _cancel_unstarted(found, "task_deleted")
    if cancel_running:
        running = [row for row in found if row.status == Status.RUNNING]
        transitions.request_cancel([row.id for row in running])
        abort_on_commit([row.token for row in running if row.token is not None])


def resume_locked(task: Task, *, actor: Actor, now: datetime) -> None:
    """Resume a locked task; its failures count anew. One that is not paused stays as it is.

    A task that an open standing pause covers goes under that pause instead. The caller shares the
    tenant's pauses. Raise Conflict for a task that has ended, or that a standing pause holds.
    """
    task_transitions.require_resumable(task)
    if task.status != TaskStatus.PAUSED:
        return
    task_transitions.forget_failures([task.id])
    standing = standing_pauses.holder_of(task)
    if standing is None:
        changes = bulk_pause.resume([task.id], now)
    else:
        changes = task_transitions.pause([task.id], Pause.under(standing), now)
    audit.record_many(task.tenant_id, actor, changes)
    task.refresh_from_db()


def _edited(
    edit: Edit, current: Definition, now: datetime
) -> tuple[Definition, StatusChange | None]:
    definition, change = edit(current, now)
    return with_numbers_of(current, definition), change


def _read(tenant_id: UUID, task_id: UUID, expected_version: int | None = None) -> Task:
    """Return the task unlocked, so that a refusal comes before any work is taken back.

    A voided token stays void when the transaction rolls back: its execution would return only
    when the lease ends, late. The caller checks again under the lock.
    """
    task: Task = Task.objects.get_for_tenant(tenant_id, task_id)
    _require_version(task, expected_version)
    return task


def _require_version(task: Task, expected: int | None) -> None:
    if expected is not None and expected != task.version:
        raise VersionMismatch(
            f"The task is at version {task.version}, not {expected}; read it again."
        )


def _refuse_early(task: Task, change: StatusChange | None, *, unchanged: bool) -> None:
    # A changed schedule may bring an ended task back, never a cancelled one.
    if unchanged or task.status == TaskStatus.CANCELLED:
        if change is StatusChange.PAUSE:
            task_transitions.require_pausable(task)
        elif change is StatusChange.RESUME:
            task_transitions.require_resumable(task)


def _lock(tenant_id: UUID, task_id: UUID) -> tuple[Task, list[Open], datetime]:
    """Take back a task's unfinished work, lock its row, then take back work added in between.

    The recorder locks executions before tasks; the same order here keeps them from a deadlock.
    """
    now = database_now()
    withdrawal.take_back(task_id, now)
    task: Task = Task.objects.get_for_tenant(tenant_id, task_id, lock=True)
    found = withdrawal.take_back(task_id, now)
    # Executions found to have started have changed the task's state.
    task.refresh_from_db()
    return task, found, now


def _revise(
    task: Task,
    change: tuple[Definition, Definition],
    found: list[Open],
    actor: Actor,
    now: datetime,
) -> None:
    current, definition = change
    anew = waits_otherwise(current, definition)
    removed, standing = replanning.replan(task, definition, found, now, waits_anew=anew)
    if editing.revise_task(task, definition, standing, actor=actor, now=now, current=current):
        withdrawal.remove_excluded(task.id, now)
    withdrawal.remove(removed)
    gone = {row.id for row in removed}
    kept = [row for row in found if row.prepared and not row.redirected and row.id not in gone]
    withdrawal.adopt(task, definition, kept)


def _pause(task: Task, pause: Pause, actor: Actor, now: datetime) -> None:
    """Pause a locked task whose released work was taken back; a pause of its own replaces another.

    Raise Conflict for a task that has ended.
    """
    task_transitions.require_pausable(task)
    bulk_pause.stop([task.id], now)
    audit.record_many(task.tenant_id, actor, task_transitions.pause([task.id], pause, now))
    task.refresh_from_db()


def _paused_by_itself(task: Task) -> bool:
    return task.status == TaskStatus.PAUSED and task.pause_id is None


def _follow_pauses(task: Task, actor: Actor, now: datetime) -> None:
    """Put an edited task under the open pause that covers it now; resume it where none does."""
    if _paused_by_itself(task) or task.status not in task_transitions.PAUSABLE:
        return
    holder = standing_pauses.holder_of(task)
    if holder is None:
        if task.pause_id is not None:
            resume_locked(task, actor=actor, now=now)
    elif holder.id != task.pause_id:
        _pause(task, Pause.under(holder), actor, now)


def _cancel_unstarted(found: list[Open], reason: str) -> None:
    waiting = (Status.PENDING, Status.RETRYING)
    transitions.cancel([(row.id, row.token) for row in found if row.status in waiting], reason)
