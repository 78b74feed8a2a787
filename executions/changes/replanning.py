"""Compute the effect of an edit on the ledger: the prepared instants that stay or leave, counts.

``changes.changing`` calls this before it writes; this module changes nothing. The scheduler meets
the instants from now on again, and derived ids keep it from writing one twice.
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime, timedelta

from executions.changes.withdrawal import Open
from executions.choices import Status, Trigger
from executions.models import Execution
from shared.ids import execution_id, first_id_at
from tasks.choices import TaskStatus, TaskType
from tasks.definition import Definition
from tasks.editing import Standing, spec_of
from tasks.models import Task
from tasks.schedules.base import Spec
from tasks.schedules.jitter import jitter_of

_JUST_BEFORE = timedelta(microseconds=1)
#: More instants than any horizon holds.
_MANY = 100_000
#: The state of a one-time task by the state of the execution of its instant.
_STATE_LEFT = {
    Status.SUCCEEDED: TaskStatus.COMPLETED,
    Status.SKIPPED: TaskStatus.COMPLETED,
    Status.FAILED: TaskStatus.FAILED,
    Status.CANCELLED: TaskStatus.CANCELLED,
}


def replan(
    task: Task,
    definition: Definition,
    found: Sequence[Open],
    now: datetime,
    *,
    waits_anew: bool = False,
) -> tuple[list[Open], Standing]:
    """Return the planned rows that leave the ledger, and the status of the task without them.

    ``found`` is all unfinished work of the locked task, with released work taken back.
    ``waits_anew``: the definition changes what the task waits for.
    """
    if (task.type, task.schedule) == (definition.type, definition.schedule) and not waits_anew:
        return [], Standing()
    anew = Task(
        id=task.id,
        tenant_id=task.tenant_id,
        type=definition.type,
        schedule=definition.schedule,
        created_at=task.created_at,
    )
    spec = spec_of(anew)
    planned = [row for row in found if row.planned]
    late = [
        row for row in planned if row.scheduled_for < now and (waits_anew or not has(spec, row))
    ]
    taken_back = sum(_counted(task, row) for row in late) + count_from(task, now)
    taken_back -= _passed_uncounted(task, now) - sum(not _counted(task, row) for row in late)
    ahead = _staying_ahead(task, anew, spec, planned, now, taken_back)
    if waits_anew:
        ahead = set()  # The cursor has them again, on hold.
    removed = late + [
        row for row in planned if row.scheduled_for >= now and row.scheduled_for not in ahead
    ]
    gone = {row.id for row in removed}
    unfinished = any(row.id not in gone and not row.redirected for row in found)
    met = _state_met(task, anew, spec)
    return removed, Standing(taken_back, unfinished, met, waits_anew)


def follow_calendars(
    task: Task, spec: Spec, found: Sequence[Open], now: datetime
) -> tuple[list[Open], Standing]:
    """Return the planned rows ahead that leave the ledger after a change of calendar days.

    The schedule is unchanged; ``spec`` has it with the new days. Only for a task whose cursor has
    not fallen behind.
    """
    planned = [row for row in found if row.planned and row.scheduled_for >= now]
    taken_back = count_from(task, now)
    ahead = _staying_ahead(task, task, spec, planned, now, taken_back)
    removed = [row for row in planned if row.scheduled_for not in ahead]
    gone = {row.id for row in removed}
    unfinished = any(row.id not in gone and not row.redirected for row in found)
    return removed, Standing(taken_back, unfinished, _state_met(task, task, spec))


def count_from(task: Task, moment: datetime) -> int:
    """Return how many instants from a moment on the task has counted: rows before its cursor.

    Rows beyond the cursor stayed through an earlier edit and are counted when it meets them.
    """
    rows = Execution.objects.filter(
        task_id=task.id,
        id__gte=first_id_at(moment),
        scheduled_for__gte=moment,
        trigger=Trigger.SCHEDULE,
    )
    if task.next_run_at is not None:
        rows = rows.filter(scheduled_for__lt=task.next_run_at)
    return rows.count()


def _passed_uncounted(task: Task, now: datetime) -> int:
    """Return how many rows have passed that the task never counted, and will not meet again.

    They stayed through an earlier edit, which set the cursor before them; this one sets it to now.
    """
    if task.next_run_at is None or task.next_run_at >= now:
        return 0
    return Execution.objects.filter(
        task_id=task.id,
        id__gte=first_id_at(task.next_run_at),
        scheduled_for__gte=task.next_run_at,
        scheduled_for__lt=now,
        trigger=Trigger.SCHEDULE,
    ).count()


def _counted(task: Task, row: Open) -> bool:
    return task.next_run_at is None or row.scheduled_for < task.next_run_at


def has(spec: Spec, row: Open) -> bool:
    """Return whether the schedule has a row's instant and no calendar excludes it."""
    occurrence = spec.next_from(row.scheduled_for)
    if occurrence is None or occurrence.excluded:
        return False
    return occurrence.at == row.scheduled_for


def _staying_ahead(
    task: Task, anew: Task, spec: Spec, planned: Sequence[Open], now: datetime, taken_back: int
) -> set[datetime]:
    """Return the coming instants of the new schedule, within its bound, up to the last planned."""
    if _jitter(task) != _jitter(anew):
        return set()  # The same instants, due at other times: all are written anew.
    last = max((row.scheduled_for for row in planned), default=now)
    bound = anew.schedule.get("max_occurrences")
    counted = max(0, task.occurrence_count - taken_back)
    allowed = _MANY if bound is None else max(0, bound - counted)
    coming = spec.between(now - _JUST_BEFORE, last, allowed)
    return {occurrence.at for occurrence in coming if not occurrence.excluded}


def _jitter(task: Task) -> float:
    return jitter_of(task.schedule)


def _state_met(task: Task, anew: Task, spec: Spec) -> str:
    """Return the state that a one-time task gets from its instant; '' if that has not begun."""
    if anew.type != TaskType.ONE_TIME:
        return ""
    occurrence = spec.next_after(datetime.min.replace(tzinfo=UTC))
    if occurrence is None:
        return ""
    row = Execution.objects.filter(pk=execution_id(task.id, occurrence.at)).first()
    if row is None or (row.status == Status.PENDING and row.attempt == 0):
        return ""
    if task.type == TaskType.ONE_TIME and task.schedule["run_at"] == anew.schedule["run_at"]:
        return task.status
    return _STATE_LEFT.get(Status(row.status), TaskStatus.RUNNING)
