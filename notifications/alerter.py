"""The alerter: reads the events of failures, counts them into alerts and plans notices.

A stage of the recorder process, called again after the seconds it returns. Counting and the
cursor move in one transaction. Toasts and wake-ups come after the commit; a lost one does no harm,
because the rows hold everything.
"""

from __future__ import annotations

from events.outbox import Recorded, consume
from executions.loop.clocks import database_now
from notifications.choices import AlertKind
from notifications.failures import FAILED, RETRYING, failures_of
from notifications.incidents import count_failures
from notifications.live import publish_alert, publish_topics
from notifications.notices import Notice, plan_due_notices, seconds_until_due
from notifications.services.deliveries import wake_due_deliveries

CONSUMER = "alerter"
#: Events per transaction; few of them are failures, except in a burst of failures.
BATCH = 10_000
_IDLE_SECONDS = 2.0
#: Toasts per pass; the list shows the other alerts.
_TOASTS = 3


class Alerter:
    """Turns failures into alerts and alerts into deliveries; any number may run."""

    def run_once(self) -> float:
        """Count one batch of events, plan due notices; return the seconds until the next pass."""
        read = consume(CONSUMER, BATCH, _count, names=(RETRYING, FAILED))
        notices = plan_due_notices()
        if notices:
            _show(notices)
            wake_due_deliveries()
        if read >= BATCH:
            return 0.0
        wait = seconds_until_due()
        return _IDLE_SECONDS if wait is None else min(_IDLE_SECONDS, wait)


def _count(events: list[Recorded]) -> None:
    failures = failures_of(events)
    if failures:
        count_failures(failures, database_now())


def _show(notices: list[Notice]) -> None:
    for notice in [notice for notice in notices if notice.on_console][:_TOASTS]:
        alert = notice.alert
        publish_alert(
            alert.tenant_id,
            id=alert.id,
            severity="error" if alert.kind == AlertKind.FINAL_FAILURE else "warning",
            title=alert.title,
            url=f"/alerts/{alert.id}",
        )
    for tenant_id in {notice.alert.tenant_id for notice in notices}:
        publish_topics(tenant_id, ["alerts"])
