"""Which alerts a maintenance window holds back now, and until when.

The alerter asks when it plans notices, so a window costs nothing elsewhere: alerts are opened,
counted and closed as ever, and what was held back is told when the window ends.
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, date, datetime, timedelta
from uuid import UUID
from zoneinfo import ZoneInfo

from django.db.models import Exists, OuterRef, Q

from notifications.built_in_rules import built_in_id
from notifications.choices import WindowScope
from notifications.models import Alert, AlertTask, MaintenanceWindow
from tasks.models import Task

_DAY = timedelta(days=1)


def hold(alerts: Sequence[Alert], now: datetime) -> None:
    """Note at each alert that a window covers until when its messages are held back.

    Alerts that no window covers keep the end of their last one.
    """
    tenants = {alert.tenant_id for alert in alerts}
    found = MaintenanceWindow.objects.filter(tenant_id__in=tenants) if tenants else ()
    ends = [(window, end) for window in found if (end := active_until(window, now)) is not None]
    for alert in alerts:
        held = [
            end
            for window, end in ends
            if window.tenant_id == alert.tenant_id and covers(window, alert)
        ]
        if held:
            alert.held_until = max(held)


def is_held(alert: Alert, now: datetime) -> bool:
    """Return whether a maintenance window holds the alert's messages back."""
    return alert.held_until is not None and alert.held_until > now


def active_until(window: MaintenanceWindow, now: datetime) -> datetime | None:
    """Return when the window that is open at this moment ends; None while it is not open."""
    if window.begins_at is not None and window.ends_at is not None:
        return window.ends_at if window.begins_at <= now < window.ends_at else None
    today = now.astimezone(ZoneInfo(window.timezone)).date()
    # One that goes over midnight began on the day before.
    for day in (today, today - _DAY):
        if day.isoweekday() in window.weekdays:
            begins, ends = _bounds(window, day)
            if begins <= now < ends:
                return ends
    return None


def covers(window: MaintenanceWindow, alert: Alert) -> bool:
    """Return whether the window is about the alert: about each of its tasks, or its rule."""
    if window.scope == WindowScope.ALL:
        return True
    if window.scope == WindowScope.RULE:
        return window.value == str(alert.rule_id or built_in_id(alert.tenant_id, alert.kind))
    tasks = AlertTask.objects.filter(alert=alert)
    # An alert about no task, as one of a quota, is none of a task.
    return tasks.exists() and not tasks.exclude(_is_covered(window)).exists()


def _is_covered(window: MaintenanceWindow) -> Q | Exists:
    if window.scope == WindowScope.TASK:
        return Q(task_id=UUID(window.value))
    key, _, value = window.value.partition(":")
    # By the primary key of each task, until one without the label.
    return Exists(Task.objects.filter(id=OuterRef("task_id"), labels__contains={key: value}))


def _bounds(window: MaintenanceWindow, day: date) -> tuple[datetime, datetime]:
    """Return the begin and the end of the weekly window that begins on a day of its zone."""
    zone, start, end = ZoneInfo(window.timezone), window.from_time, window.to_time
    assert start is not None and end is not None  # noqa: S101, PT018 - a constraint of the table
    last = day if end > start else day + _DAY
    begins = datetime.combine(day, start, zone).astimezone(UTC)
    return begins, datetime.combine(last, end, zone).astimezone(UTC)
