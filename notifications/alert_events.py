"""Appends the events of alerts to the outbox, in the transaction that changes the alerts.

One statement for any number of alerts. The alerter does not read these events, so that they cause
none.
"""

from __future__ import annotations

from collections.abc import Iterable

from events.outbox import Appended, append_each
from notifications.models import Alert

OPENED = "alert.opened"
RECOVERED = "alert.recovered"
RETURNED = "alert.returned"
CLOSED = "alert.closed"
#: A person or a program acknowledged, muted or assigned it, or took that back.
CHANGED = "alert.changed"


def append_alert_events(name: str, alerts: Iterable[Alert]) -> None:
    """Append an event of each alert, with its kind and what it has counted so far."""
    append_each(
        [
            Appended(
                alert.tenant_id,
                name,
                alert.pk,
                # The task of an alert about several is only that of its first failure.
                alert.task_id if alert.task_count <= 1 else None,
                {"kind": alert.kind, "count": alert.count},
            )
            for alert in alerts
        ]
    )
