"""Follow a new release of the zone database: recompute the prepared and coming instants of tasks.

The system worker checks at each start of a scheduler and daily, an operator by ``schedule zones
--check``. Each task is recomputed in a transaction of its own, which locks as an edit does; the
zone's new rules are recorded last. A check that dies is repeated and does nothing twice.
"""

from __future__ import annotations

import logging
from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime
from uuid import UUID

from django.db import transaction

from events import audit
from executions.changes import replanning, withdrawal
from executions.choices import Trigger
from executions.loop.clocks import database_now
from executions.models import Execution
from shared.actor import SYSTEM, Actor
from shared.exceptions import PunctualError
from shared.ids import first_id_at
from tasks import editing, zone_changes
from tasks.models import Task
from tasks.schedules.base import Spec
from tasks.zone_changes import LIVE, Look, Moved, ZoneChange

log = logging.getLogger("executions.services.zone_recompute")


@dataclass(frozen=True, slots=True)
class Checked:
    """The result of a check. ``behind``: this process runs on an older release than others."""

    installed: str
    recorded: str
    behind: bool = False
    zones_changed: tuple[str, ...] = ()
    tasks_moved: int = 0
    tasks_recomputed: int = 0
    #: Tasks whose definition cannot be read; the scheduler pauses them when they are due.
    tasks_unreadable: int = 0


def check_zone_rules(
    *,
    actor: Actor = SYSTEM,
    asked: bool = False,
    advance: Callable[[int, int], None] = lambda _done, _total: None,
) -> Checked:
    """Follow the installed zone database, if its rules differ from the ones followed last.

    ``asked`` compares even where the release is the same, or an older one. ``advance`` gets the
    number of tasks done, and of all tasks. Raise Unavailable when released work cannot be taken
    back; finished tasks stay done, and the next check continues from there.
    """
    now = database_now()
    look = zone_changes.look(now, asked=asked)
    if look.unchanged:
        zone_changes.follow(look.unchanged, now)
    tasks = zone_changes.concerned(change.name for change in look.changes)
    total, done = sum(map(len, tasks.values())), 0
    counts = {"moved": 0, "recomputed": 0, "unreadable": 0}
    for change in look.changes:
        for task_id in tasks.get(change.name, ()):
            for word in _recompute(task_id, change, actor):
                counts[word] += 1
            done += 1
            advance(done, total)
        zone_changes.follow([change.name], now)
    found = _checked(look, counts)
    if look.changes:
        log.info(
            "zone_rules.followed",
            extra={
                "release": look.installed,
                "moved": counts["moved"],
                "recomputed": counts["recomputed"],
                "unreadable": counts["unreadable"],
            },
        )
    return found


def _checked(look: Look, counts: dict[str, int]) -> Checked:
    return Checked(
        installed=look.installed,
        recorded=look.recorded,
        behind=look.behind,
        zones_changed=tuple(change.name for change in look.changes),
        tasks_moved=counts["moved"],
        tasks_recomputed=counts["recomputed"],
        tasks_unreadable=counts["unreadable"],
    )


@transaction.atomic
def _recompute(task_id: UUID, change: ZoneChange, actor: Actor) -> list[str]:
    """Recompute one task; return its results as names of the counts."""
    task = Task.objects.filter(pk=task_id).first()
    if task is None or not _concerned(task, change):
        return []
    try:
        moved = _compare(task, change, database_now())
    except (PunctualError, ValueError, LookupError, TypeError):
        # One unreadable schedule must not keep the others from following.
        log.exception(
            "schedule.unreadable",
            extra={"task_id": str(task_id), "tenant_id": str(task.tenant_id)},
        )
        return ["unreadable"]
    if moved.complete and not moved.count and _comes_next(task):
        return []
    seen = task.version
    task, spec, now = _take_back(task)
    if not _concerned(task, change):
        return []
    if task.version != seen:
        # An edit came in between; it has prepared its own instants by the new rules.
        moved = _compare(task, change, now)
    before = task.next_run_at
    _replan(task, spec, change, now)
    reported = bool(moved.count) and zone_changes.record_move(task, change, moved)
    if reported or task.next_run_at != before:
        _audit(task, change, before, actor)
    return ["moved", "recomputed"] if moved.count else ["recomputed"]


def _concerned(task: Task, change: ZoneChange) -> bool:
    ended = task.deleted_at is not None or task.status not in LIVE
    return not ended and task.schedule.get("timezone") == change.name


def _compare(task: Task, change: ZoneChange, now: datetime) -> Moved:
    bound = task.schedule.get("max_occurrences")
    remaining = None if bound is None else max(0, bound - task.occurrence_count)
    return zone_changes.compare(editing.spec_of(task), change, now, remaining)


def _comes_next(task: Task) -> bool:
    """Return whether the schedule still has the instant that the task waits for."""
    if task.next_run_at is None:
        return True
    following = editing.spec_of(task).next_from(task.next_run_at)
    return following is not None and following.at == task.next_run_at


def _take_back(task: Task) -> tuple[Task, Spec, datetime]:
    """Take back and lock the task's unfinished work, then its row: the order of an edit."""
    now = database_now()
    withdrawal.take_back(task.id, now)
    locked = Task.objects.locked().get(pk=task.id)
    return locked, editing.spec_of(locked), now


def _replan(task: Task, spec: Spec, change: ZoneChange, now: datetime) -> None:
    """Remove prepared instants that the new rules do not have, and move the cursor.

    A cursor that has fallen behind has nothing prepared after it, and meets the new rules itself.
    """
    if task.next_run_at is not None and task.next_run_at < now:
        return
    found = withdrawal.take_back(task.id, now)
    # Executions found to have started have changed the task's state.
    task.refresh_from_db()
    removed, standing = replanning.follow_calendars(task, spec, found, now)
    withdrawal.remove(removed)
    withdrawal.remove_excluded(task.id, now)
    editing.restate_task(task, standing, now=now)
    passed = _passed(task, spec, now - change.ahead_at(now), now)
    if passed is not None:
        # The misfire policy decides about it, as about any instant that has no row.
        task.next_run_at = passed
        task.save_cursor()


def _passed(task: Task, spec: Spec, since: datetime, now: datetime) -> datetime | None:
    """Return the first instant after a moment that was ahead by the old rules and has now passed.

    None where a later instant has a row, or the task was changed later.
    """
    if task.next_run_at is None:
        return None
    since = max(since, task.updated_at)
    rows = Execution.objects.filter(
        task_id=task.id,
        id__gte=first_id_at(since),
        trigger=Trigger.SCHEDULE,
        scheduled_for__lt=now,
    )
    for scheduled_for, span_last in rows.values_list("scheduled_for", "span_last"):
        since = max(since, span_last or scheduled_for)
    following = spec.next_after(since)
    return following.at if following and following.at < now else None


def _audit(task: Task, change: ZoneChange, before: datetime | None, actor: Actor) -> None:
    audit.record(
        task.tenant_id,
        actor,
        "task.recomputed",
        "task",
        task.id,
        before={"next_run_at": before, "timezone": change.name, "release": change.from_release},
        after={"next_run_at": task.next_run_at, "release": change.to_release},
    )
