"""Which alerts a maintenance window holds back now, and until when.

The alerter asks when it plans notices, so a window costs nothing elsewhere: alerts are opened,
counted and closed as ever, and what was held back is told when the window ends.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from datetime import UTC, date, datetime, time, timedelta
from uuid import UUID

from django.db.models import Exists, OuterRef, Q

from notifications.built_in_rules import built_in_id
from notifications.choices import WindowScope
from notifications.models import Alert, AlertTask, MaintenanceWindow
from shared.sql import rows
from shared.sql_arrays import of_uuids
from tasks.models import Task
from tasks.schedules.zones import EPOCH, Zone, find_zone

_DAY = timedelta(days=1)
_SECOND = timedelta(seconds=1)


def hold(alerts: Sequence[Alert], now: datetime) -> None:
    """Note at each alert that a window covers until when its messages are held back.

    Alerts that no window covers keep the end of their last one. Called in the transaction that
    plans: a window that is ended meanwhile either waits for it or holds nothing.
    """
    free = {alert.pk: alert for alert in alerts}
    # The latest end first: an alert that it covers is asked about no other window.
    for window, end in _open_windows({alert.tenant_id for alert in alerts}, now):
        mine = [one for one in free.values() if one.tenant_id == window.tenant_id]
        for alert_id in covered(window, mine):
            free.pop(alert_id).held_until = end


def is_held(alert: Alert, now: datetime) -> bool:
    """Return whether a maintenance window holds the alert's messages back."""
    return alert.held_until is not None and alert.held_until > now


def active_until(window: MaintenanceWindow, now: datetime) -> datetime | None:
    """Return when the window that is open at this moment ends; None while it is not open."""
    if window.begins_at is not None and window.ends_at is not None:
        return window.ends_at if window.begins_at <= now < window.ends_at else None
    zone = find_zone(window.timezone)
    today = now.astimezone(zone.info).date()
    # One that goes over midnight began on the day before.
    for day in (today, today - _DAY):
        if day.isoweekday() in window.weekdays:
            begins, ends = _bounds(window, day, zone)
            if begins <= now < ends:
                return ends
    return None


def covered(window: MaintenanceWindow, alerts: Sequence[Alert]) -> set[UUID]:
    """Return which of its tenant's alerts the window is about, in one statement at most.

    A window of a label or a task is about an alert where it is about each of the alert's tasks. An
    alert about no task, as one of a quota, is none of a task.
    """
    if window.scope == WindowScope.ALL or not alerts:
        return {alert.pk for alert in alerts}
    if window.scope == WindowScope.RULE:
        return {alert.pk for alert in alerts if window.value == str(_rule_of(alert))}
    tasks = AlertTask.objects.filter(alert=OuterRef("pk"))
    found = Alert.objects.filter(Exists(tasks), pk__in=[alert.pk for alert in alerts])
    # Each alert is read up to its first task that the window is not about.
    others = tasks.exclude(_is_covered(window))
    return set(found.exclude(Exists(others)).values_list("pk", flat=True))


def _open_windows(
    tenants: Collection[UUID], now: datetime
) -> list[tuple[MaintenanceWindow, datetime]]:
    """Return the windows that are open, with their ends, and keep them from being ended."""
    found = MaintenanceWindow.objects.filter(tenant_id__in=tenants) if tenants else ()
    ends = [(window, end) for window in found if (end := active_until(window, now)) is not None]
    if not ends:
        return []
    asked = {"windows": of_uuids([window.pk for window, _ in ends])}
    kept = {row[0] for row in rows("maintenance_windows/keep", asked)}
    return sorted((one for one in ends if one[0].pk in kept), key=lambda one: one[1], reverse=True)


def _rule_of(alert: Alert) -> UUID:
    return alert.rule_id or built_in_id(alert.tenant_id, alert.kind)


def _is_covered(window: MaintenanceWindow) -> Q | Exists:
    if window.scope == WindowScope.TASK:
        return Q(task_id=UUID(window.value))
    key, _, value = window.value.partition(":")
    return Exists(Task.objects.filter(id=OuterRef("task_id"), labels__contains={key: value}))


def _bounds(window: MaintenanceWindow, day: date, zone: Zone) -> tuple[datetime, datetime]:
    """Return the begin and the end of the weekly window that begins on a day of its zone."""
    start, end = window.from_time, window.to_time
    assert start is not None and end is not None  # noqa: S101, PT018 - a constraint of the table
    last = day if end > start else day + _DAY
    return _moment(day, start, zone), _moment(last, end, zone)


def _moment(day: date, clock: time, zone: Zone) -> datetime:
    """Return when the clocks first show this time, or more where they skip it."""
    at = datetime.combine(day, clock, zone.info).astimezone(UTC)
    if at.astimezone(zone.info).time() == clock:
        return at
    before = datetime.combine(day, clock.replace(fold=1), zone.info).astimezone(UTC)
    return EPOCH + zone.segment_at((before - EPOCH) // _SECOND).end * _SECOND
