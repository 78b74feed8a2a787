"""The next fires of a tenant's tasks."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any
from uuid import UUID

from django.db.models import Q

from executions.loop.clocks import database_now
from shared.exceptions import InvalidInput
from shared.ids import first_id_at
from shared.sql import json_value, rows
from tasks.calendars import spec_reader
from tasks.models import Task
from tasks.schedules.base import MICROSECOND
from tasks.schedules.jitter import due_at, jitter_of
from tasks.schedules.spec import parse

#: Tasks with calendars that the search reads, the soonest by their cursors.
_MOST_WITH_CALENDARS = 200
#: How far ahead the search for an instant goes that no calendar excludes.
_AHEAD = timedelta(days=366)
#: Tasks whose next instants are read, the soonest by their cursors.
_LOOKED_AT = 40
#: Rows of each priority, the first due, that are searched for instants moved by jitter.
_SCANNED = 500


@dataclass(frozen=True, slots=True)
class NextFire:
    """A coming instant ``at``, and when it starts, which jitter moves later.

    ``execution_id`` is set once it is in the ledger.
    """

    task_id: UUID
    task_name: str
    at: datetime
    due_at: datetime
    execution_id: UUID | None = None


def next_fires(tenant_id: UUID, limit: int = 20) -> list[NextFire]:
    """Return the soonest fires: prepared instants, and the next instant of each task beyond.

    A task that fires often shows its prepared instants and one more. Paused tasks do not fire, nor
    do instants that a calendar excludes or that have passed.
    """
    now = database_now()
    bounds = {
        "moment": now,
        "now": first_id_at(now),
        "scan": _SCANNED,
    }
    prepared = rows("statistics/next_prepared", {"tenant": tenant_id, "limit": limit, **bounds})
    found = [NextFire(*row) for row in prepared]
    found += _of_tasks(tenant_id, limit)
    found += _of_tasks_with_calendars(tenant_id, now)
    return sorted(found, key=lambda fire: (fire.due_at, fire.task_id))[:limit]


def _of_tasks(tenant_id: UUID, limit: int) -> Iterator[NextFire]:
    """Yield the next instants that are not in the ledger yet.

    More than are shown, because jitter may change their order.
    """
    parameters = {"tenant": tenant_id, "limit": max(limit, _LOOKED_AT)}
    for task_id, name, at, kind, stored, made in rows("statistics/next_of_tasks", parameters):
        due, schedule = at, json_value(stored)
        if jitter_of(schedule):
            try:
                spec = parse(kind, schedule, seed=str(task_id), anchor=made)
            except InvalidInput:
                continue  # its page says what is wrong
            due = due_at(spec, at, str(task_id), jitter_of(schedule))
        yield NextFire(task_id, name, at, due)


def _of_tasks_with_calendars(tenant_id: UUID, now: datetime) -> Iterator[NextFire]:
    """Yield each task's next instant that no calendar excludes; its cursor may be excluded."""
    # In the words of the index tasks_with_calendars_idx.
    named: Any = Task.objects.ahead(tenant_id).filter(~Q(schedule__calendars=[]))
    tasks = list(named[:_MOST_WITH_CALENDARS])
    read = spec_reader((task.tenant_id, task.schedule) for task in tasks)
    for task in tasks:
        try:
            spec = read(task.type, task.schedule, task.tenant_id, str(task.id), task.created_at)
        except InvalidInput:
            continue  # its page says what is wrong
        after = max(task.next_run_at - MICROSECOND, now)
        following = next(spec.walk_open(after, after + _AHEAD), None)
        if following is not None:
            due = due_at(spec, following.at, str(task.id), jitter_of(task.schedule))
            yield NextFire(task.id, task.name, following.at, due)
