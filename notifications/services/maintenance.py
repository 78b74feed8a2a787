"""Services of maintenance windows: list, make, end. Each change has its audit entry.

A window does not change: end it and make another.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import datetime, time, timedelta
from typing import Any
from uuid import UUID

from django.db import transaction
from django.db.models import QuerySet

from events import audit
from executions.loop.clocks import database_now
from notifications.choices import WindowScope
from notifications.models import Alert, MaintenanceWindow
from notifications.services.rules import get_rule
from shared.actor import Actor
from shared.exceptions import FieldError, InvalidInput, NotFound, QuotaExceeded
from shared.hidden_characters import hidden_problem
from shared.ids import parse_uuid
from shared.instants import format_instant
from tasks.field_reader import text_problem
from tasks.models import Task
from tasks.schedules.zones import find_zone
from tenants.models import Tenant

#: Windows of a tenant, those that are over included until they are removed.
MOST = 200
#: A window that runs once ends within this many days of its begin.
MOST_DAYS = 31
#: A window is kept this long after its end, so that the list tells of it.
KEPT_AFTER = timedelta(days=7)
NAME_LENGTH = 200
VALUE_LENGTH = 520
_KIND = "maintenance_window"


@dataclass(frozen=True, slots=True)
class WindowFields:
    """What a caller wants: once until ``ends_at``, or weekly on ``weekdays``.

    Without ``begins_at`` a window that runs once begins now.
    """

    name: str
    scope: str = WindowScope.ALL
    value: str = ""
    begins_at: datetime | None = None
    ends_at: datetime | None = None
    weekdays: list[int] = field(default_factory=list)
    from_time: time | None = None
    to_time: time | None = None
    timezone: str = "UTC"


def list_windows(tenant_id: UUID) -> QuerySet[MaintenanceWindow]:
    """Return the tenant's windows, the newest first."""
    return MaintenanceWindow.objects.filter(tenant_id=tenant_id).order_by("-created_at", "-id")


def get_window(tenant_id: UUID, window_id: UUID) -> MaintenanceWindow:
    """Return a window of the tenant; raise NotFound."""
    found = MaintenanceWindow.objects.filter(tenant_id=tenant_id, pk=window_id).first()
    if found is None:
        raise NotFound("There is no such maintenance window.")
    return found


@transaction.atomic
def create_window(tenant_id: UUID, wanted: WindowFields, *, actor: Actor) -> MaintenanceWindow:
    """Make a window; raise InvalidInput with every bad field, and QuotaExceeded."""
    now = database_now()
    problem = text_problem(wanted.name, longest=NAME_LENGTH) or hidden_problem(wanted.name)
    of_scope, value = _of_scope(tenant_id, wanted)
    errors = [*([FieldError("#/name", *problem)] if problem else []), *of_scope]
    errors += _of_week(wanted) if wanted.weekdays else _of_once(wanted, now)
    errors += _of_zone(wanted.timezone)
    if errors:
        raise InvalidInput(errors)
    # The race: two sessions would each count one less than there is room for.
    Tenant.objects.select_for_update(no_key=True).only("pk").get(pk=tenant_id)
    rows = MaintenanceWindow.objects.filter(tenant_id=tenant_id)
    rows.filter(ends_at__lt=now - KEPT_AFTER).delete()
    if rows.count() >= MOST:
        raise QuotaExceeded(f"A tenant has at most {MOST} maintenance windows. End some.")
    once = not wanted.weekdays
    window = MaintenanceWindow(
        tenant_id=tenant_id,
        name=wanted.name,
        scope=wanted.scope,
        value=value,
        begins_at=(wanted.begins_at or now) if once else None,
        ends_at=wanted.ends_at,
        weekdays=sorted(set(wanted.weekdays)),
        from_time=wanted.from_time,
        to_time=wanted.to_time,
        timezone=wanted.timezone,
        created_by=actor.name[:200],
    )
    window.save(force_insert=True)
    window.refresh_from_db()
    facts = _facts(window)
    audit.record(tenant_id, actor, "maintenance_window.created", _KIND, window.pk, after=facts)
    return window


@transaction.atomic
def end_window(tenant_id: UUID, window_id: UUID, *, actor: Actor) -> None:
    """End a window, a weekly one for good; what it held back is told. Raise NotFound."""
    before = _facts(get_window(tenant_id, window_id))
    # Waits for a plan that is made under the window, which stores what it held back.
    gone, _ = MaintenanceWindow.objects.filter(pk=window_id).delete()
    if not gone:
        raise NotFound("There is no such maintenance window.")  # another call was faster
    now = database_now()
    held = Alert.objects.filter(tenant_id=tenant_id, closed_at=None, held_until__gt=now)
    locked = held.select_for_update(no_key=True).order_by("id").values_list("id", flat=True)
    # The alerter asks again: another window may hold them.
    Alert.objects.filter(id__in=list(locked)).update(held_until=now, next_notice_at=now)
    audit.record(tenant_id, actor, "maintenance_window.ended", _KIND, window_id, before=before)


def _of_scope(tenant_id: UUID, wanted: WindowFields) -> tuple[list[FieldError], str]:
    """Return what is wrong with scope and value, and the value as it is stored."""
    scope, value = wanted.scope, wanted.value
    if scope not in WindowScope.values:
        words = ", ".join(WindowScope.values)
        return [FieldError("#/scope", "invalid_choice", f"Give one of {words}.")], ""
    if scope == WindowScope.ALL:
        message = "A window of the scope all has no value."
        return [FieldError("#/value", "exclusive", message)] if value else [], ""
    if problem := text_problem(value, longest=VALUE_LENGTH):
        return [FieldError("#/value", *problem)], ""
    if scope == WindowScope.LABEL:
        key, colon, _ = value.partition(":")
        message = "Give the label as key:value, for instance team:billing."
        return [] if key and colon else [FieldError("#/value", "invalid", message)], value
    try:
        found = parse_uuid(value)
    except ValueError as error:
        return [FieldError("#/value", "invalid", str(error))], ""
    if not _exists(tenant_id, scope, found):
        return [FieldError("#/value", "not_found", f"There is no such {scope}.")], ""
    return [], str(found)


def _exists(tenant_id: UUID, scope: str, row_id: UUID) -> bool:
    if scope == WindowScope.TASK:
        return Task.objects.filter(tenant_id=tenant_id, deleted_at=None, pk=row_id).exists()
    try:
        get_rule(tenant_id, row_id)
    except NotFound:
        return False
    return True


def _of_once(wanted: WindowFields, now: datetime) -> list[FieldError]:
    errors = [
        FieldError(f"#/{name}", "exclusive", "Only a weekly window has this; give weekdays.")
        for name in ("from_time", "to_time")
        if getattr(wanted, name) is not None
    ]
    begins = wanted.begins_at or now
    if wanted.ends_at is None:
        message = "Give the end, or weekdays with from_time and to_time."
        return [*errors, FieldError("#/ends_at", "required", message)]
    if wanted.ends_at <= max(begins, now):
        message = "The end must be after the begin, and in the future."
        return [*errors, FieldError("#/ends_at", "out_of_range", message)]
    if wanted.ends_at - begins > timedelta(days=MOST_DAYS):
        message = f"A window ends within {MOST_DAYS} days of its begin."
        return [*errors, FieldError("#/ends_at", "out_of_range", message)]
    return errors


def _of_week(wanted: WindowFields) -> list[FieldError]:
    errors = [
        FieldError(f"#/{name}", "exclusive", "A weekly window has from_time and to_time instead.")
        for name in ("begins_at", "ends_at")
        if getattr(wanted, name) is not None
    ]
    errors += [
        FieldError(f"#/{name}", "required", "A weekly window needs a time such as 22:00.")
        for name in ("from_time", "to_time")
        if getattr(wanted, name) is None
    ]
    if not all(1 <= day <= 7 for day in wanted.weekdays):
        message = "Give weekdays from 1, Monday, to 7, Sunday."
        errors.append(FieldError("#/weekdays", "out_of_range", message))
    if wanted.from_time is not None and wanted.from_time == wanted.to_time:
        message = "A window ends at another time than it begins."
        errors.append(FieldError("#/to_time", "invalid", message))
    return errors


def _of_zone(name: str) -> list[FieldError]:
    try:
        find_zone(name)
    except ValueError as error:
        return [FieldError("#/timezone", "timezone_unknown", str(error))]
    return []


def _facts(window: MaintenanceWindow) -> dict[str, Any]:
    facts: dict[str, Any] = {"name": window.name, "scope": window.scope, "value": window.value}
    if window.begins_at is not None and window.ends_at is not None:
        moments = {"begins_at": window.begins_at, "ends_at": window.ends_at}
        return facts | {name: format_instant(moment) for name, moment in moments.items()}
    return facts | {
        "weekdays": window.weekdays,
        "from_time": f"{window.from_time:%H:%M}",
        "to_time": f"{window.to_time:%H:%M}",
        "timezone": window.timezone,
    }
