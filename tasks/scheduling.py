"""Tasks made from Python, in the caller's own transaction: ``schedule``.

For programs that share the database with the scheduler: their own rows and the task commit
together, or neither does. The rules are those of ``POST /v1/tasks``.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime, timedelta
from typing import Any, TypedDict, Unpack
from uuid import UUID, uuid5

from django.db import IntegrityError

from shared.actor import Actor
from shared.exceptions import FieldError, InvalidInput
from shared.sql import rows
from tasks.calendars import limits_of
from tasks.creation import create_task
from tasks.models import Task
from tasks.validation.bodies import parse_create
from tenants.models import Tenant
from tenants.services import get_tenant

#: The actor in the audit log, unless the caller gives one.
PYTHON = Actor("python")

#: Argument -> field of the schedule.
_WHEN = {
    "run_at": "run_at",
    "delay": "delay_seconds",
    "cron": "cron_expression",
    "every": "every",
    "timezone": "timezone",
    "start_at": "start_at",
    "end_at": "end_at",
}
_PARTS = (
    "name",
    "payload",
    "payload_ref",
    "labels",
    "owner",
    "priority",
    "retry_policy",
    "budget",
    "concurrency",
    "targets",
)


class NewTask(TypedDict, total=False):
    """The keyword arguments of :func:`schedule`; None is like leaving one out."""

    #: When: exactly one of these four. Times have an offset; a number of ``delay`` is seconds,
    #: a text of ``every`` is an ISO 8601 duration.
    run_at: datetime | None
    delay: timedelta | float | None
    cron: str | None
    every: timedelta | str | None
    timezone: str | None
    start_at: datetime | None
    end_at: datetime | None
    #: Further fields of the schedule, as in the API.
    schedule: Mapping[str, Any] | None
    #: What to call: a URL, a target as in the API, or both.
    url: str | None
    target: Mapping[str, Any] | None
    payload: Any
    #: A URL or the key of an object that the receiver gets in place of a payload.
    payload_ref: str | None
    name: str | None
    labels: Mapping[str, str] | None
    #: An e-mail address or the name of an API key.
    owner: str | None
    priority: int | None
    retry_policy: Mapping[str, Any] | None
    #: Entries of ``unit``, ``limit`` and ``per``.
    budget: Sequence[Mapping[str, Any]] | None
    #: ``key``, ``max`` and ``order`` of the concurrency key that it shares with other tasks.
    concurrency: Mapping[str, Any] | None
    #: ``start_within_seconds`` and ``max_duration_seconds``.
    targets: Mapping[str, float | None] | None


def schedule(
    tenant: Tenant | UUID | str,
    *,
    key: str | None = None,
    actor: Actor = PYTHON,
    **wanted: Unpack[NewTask],
) -> Task:
    """Create a task in the caller's transaction and return it; the scheduler wakes on commit.

    ``tenant`` may be given by its id or name.

    With a ``key`` the tenant gets one task for that key, from any number of calls. A repeat
    returns the first task, deleted or not, without a look at its other arguments. A repeat that
    comes before the first call has committed waits for it.

    Raise InvalidInput with every field that is wrong, its pointer being the argument's name
    (``#/cron``), TooLarge for a payload over the limit, QuotaExceeded where a quota of the tenant
    is used up, NotFound for an unknown tenant, TypeError for an unknown argument.
    """
    unknown = set(wanted) - set(NewTask.__annotations__)
    if unknown:
        raise TypeError(f"schedule() got unexpected arguments: {', '.join(sorted(unknown))}")
    tenant_id = (tenant if isinstance(tenant, Tenant) else get_tenant(str(tenant))).pk
    task_id = None if key is None else _id_of(tenant_id, key)
    known = _find(task_id)
    if known is not None:
        return known
    now: datetime = rows("leases/database_time")[0][0]
    given = {name: value for name, value in wanted.items() if value is not None}
    twice: list[FieldError] = []
    body = _body(given, twice)
    try:
        definition = parse_create(body, now=now, limits=limits_of(tenant_id))
    except InvalidInput as refused:
        wrong = [*twice, *_renamed(refused.errors, given)]
        raise InvalidInput(wrong, refused.message) from refused
    if twice:
        raise InvalidInput(twice, twice[0].message)
    try:
        return create_task(tenant_id, definition, actor=actor, now=now, task_id=task_id)
    except IntegrityError:
        # Another transaction had the key first, and has committed.
        known = _find(task_id)
        if known is None:
            raise
        return known


def _id_of(tenant_id: UUID, key: str) -> UUID:
    if not key or "\0" in key:
        message = "A key is not empty and has no NUL."
        raise InvalidInput([FieldError("#/key", "invalid", message)], message)
    return uuid5(tenant_id, key)


def _find(task_id: UUID | None) -> Task | None:
    return None if task_id is None else Task.objects.filter(pk=task_id).first()


def _body(given: Mapping[str, Any], twice: list[FieldError]) -> dict[str, Any]:
    """Return the arguments as the long form of the API; add an error for each given ``twice``."""
    when = {name: _json_time(name, value) for name, value in given.get("schedule", {}).items()}
    for argument, field in _WHEN.items():
        if argument in given:
            twice += _given_twice(field in when, argument, "schedule")
            when[field] = _json_time(field, given[argument])
    what = dict(given.get("target", {}))
    if "url" in given:
        twice += _given_twice("url" in what, "url", "target")
        what["url"] = given["url"]
    parts = {name: given[name] for name in _PARTS if name in given}
    found = {"schedule": when, "target": what}
    return {**{name: part for name, part in found.items() if part}, **parts}


def _json_time(field: str, value: Any) -> Any:
    if isinstance(value, datetime):
        return value.isoformat()
    if isinstance(value, timedelta):
        seconds = value.total_seconds()
        number = str(int(seconds)) if seconds == int(seconds) else str(seconds)
        return f"PT{number}S" if field == "every" else seconds
    return value


def _given_twice(twice: bool, argument: str, part: str) -> list[FieldError]:
    message = f"Give {argument} by itself or in {part}, not both."
    return [FieldError(f"#/{argument}", "exclusive", message)] if twice else []


def _renamed(errors: list[FieldError], given: Mapping[str, Any]) -> list[FieldError]:
    """Return the errors with pointers that name the arguments that were given."""
    names = {f"#/schedule/{field}": f"#/{name}" for name, field in _WHEN.items() if name in given}
    if "url" in given:
        names["#/target/url"] = "#/url"
    return [FieldError(names.get(e.pointer, e.pointer), e.code, e.message) for e in errors]
