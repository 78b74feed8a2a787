"""Edits of a task: its next version, and its instants and state by the new definition.

Other moves of a task's state stand in ``transitions``. This module does not know work that is
already prepared or released: ``executions.changes.changing`` withdraws it, and every door calls
that.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any
from uuid import UUID

import orjson
from django.db import transaction

from events import audit
from shared.actor import Actor
from shared.notify import wake_schedulers_on_commit
from shared.sql import run
from tasks import dependencies, transitions
from tasks.budgets import keeping
from tasks.calendars import spec_reader
from tasks.choices import IN_ORDER, TaskStatus, TaskType
from tasks.definition import (
    Definition,
    destination_of,
    is_gated,
    pool_of,
    runtime_seconds,
)
from tasks.definition_changes import changes_of
from tasks.models import Task
from tasks.revisions import write_revision, write_revisions
from tasks.schedules.base import Spec
from tasks.transitions import facts_of

_JUST_BEFORE = timedelta(microseconds=1)


@dataclass(frozen=True, slots=True)
class Standing:
    """The state of the ledger for a task whose definition changes.

    ``taken_back`` instants left it or will be met again, and no longer count towards
    ``max_occurrences``. ``unfinished``: some work stays that has to end. ``met`` is the state of
    a one-time task from an execution that has already begun its instant. ``waits_anew``: what it
    waits for has changed, so its instant has left the ledger.
    """

    taken_back: int = 0
    unfinished: bool = False
    met: str = ""
    waits_anew: bool = False


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
    task: Task,
    definition: Definition,
    standing: Standing,
    *,
    actor: Actor,
    now: datetime,
    current: Definition | None = None,
) -> bool:
    """Give a locked task its next version; return whether its instants are planned anew.

    The audit log gets the changes of the definition where ``current``, the one before, is given.
    Raise InvalidInput for a task that would wait for itself.
    """
    before = facts_of(task)
    changed = (task.type, task.schedule) != (definition.type, definition.schedule)
    changed = changed or standing.waits_anew
    task.version += 1
    task.updated_at = now
    _take_definition(task, definition)
    if changed:
        task.occurrence_count = max(0, task.occurrence_count - standing.taken_back)
        _restate(task, standing, now)
        task.trace_context = actor.callers_trace or task.trace_context
        if dependencies.wait_no_longer([task.id]) and (task.next_run_at or now) < now:
            task.replayed_until = now  # Due now, as where the wait ends otherwise.
    task.save()
    if changed:
        dependencies.wait(task, definition)
    write_revision(task, definition, actor.name)
    if definition.budget or current is None or current.budget:
        keeping.follow(task, definition, now)
    facts = _with_changes(task, before, current, definition)
    audit.record(task.tenant_id, actor, "task.updated", "task", task.id, *facts)
    wake_schedulers_on_commit(task.next_run_at, now)
    return changed


def revise_tasks(
    revised: Sequence[tuple[Task, Definition]],
    *,
    actor: Actor,
    now: datetime,
    current: Mapping[UUID, Definition],
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
    found = [
        _with_changes(task, facts, current.get(task.id), definition)
        for (task, definition), facts in zip(revised, before, strict=True)
    ]
    return [
        audit.Change("task.updated", "task", task.id, *facts)
        for task, facts in zip(tasks, found, strict=True)
    ]


def _with_changes(
    task: Task, before: dict[str, Any], current: Definition | None, definition: Definition
) -> tuple[dict[str, Any], dict[str, Any]]:
    """Return the facts of a task before and after, with what the edit changes of its definition."""
    after = facts_of(task)
    if current is None:
        return before, after
    was, now = changes_of(current, definition, f"{task.id} {task.version}")
    return {**before, "definition": was}, {**after, "definition": now}


@transaction.atomic
def restate_task(task: Task, standing: Standing, *, now: datetime) -> None:
    """Recompute a locked task from now on after its calendars changed; its version stays."""
    task.occurrence_count = max(0, task.occurrence_count - standing.taken_back)
    _restate(task, standing, now)
    task.save(update_fields=["status"])
    dependencies.tell([task.id])
    wake_schedulers_on_commit(task.next_run_at, now)


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
        "limited": is_gated(definition),
        **_key_columns(definition.concurrency),
    }


def _key_columns(concurrency: dict[str, Any] | None) -> dict[str, Any]:
    given = concurrency or {}
    return {
        "concurrency_key": given.get("key"),
        "concurrency_max": given.get("max"),
        "concurrency_fifo": given["order"] == IN_ORDER if given else None,
    }


def _restate(task: Task, standing: Standing, now: datetime) -> None:
    """Set the next instant and the status; an ended task may return, a cancelled one stays so."""
    ended = task.status == TaskStatus.CANCELLED or standing.met
    task.next_run_at = None if ended else first_instant(task, now)
    transitions.restate(task, met=standing.met, unfinished=standing.unfinished)
