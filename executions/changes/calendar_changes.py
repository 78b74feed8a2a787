"""Change a calendar, and the work that the tasks which name it have prepared by the old one.

Every door calls these. No prepared or released instant that the calendar now excludes starts: for
the first hundred tasks from the answer on, for the rest once the system worker has processed them.
They lock rows in the order of every other change: executions of all these tasks first, then the
tasks, then the audit's chain.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Sequence
from datetime import datetime
from uuid import UUID

import redis
from django.db import transaction

from events import audit
from executions import transitions
from executions.broker import FOLLOW_CALENDAR, publish_system_job
from executions.changes import replanning, withdrawal
from executions.loop.clocks import database_now
from shared.actor import Actor
from tasks import calendars, editing
from tasks.calendar_content import Content
from tasks.calendar_import import Imported, Mode, report_of, with_days
from tasks.choices import TaskStatus, TaskType
from tasks.ical.found import Found
from tasks.ical.reading import read_ical
from tasks.models import Calendar, Task
from tasks.schedules.base import CALENDAR_EXCLUDED, Spec

log = logging.getLogger("executions.services.calendar_changes")

#: Tasks that follow a change in one transaction.
AT_ONCE = 100
_LIVE = (TaskStatus.SCHEDULED, TaskStatus.RUNNING, TaskStatus.PAUSED)

#: From the content of a calendar to its next content.
Edit = Callable[[Content], Content]


@transaction.atomic
def update_calendar(
    tenant_id: UUID,
    calendar_id: UUID,
    edit: Edit,
    *,
    actor: Actor,
    expected_version: int | None = None,
) -> Calendar:
    """Change a calendar; tasks that name it run by its new days once this has committed.

    Raise NotFound, InvalidInput (from ``edit``), VersionMismatch, and Unavailable, changing
    nothing, when released work cannot be taken back.
    """
    calendar = calendars.lock_calendar(tenant_id, calendar_id, expected_version)
    content = edit(calendars.content_of(calendar))
    updated = calendars.update_calendar(calendar, content)
    if updated is not None:
        if updated.days_changed:
            _follow(calendar, UUID(int=0))
        audit.record_many(tenant_id, actor, [updated.change])
    return calendar


def read_days(tenant_id: UUID, calendar_id: UUID, raw: bytes, charset: str = "") -> Found:
    """Return the content of an iCalendar file, for :func:`import_days`.

    Call it outside of any transaction: a file can take long to read. Raise NotFound for a calendar
    that the tenant does not have, and the errors of :func:`read_ical`.
    """
    Calendar.objects.get_for_tenant(tenant_id, calendar_id)
    return read_ical(raw, now=database_now(), charset=charset)


@transaction.atomic
def import_days(
    tenant_id: UUID,
    calendar_id: UUID,
    found: Found,
    mode: Mode,
    *,
    actor: Actor,
    expected_version: int | None = None,
) -> tuple[Calendar, Imported]:
    """Take the days of a file into a calendar, and keep the report with it."""
    now = database_now()
    imported: list[Imported] = []

    def edit(content: Content) -> Content:
        edited, taken = with_days(content, found, mode, now=now)
        imported.append(taken)
        return edited

    calendar = update_calendar(
        tenant_id, calendar_id, edit, actor=actor, expected_version=expected_version
    )
    calendars.note_import(calendar, report_of(imported[-1], mode, now=now))
    return calendar, imported[-1]


def preview_import(
    tenant_id: UUID, calendar_id: UUID, found: Found, mode: Mode
) -> tuple[Calendar, Imported]:
    """Return a calendar as an import would make it, and the report; change nothing."""
    calendar: Calendar = Calendar.objects.get_for_tenant(tenant_id, calendar_id)
    edited, imported = with_days(calendars.content_of(calendar), found, mode, now=database_now())
    calendar.dates, calendar.windows = list(edited.dates), list(edited.windows)
    return calendar, imported


@transaction.atomic
def delete_calendar(
    tenant_id: UUID, calendar_id: UUID, *, actor: Actor, expected_version: int | None = None
) -> None:
    """Delete a calendar that no task names; raise Conflict ``calendar_in_use`` otherwise."""
    calendar = calendars.lock_calendar(tenant_id, calendar_id, expected_version)
    calendars.delete_calendar(calendar, actor=actor)


@transaction.atomic
def follow_some(calendar_id: UUID, after: UUID) -> None:
    """Make the next tasks, in the order of their ids, follow a calendar as it is now."""
    calendar = Calendar.objects.filter(pk=calendar_id).first()
    if calendar is not None:
        _follow(calendar, after)


def _follow(calendar: Calendar, after: UUID) -> None:
    naming = calendars.tasks_naming(calendar.tenant_id, calendar.name)
    coming = naming.filter(status__in=_LIVE, id__gt=after).order_by("id")
    ids = list(coming.values_list("id", flat=True)[: AT_ONCE + 1])
    _recompute(ids[:AT_ONCE])
    if len(ids) > AT_ONCE:
        last = ids[AT_ONCE - 1]
        transaction.on_commit(lambda: _hand_on(calendar.id, last), robust=True)


def _hand_on(calendar_id: UUID, after: UUID) -> None:
    try:
        publish_system_job(FOLLOW_CALENDAR, str(calendar_id), str(after))
    except redis.RedisError as error:
        # Work prepared by the old days stays; the scheduler plans by the new days anyway.
        log.warning(
            "calendar.not_followed", extra={"calendar_id": str(calendar_id), "reason": str(error)}
        )


def _recompute(ids: Sequence[UUID]) -> None:
    if not ids:
        return
    now = database_now()
    for task_id in ids:
        withdrawal.take_back(task_id, now)
    locked = Task.objects.filter(id__in=ids, deleted_at__isnull=True, status__in=_LIVE)
    tasks = list(locked.locked())
    read = calendars.spec_reader((task.tenant_id, task.schedule) for task in tasks)
    for task in tasks:
        spec = read(task.type, task.schedule, task.tenant_id, str(task.id), task.created_at)
        _recompute_task(task, spec, now)


def _recompute_task(task: Task, spec: Spec, now: datetime) -> None:
    found = withdrawal.take_back(task.id, now)
    # Executions found to have started have changed the task's state.
    task.refresh_from_db()
    past = [row for row in found if row.planned and row.scheduled_for < now]
    late = [row for row in past if not replanning.has(spec, row)]
    # A one-time task has no other instant once its only one is late and excluded.
    over = task.type == TaskType.ONE_TIME and late and spec.next_from(now) is None
    if task.status != TaskStatus.PAUSED and _keeps_up(task, now) and not over:
        removed, standing = replanning.follow_calendars(task, spec, found, now)
        withdrawal.remove(removed)
        withdrawal.remove_excluded(task.id, now)
        editing.restate_task(task, standing, now=now)
    transitions.cancel([(row.id, row.token) for row in late], CALENDAR_EXCLUDED)


def _keeps_up(task: Task, now: datetime) -> bool:
    """Return whether the task's cursor is ahead; otherwise nothing after it is prepared."""
    return task.next_run_at is None or task.next_run_at >= now
