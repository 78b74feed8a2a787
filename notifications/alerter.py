"""The alerter: reads the events of failures and sees to it that people hear of them.

A stage of the recorder process, called again after the seconds it returns. Counting and the
cursor move in one transaction; toasts and wake-ups come after the commit and may be lost, for
the rows are the truth.
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
#: Events per transaction; those of failures among them are few, but for a storm.
BATCH = 10_000
_IDLE_SECONDS = 2.0
#: Toasts of one look; what is beyond, the list shows.
_TOASTS = 3


class Alerter:
    """Turns failures into alerts and alerts into deliveries; any number may run."""

    def run_once(self) -> float:
        """Count one batch of events, tell what is due; return the seconds until the next look."""
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
