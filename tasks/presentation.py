"""The answer that shows a task: its definition in the long form and its state.

Every door that shows a task uses it, so that the API, commands and exports agree.
"""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from functools import lru_cache
from typing import Any, Protocol
from uuid import UUID

import orjson

from shared.encryption import CANNOT_BE_OPENED
from shared.exceptions import InvalidInput
from shared.instants import format_instant, format_local, parse_instant
from tasks.choices import TaskStatus, TaskType
from tasks.definition import Definition, shown_parts
from tasks.schedules import spec
from tasks.schedules.calendars import CalendarDays
from tasks.schedules.jitter import gaps_from, in_words, jitter_of
from tasks.schedules.zones import find_zone

_TO_THE_SECOND = len("2026-11-20T08:00:00")
_ANY = "1970-01-01T00:00:00Z"
#: The fields for a task's next run: nominal in UTC and in its zone, and when it starts.
NEXT_EXECUTION = ("next_execution", "next_execution_local", "next_execution_due_at")


class ShownTask(Protocol):
    """The fields that presentation reads of a task beside its definition."""

    @property
    def id(self) -> UUID: ...
    @property
    def status(self) -> str: ...
    @property
    def version(self) -> int: ...
    @property
    def next_run_at(self) -> datetime | None: ...
    @property
    def created_at(self) -> datetime: ...
    @property
    def updated_at(self) -> datetime: ...
    @property
    def paused_until(self) -> datetime | None: ...
    @property
    def pause_note(self) -> str: ...
    @property
    def last_execution_id(self) -> UUID | None: ...
    @property
    def last_execution_status(self) -> str: ...
    @property
    def last_execution_at(self) -> datetime | None: ...


class ShownPause(Protocol):
    """The fields that presentation reads of a standing pause."""

    @property
    def id(self) -> UUID: ...
    @property
    def scope(self) -> str: ...
    @property
    def value(self) -> str: ...
    @property
    def note(self) -> str: ...
    @property
    def until(self) -> datetime | None: ...


def present_task(
    task: ShownTask, definition: Definition, *, extra: Mapping[str, Any] | None = None
) -> dict[str, Any]:
    """Return the task as the API shows it; ``extra`` adds fields or replaces them.

    Values inside may be the definition's own; callers must not change them. A task with jitter
    needs ``extra`` to give the due time of its next execution.
    """
    schedule = definition.schedule
    return {
        "id": str(task.id),
        **shown_parts(definition),
        "status": str(task.status),
        "version": task.version,
        **present_next(next_moment(task, task.next_run_at), schedule["timezone"]),
        "schedule_text": describe_schedule(definition, seed=str(task.id), anchor=task.created_at),
        "last_execution": _last_execution(task),
        "created_at": _instant_of_many(task.created_at),
        "updated_at": _instant_of_many(task.updated_at),
        "paused_until": _instant_or_none(task.paused_until),
        "pause_note": task.pause_note,
        "paused_by": None,
        **(extra or {}),
    }


def present_missing(is_whole: bool) -> dict[str, str]:
    """Return the field ``missing`` when payload and secrets cannot be shown, else no field."""
    return {} if is_whole else {"missing": CANNOT_BE_OPENED}


def present_paused_by(pause: ShownPause | None) -> dict[str, Any]:
    """Return the field ``paused_by``: the standing pause that holds a task, or null."""
    if pause is None:
        return {"paused_by": None}
    shown = {
        "id": str(pause.id),
        "scope": str(pause.scope),
        "value": pause.value,
        "note": pause.note,
        "until": _instant_or_none(pause.until),
    }
    return {"paused_by": shown}


def next_moment(task: ShownTask, moment: datetime | None) -> datetime | None:
    """Return when a task runs next by its cursor; None while it is paused.

    The cursor of a paused task stays in place until the pause ends.
    """
    return None if task.status == TaskStatus.PAUSED else moment


def present_next(
    moment: datetime | None, timezone: str, due_at: datetime | None = None
) -> dict[str, str | None]:
    """Return ``next_execution`` in UTC and in the task's zone, and when it is due.

    ``due_at`` differs from the moment only by jitter.
    """
    if moment is None:
        return dict.fromkeys(NEXT_EXECUTION)
    at = format_instant(moment)
    local = format_local(moment, find_zone(timezone).info)
    due = at if due_at is None else format_instant(due_at)
    return dict(zip(NEXT_EXECUTION, (at, local, due), strict=True))


def describe_schedule(definition: Definition, *, seed: str, anchor: datetime) -> str:
    """Return the schedule in plain words; equal schedules are put into words once."""
    schedule = definition.schedule
    if definition.type == TaskType.ONE_TIME:
        # The words depend on the second only, not on task or creation: tasks due in it share them.
        run_at = f"{schedule['run_at'][:_TO_THE_SECOND]}Z" if schedule["run_at"] else None
        said = _text(definition.type, orjson.dumps({**schedule, "run_at": run_at}), "", _ANY)
        return said + in_words(jitter_of(schedule), (), task_id=seed)
    return _text(definition.type, orjson.dumps(schedule), seed, format_instant(anchor))


@lru_cache(maxsize=4096)
def _text(task_type: str, schedule: bytes, seed: str, anchor: str) -> str:
    found = orjson.loads(schedule)
    # The words need only a calendar's name; without a weekend no number of working days is refused.
    named = [CalendarDays(name, weekend=frozenset()) for name in found.get("calendars") or ()]
    try:
        parsed = spec.parse(
            task_type, found, seed=seed, anchor=parse_instant(anchor), calendars=named
        )
    except InvalidInput as refused:
        # Stored under an older zone database or rule: show the task, with the error.
        return "; ".join(error.message for error in refused.errors) or refused.message
    jitter = jitter_of(found) if seed else 0
    gaps = gaps_from(parsed, parse_instant(anchor)) if jitter else ()
    return f"{parsed.text}{in_words(jitter, gaps, task_id=seed)}"


def _last_execution(task: ShownTask) -> dict[str, Any] | None:
    if task.last_execution_id is None:
        return None
    return {
        "id": str(task.last_execution_id),
        "status": task.last_execution_status,
        "at": _instant_or_none(task.last_execution_at),
    }


# All tasks of one call have the same creation time.
_instant_of_many = lru_cache(maxsize=64)(format_instant)


def _instant_or_none(moment: datetime | None) -> str | None:
    return None if moment is None else format_instant(moment)
