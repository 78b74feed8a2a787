"""Calendars of a tenant: every write of them, and their days for code that computes instants.

``executions.changes.calendar_changes`` wraps the changes that tasks have to follow. A calendar
that a task names cannot be deleted: a deletion keeps tasks of the tenant from being made or
edited until it commits.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import date, datetime
from typing import Any
from uuid import UUID

from django.db import IntegrityError, transaction
from django.db.models import F, Func, IntegerField, Q
from django.db.models.functions import Now

from events import audit
from shared.actor import Actor
from shared.exceptions import Conflict, FieldError, InvalidInput, QuotaExceeded, VersionMismatch
from shared.instants import parse_instant
from shared.sql import rows
from tasks import standing_pauses
from tasks.calendar_content import Content
from tasks.limits import (
    Book,
    Limits,
    commands_of,
    current_limits,
    jitter_of,
    keys_of,
    tasks_of,
    workflows_of,
)
from tasks.models import Calendar, Task
from tasks.named_secrets.reading import bindings_of
from tasks.pools import pools_of
from tasks.querysets import CalendarQuerySet, TaskQuerySet
from tasks.schedules.base import Spec
from tasks.schedules.calendars import CalendarDays
from tasks.schedules.spec import parse

#: From type, schedule, tenant, seed (the task's id) and anchor (its creation) to the schedule.
SpecOf = Callable[[str, Mapping[str, Any], UUID, str, datetime], Spec]

#: Calendars that a tenant may have.
MOST = 1000
_KEPT = 512
# By id, version and time of change: a version that was rolled back comes again with other days.
_cache: dict[tuple[UUID, int, datetime], CalendarDays] = {}


@dataclass(frozen=True, slots=True)
class Updated:
    """What changed of a calendar, for the audit, and whether tasks that name it run differently."""

    change: audit.Change
    days_changed: bool


def names(tenant_id: UUID) -> list[str]:
    """Return the names of the tenant's calendars, in order."""
    found = Calendar.objects.for_tenant(tenant_id).order_by("name")
    return list(found.values_list("name", flat=True))


def content_of(calendar: Calendar) -> Content:
    """Return the content of a stored calendar."""
    return Content(
        name=calendar.name,
        description=calendar.description,
        weekend=tuple(calendar.weekend),
        dates=tuple(calendar.dates),
        windows=tuple(calendar.windows),
    )


# --- reading for schedules ------------------------------------------------------------------


def spec_reader(pairs: Iterable[tuple[UUID, Mapping[str, Any]]]) -> SpecOf:
    """Return the function that makes specifications of these tenants' schedules.

    The calendars that they name are read here, all in one query, and in none where no schedule
    names any. The function raises ScheduleError for a schedule that cannot be read, or InvalidInput
    for one that names an unknown calendar.
    """
    wanted: dict[UUID, set[str]] = {}
    for tenant_id, schedule in pairs:
        for name in _named(schedule):
            wanted.setdefault(tenant_id, set()).add(name)
    found = _load(wanted) if wanted else {}

    def spec_of(
        kind: str, schedule: Mapping[str, Any], tenant_id: UUID, seed: str, anchor: datetime
    ) -> Spec:
        calendars = []
        for place, name in enumerate(_named(schedule)):
            days = found.get((tenant_id, name))
            if days is None:
                raise InvalidInput([unknown(f"#/schedule/calendars/{place}")])
            calendars.append(days)
        return parse(kind, schedule, seed=seed, anchor=anchor, calendars=calendars)

    return spec_of


def book(tenant_id: UUID) -> Book:
    """Return the function that finds the tenant's calendars by name, each read at most once."""
    known: dict[str, CalendarDays | None] = {}

    def find(asked: Sequence[str]) -> Mapping[str, CalendarDays]:
        missing = set(asked) - set(known)
        if missing:
            found = _load({tenant_id: missing})
            known.update({name: found.get((tenant_id, name)) for name in missing})
        return {name: days for name in asked if (days := known[name]) is not None}

    return find


def limits_of(tenant_id: UUID) -> Limits:
    """Return the limits of a tenant's definitions, its calendars, pools and commands among them."""
    return replace(
        current_limits(),
        commands=commands_of(tenant_id),
        calendars=book(tenant_id),
        default_jitter=jitter_of(tenant_id),
        pools=pools_of(tenant_id),
        key_names=keys_of(tenant_id),
        tasks=tasks_of(tenant_id),
        workflows=workflows_of(tenant_id),
        secrets=bindings_of(tenant_id),
    )


def unknown(pointer: str) -> FieldError:
    """Return the error of a name that no calendar has."""
    return FieldError(pointer, "calendar_unknown", "There is no such calendar.")


def tasks_naming(tenant_id: UUID, name: str) -> TaskQuerySet:
    """Return the tenant's tasks whose schedule names the calendar, without deleted ones."""
    # The first condition is the index's own.
    some = Task.objects.for_tenant(tenant_id).filter(~Q(schedule__calendars=[]))
    return some.filter(schedule__calendars__contains=[name])


def counts_of_tasks(tenant_id: UUID) -> dict[str, int]:
    """Return how many tasks name each calendar of the tenant, without unused calendars."""
    found: list[Any] = rows("calendars/count_tasks", {"tenant": tenant_id})
    return dict(found)


def summaries(tenant_id: UUID, q: str | None = None) -> CalendarQuerySet:
    """Return the tenant's calendars with counts of their days instead of the days."""
    found = Calendar.objects.for_tenant(tenant_id).defer("dates", "windows", "last_import")
    if q:
        found = found.filter(name__icontains=q)
    return found.annotate(date_count=_length("dates"), window_count=_length("windows"))


# --- writing --------------------------------------------------------------------------------


@transaction.atomic
def create_calendar(tenant_id: UUID, content: Content, *, actor: Actor) -> Calendar:
    """Create a calendar; raise Conflict ``calendar_exists`` for a name that is taken."""
    if Calendar.objects.for_tenant(tenant_id).count() >= MOST:
        raise QuotaExceeded(f"A tenant has at most {MOST} calendars.")
    try:
        with transaction.atomic():
            calendar = Calendar.objects.create(tenant_id=tenant_id, **_columns(content))
    except IntegrityError as error:
        message = f"There is a calendar {content.name!r} already."
        raise Conflict(message, code="calendar_exists") from error
    calendar.refresh_from_db()
    audit.record(
        tenant_id, actor, "calendar.created", "calendar", calendar.id, after=_facts(calendar)
    )
    return calendar


def lock_calendar(
    tenant_id: UUID, calendar_id: UUID, expected_version: int | None = None
) -> Calendar:
    """Return a calendar for a change that tasks follow; no task is made or edited meanwhile.

    Raise NotFound, VersionMismatch.
    """
    standing_pauses.own(tenant_id)
    calendar: Calendar = Calendar.objects.get_for_tenant(tenant_id, calendar_id, lock=True)
    if expected_version is not None and expected_version != calendar.version:
        raise VersionMismatch(
            f"The calendar is at version {calendar.version}, not {expected_version}; read it again."
        )
    return calendar


@transaction.atomic
def update_calendar(calendar: Calendar, content: Content) -> Updated | None:
    """Give a locked calendar its next version; None where the content is the one that it has.

    The caller audits the change, last: the audit's chain is locked behind tasks and their work.
    """
    before = content_of(calendar)
    if before == content:
        return None
    facts = _facts(calendar)
    for column, value in _columns(content).items():
        setattr(calendar, column, value)
    calendar.version += 1
    calendar.updated_at = Now()
    calendar.save()
    calendar.refresh_from_db()
    seen = (before.weekend, before.dates, before.windows)
    return Updated(
        audit.Change("calendar.updated", "calendar", calendar.id, facts, _facts(calendar)),
        days_changed=seen != (content.weekend, content.dates, content.windows),
    )


def note_import(calendar: Calendar, report: dict[str, Any]) -> None:
    """Keep the report of an import with its locked calendar; that is no change of the calendar."""
    Calendar.objects.filter(pk=calendar.pk).update(last_import=report)
    calendar.last_import = report


@transaction.atomic
def delete_calendar(calendar: Calendar, *, actor: Actor) -> None:
    """Delete a locked calendar; raise Conflict ``calendar_in_use`` while tasks name it."""
    count = tasks_naming(calendar.tenant_id, calendar.name).count()
    if count:
        tasks = "1 task names" if count == 1 else f"{count} tasks name"
        raise Conflict(f"{tasks} this calendar; take it out of them first.", code="calendar_in_use")
    calendar_id, facts = calendar.id, _facts(calendar)
    calendar.delete()
    audit.record(
        calendar.tenant_id, actor, "calendar.deleted", "calendar", calendar_id, before=facts
    )


def _length(column: str) -> Func:
    return Func(F(column), function="jsonb_array_length", output_field=IntegerField())


def _columns(content: Content) -> dict[str, Any]:
    return {
        "name": content.name,
        "description": content.description,
        "weekend": list(content.weekend),
        "dates": list(content.dates),
        "windows": list(content.windows),
    }


def _facts(calendar: Calendar) -> dict[str, object]:
    """Return what the audit log records of a calendar; its days are counted, not listed."""
    return {
        "name": calendar.name,
        "description": calendar.description,
        "version": calendar.version,
        "weekend": calendar.weekend,
        "dates": len(calendar.dates),
        "windows": len(calendar.windows),
    }


def _named(schedule: Mapping[str, Any]) -> list[str]:
    found = schedule.get("calendars")
    return [name for name in found if isinstance(name, str)] if isinstance(found, list) else []


def _load(wanted: Mapping[UUID, Iterable[str]]) -> dict[tuple[UUID, str], CalendarDays]:
    everybody = {name for some in wanted.values() for name in some}
    heads = Calendar.objects.filter(tenant_id__in=list(wanted), name__in=everybody)
    found, missing = {}, []
    columns = ("id", "version", "updated_at", "tenant_id", "name")
    for calendar_id, version, changed_at, tenant_id, name in heads.values_list(*columns):
        days = _cache.get((calendar_id, version, changed_at))
        if days is None:
            missing.append(calendar_id)
        else:
            found[tenant_id, name] = days
    for calendar in Calendar.objects.filter(id__in=missing) if missing else ():
        found[calendar.tenant_id, calendar.name] = _remember(calendar)
    return found


def _remember(calendar: Calendar) -> CalendarDays:
    days = CalendarDays(
        name=calendar.name,
        weekend=frozenset(calendar.weekend),
        dates=frozenset(date.fromisoformat(day["date"]) for day in calendar.dates),
        windows=tuple(
            (parse_instant(window["start"]), parse_instant(window["end"]))
            for window in calendar.windows
        ),
    )
    while len(_cache) >= _KEPT:
        _cache.pop(next(iter(_cache)), None)
    _cache[calendar.id, calendar.version, calendar.updated_at] = days
    return days
