"""Counts failures into alerts: one open alert per cause, each failure exactly once.

The alerter calls it inside the transaction that moves its cursor: a crash keeps both or neither.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from datetime import datetime, timedelta

from django.db.models import Count

from notifications.failures import Cause, Failure
from notifications.models import Alert, AlertTask

#: The first message waits this long, so that its count covers a burst.
GATHER = timedelta(seconds=0.7)
#: A digest about the same cause comes after this long, if the alert has grown.
DIGEST_AFTER = timedelta(minutes=5)
#: An alert without another failure for this long is over.
QUIET_AFTER = timedelta(minutes=15)

_COUNTED = [
    *("count", "task_count", "last_at", "next_notice_at"),
]


def count_failures(failures: Sequence[Failure], now: datetime) -> list[Alert]:
    """Add the failures to the open alerts of their causes; open the missing alerts."""
    if not failures:
        return []
    by_cause: dict[Cause, list[Failure]] = defaultdict(list)
    for failure in failures:
        by_cause[failure.cause].append(failure)
    alerts = _open_alerts(by_cause, now)
    for cause, members in by_cause.items():
        alert = alerts[cause]
        alert.count += len(members)
        alert.last_at = max(alert.last_at, *(failure.at for failure in members))
        alert.next_notice_at = _next_notice(alert, now)
    _note_tasks(alerts, by_cause)
    found = list(alerts.values())
    Alert.objects.bulk_update(found, _COUNTED, batch_size=500)
    return found


def _open_alerts(by_cause: dict[Cause, list[Failure]], now: datetime) -> dict[Cause, Alert]:
    """Return the open alert of each cause, locked: a close waits until the count is committed."""
    open_ones = Alert.objects.filter(
        closed_at__isnull=True,
        tenant_id__in={cause.tenant_id for cause in by_cause},
        error_signature__in={cause.signature for cause in by_cause},
        destination__in={cause.destination for cause in by_cause},
    )
    found = {
        cause: alert
        for alert in open_ones.select_for_update().order_by("id")
        if (cause := _cause_of(alert)) in by_cause
    }
    missing = {cause: _new_alert(by_cause[cause][0], now) for cause in by_cause.keys() - found}
    Alert.objects.bulk_create(missing.values(), batch_size=500)
    return found | missing


def _cause_of(alert: Alert) -> Cause:
    return Cause(alert.tenant_id, alert.kind, alert.error_signature, alert.destination)


def _new_alert(first: Failure, now: datetime) -> Alert:
    return Alert(
        tenant_id=first.cause.tenant_id,
        kind=first.cause.kind,
        error_signature=first.cause.signature,
        destination=first.cause.destination,
        cause=first.sentence[:500],
        task_id=first.task_id,
        task_name=first.task_name,
        execution_id=first.execution_id,
        attempt=first.attempt,
        error_code=first.error_code,
        error_message=first.error_message,
        first_at=first.at,
        last_at=first.at,
        next_notice_at=now + GATHER,
        created_at=now,
    )


def _next_notice(alert: Alert, now: datetime) -> datetime:
    """Return the time of the next notice: soon for the first, then one digest period apart."""
    if alert.last_notified_at is None:
        return alert.next_notice_at or now + GATHER
    return max(now, alert.last_notified_at + DIGEST_AFTER)


def _note_tasks(alerts: dict[Cause, Alert], by_cause: dict[Cause, list[Failure]]) -> None:
    rows = {
        (alerts[cause].id, failure.task_id)
        for cause, members in by_cause.items()
        for failure in members
    }
    AlertTask.objects.bulk_create(
        [AlertTask(alert_id=alert, task_id=task) for alert, task in sorted(rows)],
        ignore_conflicts=True,
        batch_size=1000,
    )
    counted = AlertTask.objects.filter(alert_id__in={alert for alert, _ in rows})
    counts = dict(counted.values_list("alert_id").annotate(tasks=Count("id")))
    for alert in alerts.values():
        alert.task_count = counts[alert.id]
